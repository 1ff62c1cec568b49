"""Verify: makes every release again from its noisy answers, adds up the account, and compares the published files."""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import polars as pl

from dpmath.presence.state import MODEL
from tasks.account import ledger, private_files
from tasks.account.amendments import problem_with_budget
from tasks.account.definitions import problem_with_definition
from tasks.account.entry import Entry
from tasks.account.identity import folder_name, published_folder
from tasks.account.presence_release import PresenceRelease, presence_releases
from tasks.account.said_first import WHOLE_DAY
from tasks.account.witnesses import check_marks, check_nothing_unpaid, marked_ids, problem_with_users, published_folders
from tasks.base.config_types import shown
from tasks.base.durable import sha256
from tasks.base.errors import HexveilError, LedgerBroken, contained
from tasks.base.progress import progress
from tasks.base.provenance import code_hash
from tasks.base.storage import MANIFEST, TABLE, ledger_path
from tasks.output_formats.joint import JOINT, JOINT_USERS
from tasks.output_formats.read_back import each_once
from tasks.presence.account import described_cost
from tasks.presence.config import PresenceConfig
from tasks.presence.formats import FORMATS, PresenceDay, manifest
from tasks.presence.joint import described_day, joint_tables, says_something_else
from tasks.presence.overview import over_all_days
from tasks.presence.release import guarantee, release_id
from tasks.presence.states import ANSWERS, AREA, MadeAgain, estimated_again
from tasks.presence.stored_questions import QUESTIONS
from tasks.presence.table import cells_of, check

_TOLERANCE = 1e-6
"""How far numbers made again may differ, as a share of the range or of the number: another machine adds otherwise."""

_OF_QUESTIONS = 0.02
"""How far questions may be from those that would be asked here: there may be other directions that tell as much."""
_LAST_DECIMAL = 1.1e-6
"""What rounding to six decimals may add."""
_ERROR, _ENDS = 0.02, ("least", "largest")
"""How far a share that is made again may be from the one that was stated, with two decimals."""


class Verified(NamedTuple):
    """The result of a check without problems.

    Attributes:
        n_releases: How many releases are in the ledger.
        n_made_again: How many of them were made again here; the others are of another version of the program.
    """

    n_releases: int
    n_made_again: int

    @property
    def in_words(self) -> str:
        """The result as text."""
        again = "all of them were" if self.n_made_again == self.n_releases else f"{self.n_made_again:,} were"
        return (
            f"{self.n_releases:,} releases: chain, account, guarantee and published files agree with the ledger; "
            f"{again} made again from the noisy answers, with the same table."
        )


@contained
def verify_presence(config: PresenceConfig) -> Verified:
    """Check the whole ledger of a dataset whose users' presence is secret against all that is kept.

    Not checked: the noisy answers against the records, which nobody may compare but the curator; times and versions.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    folders, marked = published_folders(config), marked_ids(config)  # before the ledger, because it may grow
    entries = ledger.read_entries(config)
    n_again, made = 0, MadeAgain()
    for number, entry in enumerate(progress(entries, "checking releases")):
        problem = next(_problems(entry, entries[:number], config, made), None)
        if problem is not None:
            raise LedgerBroken(f"{ledger_path(config)}: entry {entry.number}: {problem}")
        n_again += isinstance(entry, PresenceRelease) and entry.code == code_hash()
    check_nothing_unpaid(folders, entries, config)
    check_marks(marked, entries, config)
    _check_over_all_days(presence_releases(entries), config)
    return Verified(len(presence_releases(entries)), n_again)


def _check_over_all_days(released: list[PresenceRelease], config: PresenceConfig) -> None:
    """Check the page and the catalogue; other code may have written others, and a run writes them again."""
    if not released or released[-1].code != code_hash():
        return
    for name, content in over_all_days(released, config).items():
        path = config.storage_path / "published" / name
        if not path.exists() or path.read_bytes() != content:
            raise LedgerBroken(
                f"{path} is missing, or is not what the ledger says: it was changed, or the configuration was. Run a "
                "released day again, which costs nothing and writes it"
            )


def _problems(entry: Entry, before: list[Entry], config: PresenceConfig, made: MadeAgain) -> Iterator[str]:
    if not isinstance(entry, PresenceRelease):
        problem = problem_with_budget(entry, before)
        yield from [problem] if problem is not None else []
        return
    name = entry.misstated()
    if name is not None:
        yield f"{name} is missing, or is not what a release states"
        return
    for problem_with in (problem_with_budget, problem_with_definition, problem_with_users):
        problem = problem_with(entry, before)
        if problem is not None:
            yield problem
    try:
        hexagons = json.loads(private_files.read(private_files.releases(config), entry.files[AREA]))
        settings = config.with_settings(entry.settings, hexagons)
    except (ValueError, TypeError, KeyError):
        yield "its settings cannot be used"
        return
    yield from _problems_with_charge(entry, before, settings)
    try:
        yield from _problems_with_files(entry, before, settings, made)
    except (KeyError, TypeError, ValueError, ArithmeticError, pl.exceptions.PolarsError):
        yield "its files cannot be read"
    yield from _unlike_published(entry, config)


def _problems_with_charge(entry: PresenceRelease, before: list[Entry], settings: PresenceConfig) -> Iterator[str]:
    if entry.release_id != release_id(entry.date, settings, entry.revision):
        yield "release_id is not that of its settings"
    if any(one.release_id == entry.release_id for one in presence_releases(before)):
        yield "it was released before"
    if entry.code == code_hash() and entry.stated["guarantee"] != guarantee(settings):
        yield "the guarantee is not that of its settings"
    for name, expected in described_cost(entry.date, entry.loss, before, settings).items():
        if entry.stated.get(name) != expected and (name != "in_words" or entry.code == code_hash()):
            yield f"{name} does not follow from the losses"
    if entry.loss > settings.privacy.loss_per_day:
        yield "it cost more than a day may"


def _problems_with_files(
    entry: PresenceRelease, before: list[Entry], settings: PresenceConfig, made: MadeAgain
) -> Iterator[str]:
    folder = private_files.releases(settings)
    contents = {name: private_files.read(folder, file_hash) for name, file_hash in entry.files.items()}
    table = pl.read_parquet(BytesIO(contents[TABLE]))
    if entry.n_published != table.height:
        yield "cells are not those of the table"
    day = PresenceDay(table, settings, entry.date, entry.revision, entry.in_words, entry.said_first)
    wanted = [one for one in FORMATS if one.is_wanted(day)]
    joint = {JOINT, JOINT_USERS} if settings.statistics.mean else {JOINT_USERS}
    if contents.keys() != {one.name for one in wanted} | {QUESTIONS, ANSWERS, AREA, MANIFEST} | joint:
        yield "its files are not those of a day"
    for one in wanted:
        if one.says_the_same is not None and not one.says_the_same(contents[one.name], table):
            yield f"{one.name} does not say what {TABLE} does"
    found = json.loads(contents[MANIFEST], object_pairs_hook=each_once)
    if found | {"columns": {}} != json.loads(manifest(entry.stated, entry.files)) | {"columns": {}}:
        yield f"{MANIFEST} does not say what the ledger does"
    if entry.stated.get("model") == MODEL:
        found = {name: pl.read_parquet(BytesIO(contents[name])) for name in joint}
        yield from _unlike_answers(entry, before, {TABLE: table, **found}, settings, made)


def _unlike_answers(
    entry: PresenceRelease,
    before: list[Entry],
    found: dict[str, pl.DataFrame],
    settings: PresenceConfig,
    made: MadeAgain,
) -> Iterator[str]:
    """Yield what does not follow from questions and noisy answers: the questions, the loss, or a table."""
    again = estimated_again(entry, made.before(entry.date, before, settings), settings)
    if again.apart > _OF_QUESTIONS:
        yield f"{QUESTIONS} does not follow from the answers before each question"
    if again.loss(settings.privacy.currency) != entry.loss:
        yield "its loss is not that of its questions"
    cells = cells_of(again.estimate, entry.date, entry.release_id, float(entry.epsilon), settings)
    if _far_apart(cells, found[TABLE], settings):
        yield f"{TABLE} does not follow from the noisy answers"
    joint = joint_tables(again.estimate, entry.date, settings)
    for name, one in joint.tables.items():
        if says_something_else(one, found[name], settings, _TOLERANCE):
            yield f"{name} does not follow from the noisy answers"
    if described_day({name: found[name] for name in joint.tables}) != {
        key: one for key, one in entry.stated.items() if key == WHOLE_DAY
    }:
        yield f"{WHOLE_DAY} is not that of {JOINT}"
    stated = {name: float(one) for name, one in entry.stated["joint_error"].items()}
    if stated.keys() != set(_ENDS) or not all(abs(stated[name] - getattr(joint, name)) <= _ERROR for name in _ENDS):
        yield "joint_error is not that of the joint tables"


def _far_apart(made: pl.DataFrame, found: pl.DataFrame, config: PresenceConfig) -> bool:
    """Return whether a table differs by more than rounding from that of all cells; a cell at the limit may be missing.

    Args:
        made: All cells, made again, with which of them are published.
        found: The released table.
        config: Gives the columns and the range.
    """
    try:
        check(found, config)
    except HexveilError:
        return True
    key, span = ["h3_cell", "slot_start"], float(config.value.span)
    both = found.join(made, on=key, how="inner", suffix="_made", validate="1:1")
    n_wanted, n_both = (one.filter(pl.col("is_published")).height for one in (made, both))
    unlike = n_wanted + found.height - 2 * n_both
    if both.height != found.height or unlike > max(1, made.height // 1000):
        return True
    for name in found.columns[2:]:
        ours, theirs = both[f"{name}_made"], both[name]
        if not ours.dtype.is_numeric():
            same = ours == theirs
        else:
            slack = 1.0 if ours.dtype.is_integer() else _TOLERANCE * span + _LAST_DECIMAL
            same = (ours - theirs).abs() <= slack + _TOLERANCE * theirs.abs()
        if not same.fill_null(value=False).all():
            return True
    return False


def _unlike_published(entry: PresenceRelease, config: PresenceConfig) -> Iterator[str]:
    folder = published_folder(entry.date, entry.revision, config)
    for name, file_hash in entry.files.items():
        path: Path = folder / name
        if not path.exists():
            yield f"{path} is missing; run the day again to publish it"
        elif sha256(path.read_bytes()) != file_hash:
            yield f"{path} is not the file that was released; run the day again to publish it"
    for path in sorted(folder.glob("[!.]*")):
        if path.is_file() and path.name not in entry.files:
            yield f"{folder_name(entry.date, entry.revision)}/{shown(path.name)} was never released; remove the file"
