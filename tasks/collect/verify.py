"""Verify a collection: computes bins, means and guarantee anew from what was added up, and compares all files."""

import datetime as dt
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tasks.account.entry import Stated
from tasks.account.fields import first_of_another_type
from tasks.base.config_types import shown
from tasks.base.durable import sha256
from tasks.base.errors import LedgerBroken, contained
from tasks.base.provenance import code_hash
from tasks.base.storage import ledger_path
from tasks.collect.config import CollectionConfig
from tasks.collect.formats import FORMATS, MEANS, PublishedPeriod
from tasks.collect.ledger import (
    ESTIMATED,
    LOCALISED,
    MANIFEST,
    OPENED,
    ROUND_1,
    ROUND_2,
    SUMS,
    VOTES,
    asked_in,
    guarantee,
    list_entries,
    published_folder,
    stored,
)
from tasks.collect.results import Sums, Votes, means_table
from tasks.collect.rounds import first_round, manifest, second_round
from tasks.device.parameters import KEY_BYTES, RoundParameters
from tasks.output_formats.read_back import each_once

_MAY_WAIT = dt.timedelta(hours=1)
_ORDER = (OPENED, LOCALISED, ESTIMATED)
_TEXTS = ("kind", "collection", "period", "code", "committed_at")
_Before = dict[str, Stated]
"""The entries of a period before one, by kind."""


class Verified(NamedTuple):
    """The result of a check without problems.

    Attributes:
        n_periods: How many periods are in the ledger.
        n_released: How many of them are released.
        waiting: The newest entry's period, if its files are not published yet.
    """

    n_periods: int
    n_released: int
    waiting: str | None

    @property
    def in_words(self) -> str:
        """The result as text."""
        words = (
            f"{self.n_periods:,} periods, {self.n_released:,} of them released: chain, guarantee, bins, means and "
            "published files agree with the ledger and with what was added up."
        )
        if self.waiting is not None:
            words += f" {self.waiting} waits for its files: if no run is at work, run its step again."
        return words


@contained
def verify_collection(config: CollectionConfig) -> Verified:
    """Check the whole ledger of a collection against all that is kept.

    Recomputed, or compared with what is stored:

    - each entry's hash and its place in the chain, and the order of a period's steps;
    - the guarantee, from the settings of the entry;
    - the parameters of round 1, from these settings and the key; those of round 2, from the votes;
    - the means, from the votes and the sums; the same table in every other format except the map; the manifest;
    - that the sums are possible: of areas that were asked, of enough devices, of reports in the domain;
    - the published files.

    Not checked: the sums against the reports, which may be gone; counts of lines that are not used; times and versions.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what.
    """
    folders = sorted((config.storage_path / "published").glob("period=*"))  # before the ledger, because it may grow
    entries = list_entries(config)
    periods: dict[str, _Before] = {}
    waiting = None
    for entry in entries:
        problem = _first_problem(entry, periods, config)
        if problem is None:
            missing = _missing_file(entry, config)
            if missing and entry is entries[-1] and _is_new(entry):
                waiting = str(entry["period"])
            elif missing:
                problem = f"{missing} is missing; run the step again to publish it"
        if problem is not None:
            raise LedgerBroken(f"{ledger_path(config)}: entry {entry['number']}: {problem}")
        periods.setdefault(entry["period"], {})[entry["kind"]] = entry
    for folder in folders:
        _check_folder(folder, periods.get(folder.name.removeprefix("period="), {}))
    return Verified(len(periods), sum(ESTIMATED in made for made in periods.values()), waiting)


def ledger_rows(config: CollectionConfig) -> list[dict[str, Any]]:
    """Return a row for each entry of the ledger, for display."""
    return [
        {
            "number": one["number"],
            "period": one["period"],
            "done": one["kind"].removeprefix("collection-"),
            "reports used": one["rows"]["used"] if "rows" in one else None,
            "lines not used": sum(one["rows"].values()) - one["rows"]["used"] if "rows" in one else None,
            "areas": one.get("areas"),
            "epsilon": one["guarantee"]["epsilon_per_period"],
            "at": one["committed_at"][:16],
        }
        for one in list_entries(config)
    ]


def _first_problem(entry: Stated, periods: dict[str, _Before], config: CollectionConfig) -> str | None:
    wrong = first_of_another_type(
        entry, [(_TEXTS, str), (("files", "settings", "guarantee"), dict), (("format",), int)]
    )
    if wrong is not None:
        return f"{wrong} is missing or of another type"
    if entry["collection"] != config.name:
        return f"it is of the collection {shown(entry['collection'])}, not of {config.name}"
    before = periods.get(entry["period"], {})
    if entry["kind"] not in _ORDER or list(before) != list(_ORDER[: _ORDER.index(entry["kind"])]):
        return f"{shown(entry['kind'])} does not follow what was done of {shown(entry['period'])}"
    try:
        settings = config.with_settings(entry["settings"])
    except (ValueError, TypeError, KeyError):
        return "its settings cannot be used"
    return next(_problems(entry, before, settings), None)


def _problems(entry: Stated, before: _Before, config: CollectionConfig) -> Iterator[str]:
    promised = guarantee(config)
    if entry["guarantee"] != promised and entry["code"] == code_hash():
        yield "the guarantee is not that of its settings"
    if entry["guarantee"].get("epsilon_per_period") != promised["epsilon_per_period"]:
        yield "epsilon_per_period is not that of its settings"
    if any(one["settings"] != entry["settings"] for one in before.values()):
        yield "its settings are not those that the period was opened with"
    contents = {name: stored(entry, name, config) for name in entry["files"]}
    try:
        yield from _PROBLEMS[entry["kind"]](entry, contents, before, config)
    except (KeyError, TypeError, ValueError, ArithmeticError, pl.exceptions.PolarsError):
        yield "its files cannot be read"
    yield from _unlike_published(entry, config)


def _of_opening(entry: Stated, contents: dict[str, bytes], _: _Before, config: CollectionConfig) -> Iterator[str]:
    asked = asked_in(entry, ROUND_1, config)
    if len(asked.key) != KEY_BYTES or contents[ROUND_1] != first_round(entry["period"], asked.key, config).as_file():
        yield f"{ROUND_1} is not what the settings give"


def _of_localising(
    entry: Stated, contents: dict[str, bytes], before: _Before, config: CollectionConfig
) -> Iterator[str]:
    asked = asked_in(before[OPENED], ROUND_1, config)
    votes: Votes = json.loads(contents[VOTES], object_pairs_hook=each_once)
    least = config.collection.least_devices
    for area, one in votes.items():
        n_ballots, n_votes = one["n_ballots"], one["n_votes"]
        if area not in asked.bins or n_ballots < least or not all(0 <= n <= n_ballots for n in n_votes):
            yield f"{VOTES} has what cannot be the votes of an area"
    if sum(one["n_ballots"] for one in votes.values()) > entry["rows"]["used"]:
        yield f"{VOTES} has more ballots than reports were used"
    if contents[ROUND_2] != second_round(asked, votes).as_file():
        yield f"{ROUND_2} does not follow from {VOTES}"


def _of_estimating(
    entry: Stated, contents: dict[str, bytes], before: _Before, config: CollectionConfig
) -> Iterator[str]:
    asked = asked_in(before[LOCALISED], ROUND_2, config)
    votes: Votes = json.loads(stored(before[LOCALISED], VOTES, config))
    sums: Sums = json.loads(contents[SUMS], object_pairs_hook=each_once)
    if not all(_is_possible(one, area, asked, config) for area, one in sums.items()):
        yield f"{SUMS} has what cannot be the sums of an area"
    if sum(one["n_estimates"] for one in sums.values()) > entry["rows"]["used"]:
        yield f"{SUMS} has more estimates than reports were used"
    means = means_table(sums, votes, asked, config)
    if not means.equals(pl.read_parquet(BytesIO(contents[MEANS]))) or entry["areas"] != means.height:
        yield f"{MEANS} does not follow from {VOTES} and {SUMS}"
    period = PublishedPeriod(means, config, entry["period"])
    wanted = [one for one in FORMATS if one.is_wanted(period)]
    if contents.keys() != {one.name for one in wanted} | {SUMS, MANIFEST}:
        yield "its files are not those of a period"
    for one in wanted:
        if one.says_the_same is not None and not one.says_the_same(contents[one.name], means):
            yield f"{one.name} does not say what {MEANS} does"
    yield from _unlike_manifest(entry, contents, before, config)


def _is_possible(one: dict[str, int], area: str, asked: RoundParameters, config: CollectionConfig) -> bool:
    found, n = asked.bins.get(area), one["n_estimates"]
    if found is None or n < config.collection.least_devices:
        return False
    least, largest = asked.protocol.domain(found)
    return least * n <= one["total"] <= largest * n and n * one["squares"] >= one["total"] ** 2


def _unlike_manifest(
    entry: Stated, contents: dict[str, bytes], before: _Before, config: CollectionConfig
) -> Iterator[str]:
    asked = asked_in(before[LOCALISED], ROUND_2, config)
    hashes = {name: file_hash for name, file_hash in entry["files"].items() if name != MANIFEST}
    lines = {"round_1": before[LOCALISED]["rows"], "round_2": entry["rows"]}
    expected = json.loads(manifest(asked, lines, hashes, config))
    found = json.loads(contents[MANIFEST], object_pairs_hook=each_once)
    worded = () if entry["code"] == code_hash() else ("columns", "guarantee")
    if any(found.get(name) != one for name, one in expected.items() if name not in worded):
        yield f"{MANIFEST} does not say what the ledger does"


_PROBLEMS = {OPENED: _of_opening, LOCALISED: _of_localising, ESTIMATED: _of_estimating}


def _unlike_published(entry: Stated, config: CollectionConfig) -> Iterator[str]:
    for name, file_hash in entry["files"].items():
        path = published_folder(entry["period"], config) / name
        if path.exists() and sha256(path.read_bytes()) != file_hash:
            yield f"{path} is not the file that was released; run the step again to publish it"


def _missing_file(entry: Stated, config: CollectionConfig) -> Path | None:
    folder = published_folder(entry["period"], config)
    return next((folder / name for name in entry["files"] if not (folder / name).exists()), None)


def _is_new(entry: Stated) -> bool:
    return dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(entry["committed_at"]) < _MAY_WAIT


def _check_folder(folder: Path, made: _Before) -> None:
    """Check that a published folder holds nothing that the ledger does not name.

    Raises:
        LedgerBroken: It does.
    """
    named = {name for entry in made.values() for name in entry["files"]}
    for path in sorted(folder.glob("[!.]*")):
        if path.name not in named:
            raise LedgerBroken(
                f"{folder / shown(path.name)} was never released, or the ledger was cut: remove the file, or restore "
                "the ledger from backup"
            )
