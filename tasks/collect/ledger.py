"""The ledger of a collection: what was published in each period, one line each, chained by hash.

Nothing is drawn here but the key of a period, which is public. So a line that a crash cut short is removed, and the
step is done again.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tasks.account.chain import NO_PREVIOUS, chained, read_lines
from tasks.account.entry import Stated
from tasks.account.ledger_file import append_line, erase, read_bytes
from tasks.base.durable import canonical_json, read_named_by_hash, write_named_by_hash, write_whole
from tasks.base.errors import LedgerBroken, contained
from tasks.base.locks import turn
from tasks.base.provenance import code_hash, now
from tasks.base.storage import check_kind, ledger_path, own, private_folder
from tasks.collect.config import CollectionConfig
from tasks.device.parameters import RoundParameters, parameters_of

OPENED, LOCALISED, ESTIMATED = "collection-opened", "collection-localised", "collection-estimated"

ROUND_1, ROUND_2, VOTES, SUMS, MANIFEST = "round-1.json", "round-2.json", "votes.json", "sums.json", "manifest.json"
"""The files that the steps make, besides the formats of the means."""


def published_folder(period: str, config: CollectionConfig) -> Path:
    """Return the folder of a period's published files."""
    return config.storage_path / "published" / f"period={period}"


@contextmanager
def locked(config: CollectionConfig) -> Iterator[list[Stated]]:
    """Hold the ledger's lock, and yield its entries, oldest first.

    Raises:
        HexveilError: The storage is of another collection, or of a dataset.
        LedgerBroken: A line was changed after it was written.
    """
    own(config)
    with turn(config.storage_path / "ledger.lock", "the ledger of the collection"):
        entries, torn, size = _read(config)
        if torn:
            erase(ledger_path(config), size)
        yield entries


@contained
def list_entries(config: CollectionConfig) -> list[Stated]:
    """Return the whole entries, oldest first, without waiting for who writes.

    Raises:
        HexveilError: The storage is of a dataset.
        LedgerBroken: A line was changed after it was written.
    """
    check_kind(config)
    return _read(config)[0]


def _read(config: CollectionConfig) -> tuple[list[Stated], bytes, int]:
    """Return the entries, what is torn after them, and how many bytes the entries have."""
    path = ledger_path(config)
    *lines, torn = read_bytes(path).split(b"\n")
    return list(read_lines(path, lines, 1, NO_PREVIOUS)), torn, sum(len(line) + 1 for line in lines)


def entry_of(kind: str, period: str, entries: list[Stated]) -> Stated | None:
    """Return the entry of a kind for a period, or None."""
    return next((one for one in entries if (one["kind"], one["period"]) == (kind, period)), None)


def as_opened(period: str, entries: list[Stated], config: CollectionConfig) -> CollectionConfig:
    """Return the configuration with the settings that a period was opened with: devices were told no others.

    What was changed since holds from the next period on. A period that is not open has the settings of now.

    Raises:
        LedgerBroken: The settings in the ledger cannot be used.
    """
    entry = entry_of(OPENED, period, entries)
    try:
        return config if entry is None else config.with_settings(entry["settings"])
    except ValueError:
        pass
    raise LedgerBroken(f"{ledger_path(config)}: the settings of {period} cannot be used; open the next period instead")


def append(
    kind: str,
    period: str,
    files: dict[str, bytes],
    about: dict[str, Any],
    entries: list[Stated],
    config: CollectionConfig,
) -> Stated:
    """Store a period's files and append the line that names them; the caller holds the lock.

    Args:
        kind: What was done.
        period: The period.
        files: The files to publish, by name.
        about: Further fields: counts.
        entries: The entries so far.
        config: The configuration.

    Returns:
        The entry.
    """
    folder = private_folder(config) / "releases"
    entry: Stated = {
        "format": 1,
        "kind": kind,
        "collection": config.collection.name,
        "period": period,
        "guarantee": guarantee(config),
        "settings": config.public_settings(),
        "files": {name: write_named_by_hash(folder, content) for name, content in files.items()},
        "code": code_hash(),
        "committed_at": now(),
        **about,
    }
    entry = chained(entry, entries[-1] if entries else None)
    append_line(ledger_path(config), canonical_json(entry) + b"\n")
    return entry


def stored(entry: Stated, name: str, config: CollectionConfig) -> bytes:
    """Return a file that an entry names.

    Raises:
        LedgerBroken: It is missing or was changed.
    """
    folder = private_folder(config) / "releases"
    content = read_named_by_hash(folder, entry["files"][name])
    if content is None:
        raise LedgerBroken(f"{folder / entry['files'][name]} is missing or was changed; restore it from backup")
    return content


def asked_in(entry: Stated, name: str, config: CollectionConfig) -> RoundParameters:
    """Return the parameters of a round from the file that an entry names."""
    return parameters_of(json.loads(stored(entry, name, config)))


def publish(entry: Stated, config: CollectionConfig) -> Path:
    """Write the files that an entry names, with the same bytes each time, and return their folder."""
    folder = published_folder(entry["period"], config)
    for name in entry["files"]:
        write_whole(folder / name, stored(entry, name, config), mode=0o644)
    return folder


def check_unpublished(kind: str, period: str, names: Iterable[str], config: CollectionConfig) -> None:
    """Check that no file that a new entry would name is published: files are published only after their entry.

    Raises:
        LedgerBroken: One is, so the ledger has lost its entry.
    """
    folder = published_folder(period, config)
    if any((folder / name).exists() for name in names):
        raise LedgerBroken(
            f"files of {period} are published, and the ledger has no {kind} for them: it was cut, or is an older copy. "
            "Restore the newest ledger; nothing was changed"
        )


def guarantee(config: CollectionConfig) -> dict[str, str]:
    """Return what is promised, in words."""
    return {
        "definition": "local differential privacy, pure epsilon",
        "epsilon_per_period": str(config.collection.alpha),
        "period": config.collection.period,
        "protects": "all values of one device in one period, and how many there are, from everyone, the collector too",
        "public": "that a device takes part, its name, and the area that it reports for",
        "composition": "epsilons of periods add up; each device keeps its own account and its own limit",
    }
