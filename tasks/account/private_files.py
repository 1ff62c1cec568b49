"""The private files, each named by its hash: where they are, and how they are read and removed."""

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from sys import intern

import polars as pl

from tasks.account.chain import charges
from tasks.account.chain import releases as releases_of
from tasks.account.entry import Charge, Entry
from tasks.base import durable
from tasks.base.config import Config
from tasks.base.errors import LedgerBroken
from tasks.base.owner import Owner
from tasks.base.storage import private_folder


def plans(config: Owner) -> Path:
    """Return the folder of plans and of what each user lost. Do not lose it: the budgets depend on it."""
    return private_folder(config) / "plans"


def releases(config: Owner) -> Path:
    """Return the folder of the files to publish. Do not lose it: they cannot be made again."""
    return private_folder(config) / "releases"


def totals(config: Owner) -> Path:
    """Return the folder of what each user lost in total. It can be rebuilt from the plans."""
    return private_folder(config) / "totals"


def states(config: Owner) -> Path:
    """Return the folder of what estimates leave for the days to come. It can be made again from the releases."""
    return private_folder(config) / "states"


def released_files(entries: list[Entry]) -> Iterator[str]:
    """Yield the hashes of all files that are stored for releases: those published, and those that stay with them."""
    for entry in releases_of(entries):
        yield from entry.files.values()
        yield from entry.kept.values()


def remove_unreleased(entries: list[Entry], config: Config) -> None:
    """Delete the noisy files of a release that did not reach the ledger: nobody has seen them, and nobody may.

    A state follows from what was drawn, so it is such a file. All totals except those of the last release are deleted
    too, because only these are used.
    """
    last = {entry.totals for entry in charges(entries)[-1:]}
    known = {name for entry in releases_of(entries) for name in entry.states.values()}
    keep_only(released_files(entries), releases(config))
    keep_only(last, totals(config))
    keep_only(known, states(config))


def keep_only(names: Iterable[str], folder: Path) -> None:
    """Delete all files of a folder but some."""
    kept = set(names)
    for path in folder.iterdir() if folder.exists() else ():
        if path.name not in kept:
            path.unlink()


def remove_unreleased_plans(dates: list[dt.date], entries: list[Entry], config: Config) -> None:
    """Delete the unreleased plans of some days. Files stay that another plan names, or that count in the account."""
    stored = {path.name: json.loads(path.read_bytes()) for path in plans(config).glob("*") if _is_json(path)}
    released, wanted = {entry.plan for entry in charges(entries)}, {date.isoformat() for date in dates}
    gone = {name for name, plan in stored.items() if name not in released and plan["settings"]["date"] in wanted}
    kept = {name for plan in stored.keys() - gone for name in stored[plan]["files"].values()}
    kept |= {entry.losses for entry in charges(entries)}
    for plan in gone:
        for name in {plan, *stored[plan]["files"].values()} - kept:
            (plans(config) / name).unlink(missing_ok=True)


def _is_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1) == b"{"


def read(folder: Path, name: str) -> bytes:
    """Return the bytes of a private file.

    Raises:
        LedgerBroken: It is missing, or its content does not match its name.
    """
    content = durable.read_named_by_hash(folder, name)
    if content is None:
        raise LedgerBroken(f"{folder / name} is missing or was changed; restore it from backup")
    return content


def read_frame(folder: Path, name: str) -> pl.DataFrame:
    """Return the frame of a private file.

    Raises:
        LedgerBroken: It is missing, or its content does not match its name.
    """
    return pl.read_parquet(BytesIO(read(folder, name)))


def losses(entry: Charge, config: Config) -> dict[str, int]:
    """Return what one entry cost each user, by keyed hash, in the unit of its currency."""
    return read_losses(plans(config), entry.losses)


def without(losses: dict[str, int], charges: dict[str, int]) -> dict[str, int]:
    """Return losses without some charges that are part of them, where anything is left."""
    left = ((user, loss - charges.get(user, 0)) for user, loss in losses.items())
    return {user: loss for user, loss in left if loss}


def read_losses(folder: Path, name: str) -> dict[str, int]:
    """Return the losses in a file, by keyed hash, in its currency's unit. Equal hashes are one string in memory."""
    frame = read_frame(folder, name)
    return {intern(user): int(loss) for user, loss in frame.select("user_hash", "loss_units").iter_rows()}
