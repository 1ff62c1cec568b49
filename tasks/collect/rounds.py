"""The steps of a period: open it, find the bin of each area, publish the means. Each is done once, then repeated."""

import csv
import datetime as dt
import io
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from dpmath.local.collector import LocalEstimate, estimated, localised, one_report_moves
from tasks.account.entry import Stated
from tasks.base.config_collection import CollectionConfig
from tasks.base.durable import readable_json
from tasks.base.errors import HexveilError, NothingToPublish
from tasks.base.randomness import random_bytes
from tasks.base.steps import step
from tasks.collect.known import crowd_of, protocol_of
from tasks.collect.ledger import ESTIMATED, LOCALISED, OPENED, append, entry_of, locked, publish, stored
from tasks.collect.reports import take_in
from tasks.device.parameters import RoundParameters, parameters_of

ROUND_1, ROUND_2, VOTES, MEANS, MANIFEST = "round-1.json", "round-2.json", "votes.json", "means.csv", "manifest.json"
_KEY_BYTES = 32
_Made = tuple[dict[str, bytes], dict[str, Any]]
"""The files of a step by name, and further fields of its entry."""


@step("open {date}")
def open_period(date: dt.date, config: CollectionConfig) -> Path:
    """Publish the parameters of round 1 of a date's period; a period that is open is published again.

    Args:
        date: A date in the period.
        config: The configuration.

    Returns:
        The folder of the published files.
    """
    return _once(OPENED, date, config, lambda period, _: ({ROUND_1: _round_1(period, config).as_file()}, {}))


@step("localise {date}")
def localise(date: dt.date, config: CollectionConfig) -> Path:
    """Find the bin of each area from the reports of round 1, and publish the parameters of round 2.

    Args:
        date: A date in the period.
        config: The configuration.

    Returns:
        The folder of the published files.

    Raises:
        NothingToPublish: No area has enough reports.
        HexveilError: The period is not open.
    """

    def made(period: str, entries: list[Stated]) -> _Made:
        asked = _asked(_needed(OPENED, period, "open", entries, config), ROUND_1, config)
        taken = take_in(asked, config)
        votes = _votes(taken.sums, config)
        bins: dict[str, int | None] = {area: localised(one["n_votes"], asked.protocol) for area, one in votes.items()}
        second = RoundParameters(**{**vars(asked), "round": 2, "bins": bins})
        return {ROUND_2: second.as_file(), VOTES: readable_json(votes)}, {"rows": taken.rows}

    return _once(LOCALISED, date, config, made)


@step("estimate {date}")
def estimate(date: dt.date, config: CollectionConfig) -> Path:
    """Estimate the mean of each area from the reports of round 2, and publish it with its interval.

    Args:
        date: A date in the period.
        config: The configuration.

    Returns:
        The folder of the published files.

    Raises:
        NothingToPublish: No area has enough reports.
        HexveilError: The bins of the period are not found yet.
    """

    def made(period: str, entries: list[Stated]) -> _Made:
        before = _needed(LOCALISED, period, "localise", entries, config)
        asked = _asked(before, ROUND_2, config)
        votes = json.loads(stored(before, VOTES, config))
        taken = take_in(asked, config)
        rows = _means(taken.sums, votes, asked, config)
        files = {MEANS: _table(rows), MANIFEST: _manifest(asked, taken.rows, before["rows"], config)}
        return files, {"rows": taken.rows, "areas": len(rows)}

    return _once(ESTIMATED, date, config, made)


def _once(kind: str, date: dt.date, config: CollectionConfig, make: Callable[[str, list[Stated]], _Made]) -> Path:
    """Publish what the ledger has of a kind for a date's period; make and append it first if it has nothing."""
    period = config.period_of(date)
    with locked(config) as entries:
        entry = entry_of(kind, period, entries, config)
        if entry is None:
            files, about = make(period, entries)
            entry = append(kind, period, files, about, entries, config)
        return publish(entry, config)


def _round_1(period: str, config: CollectionConfig) -> RoundParameters:
    value = config.value
    return RoundParameters(
        collection=config.collection.name,
        period=period,
        round=1,
        key=random_bytes(_KEY_BYTES),
        quantity=value.name,
        unit=value.unit,
        lower=Fraction(value.lower),
        upper=Fraction(value.upper),
        tick=Fraction(value.tick),
        protocol=protocol_of(config),
        bins=dict.fromkeys(config.collection.areas),
    )


def _needed(kind: str, period: str, command: str, entries: list[Stated], config: CollectionConfig) -> Stated:
    entry = entry_of(kind, period, entries, config)
    if entry is None:
        raise HexveilError(f"{config.collection.name} {period} is not ready: run hexveil collect {command} first")
    return entry


def _asked(entry: Stated, name: str, config: CollectionConfig) -> RoundParameters:
    return parameters_of(json.loads(stored(entry, name, config)))


def _votes(sums: pl.DataFrame, config: CollectionConfig) -> dict[str, dict[str, Any]]:
    """Return the ballots and votes of each area with enough ballots."""
    votes: dict[str, dict[str, Any]] = {}
    for area, _, n_ballots, n_votes in sums.rows():
        if n_ballots >= config.collection.least_devices:
            votes.setdefault(area, {"n_ballots": n_ballots, "n_votes": []})["n_votes"].append(n_votes)
    return _enough(votes, "ballots", config)


def _means(
    sums: pl.DataFrame, votes: dict[str, dict[str, Any]], asked: RoundParameters, config: CollectionConfig
) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    known = crowd_of(config, asked.protocol)
    for area, n, total, squares in sums.rows():
        number = asked.bins[area]
        if number is None or n < config.collection.least_devices:
            continue
        ballots = votes[area]["n_votes"], votes[area]["n_ballots"]
        found = estimated((n, int(total), int(squares)), number, asked.protocol, known, ballots)
        moves = one_report_moves(n, number, asked.protocol, known) * float(config.value.tick)
        rows[area] = _row(area, found, config) | {
            "n_round_1": votes[area]["n_ballots"],
            "n_round_2": n,
            "bin_midpoint": _in_unit(asked.protocol.midpoint(number), config),
            "one_device_moves": round(moves, 6),
        }
    return list(_enough(rows, "estimates", config).values())


def _row(area: str, found: LocalEstimate, config: CollectionConfig) -> dict[str, Any]:
    return {
        "area": area,
        "mean": _in_unit(found.mean, config),
        "mean_sd": round(found.sd * float(config.value.tick), 6),
        "mean_ci95_low": _in_unit(found.low, config),
        "mean_ci95_high": _in_unit(found.high, config),
    }


def _enough(found: dict[str, Any], what: str, config: CollectionConfig) -> dict[str, Any]:
    if not found:
        raise NothingToPublish(
            f"no area has {config.collection.least_devices} {what} (collection.least_devices); run this again when "
            "more reports are there"
        )
    return found


def _in_unit(ticks: float, config: CollectionConfig) -> float:
    return round(float(config.value.lower) + ticks * float(config.value.tick), 6)


def _table(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _manifest(
    asked: RoundParameters, rows: dict[str, int], rows_before: dict[str, int], config: CollectionConfig
) -> bytes:
    return readable_json(
        {
            "collection": asked.collection,
            "period": asked.period,
            "quantity": asked.quantity,
            "unit": asked.unit,
            "epsilon_per_period": str(config.collection.alpha),
            "guarantee": "local: each device randomised its report before it sent it",
            "lines_of_round_1": rows_before,
            "lines_of_round_2": rows,
            "columns": COLUMNS,
        }
    )


COLUMNS = {
    "area": "The area.",
    "mean": "Mean of the devices' means; a device with few values counts less.",
    "mean_sd": "Standard deviation of the error from noise and from which devices answered.",
    "mean_ci95_low": "Lower end of an interval that holds the mean in 95 of 100 cases.",
    "mean_ci95_high": "Upper end of it.",
    "n_round_1": "Devices that answered round 1.",
    "n_round_2": "Devices that answered round 2.",
    "bin_midpoint": "Midpoint of the bin that round 1 found.",
    "one_device_moves": "How far one device that lies can move the mean.",
}
"""What the columns of the published table mean."""
