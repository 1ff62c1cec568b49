"""The steps of a period: open it, find the bin of each area, publish the means. Each is done once, then repeated."""

import datetime as dt
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tasks.account.entry import Stated
from tasks.base.durable import readable_json, sha256
from tasks.base.errors import BadInput, HexveilError
from tasks.base.randomness import random_bytes
from tasks.base.steps import step
from tasks.collect.config import CollectionConfig
from tasks.collect.formats import FORMATS, PublishedPeriod
from tasks.collect.ledger import (
    ESTIMATED,
    LOCALISED,
    MANIFEST,
    OPENED,
    ROUND_1,
    ROUND_2,
    SUMS,
    VOTES,
    append,
    as_opened,
    asked_in,
    check_unpublished,
    entry_of,
    guarantee,
    locked,
    publish,
    stored,
)
from tasks.collect.reports import take_in
from tasks.collect.results import COLUMNS, Votes, bins_of, means_table, release_of, sums_of, votes_of
from tasks.device.parameters import KEY_BYTES, RoundParameters
from tasks.device.rules import has_begun

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

    Raises:
        BadInput: The period has not begun: no device would answer, and devices that get a name after the key is public
            could choose their round.
    """

    def made(period: str, _: list[Stated], of_period: CollectionConfig) -> _Made:
        if not has_begun(period):
            raise BadInput(f"{period} has not begun, so no device answers it; open it when it has, or after its end")
        return {ROUND_1: first_round(period, random_bytes(KEY_BYTES), of_period).as_file()}, {}

    return _once(OPENED, date, config, made)


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

    def made(period: str, entries: list[Stated], of_period: CollectionConfig) -> _Made:
        asked = asked_in(_needed(OPENED, period, "open", entries, config), ROUND_1, config)
        taken = take_in(asked, config)
        votes = votes_of(taken.sums, of_period)
        return {ROUND_2: second_round(asked, votes).as_file(), VOTES: readable_json(votes)}, {"rows": taken.rows}

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

    def made(period: str, entries: list[Stated], of_period: CollectionConfig) -> _Made:
        before = _needed(LOCALISED, period, "localise", entries, config)
        asked = asked_in(before, ROUND_2, config)
        votes = json.loads(stored(before, VOTES, config))
        taken = take_in(asked, config)
        sums = sums_of(taken.sums, of_period)
        means = means_table(sums, votes, asked, of_period)
        shown = PublishedPeriod(means, of_period, period)
        files = {one.name: one.writes(shown) for one in FORMATS if one.is_wanted(shown)}
        files[SUMS] = readable_json(sums)
        lines = {"round_1": before["rows"], "round_2": taken.rows}
        files[MANIFEST] = manifest(asked, lines, {name: sha256(content) for name, content in files.items()}, of_period)
        return files, {"rows": taken.rows, "areas": means.height}

    return _once(ESTIMATED, date, config, made)


def second_round(asked: RoundParameters, votes: Votes) -> RoundParameters:
    """Return the parameters of round 2, from those of round 1 and its votes."""
    return RoundParameters(**{**vars(asked), "round": 2, "bins": bins_of(votes, asked.protocol)})


def _once(
    kind: str,
    date: dt.date,
    config: CollectionConfig,
    make: Callable[[str, list[Stated], CollectionConfig], _Made],
) -> Path:
    """Publish what the ledger has of a kind for a date's period; make and append it first if it has nothing.

    It is made with the settings that the period was opened with.
    """
    period = config.period_of(date)
    with locked(config) as entries:
        entry = entry_of(kind, period, entries)
        if entry is None:
            of_period = as_opened(period, entries, config)
            files, about = make(period, entries, of_period)
            check_unpublished(kind, period, files, config)
            entry = append(kind, period, files, about, entries, of_period)
        return publish(entry, config)


def first_round(period: str, key: bytes, config: CollectionConfig) -> RoundParameters:
    """Return the parameters of round 1, from the configuration and a key."""
    value = config.value
    return RoundParameters(
        collection=config.collection.name,
        period=period,
        round=1,
        key=key,
        quantity=value.name,
        unit=value.unit,
        lower=Fraction(value.lower),
        upper=Fraction(value.upper),
        tick=Fraction(value.tick),
        protocol=config.protocol,
        bins=dict.fromkeys(config.collection.areas),
    )


def _needed(kind: str, period: str, command: str, entries: list[Stated], config: CollectionConfig) -> Stated:
    entry = entry_of(kind, period, entries)
    if entry is None:
        raise HexveilError(f"{config.collection.name} {period} is not ready: run hexveil collect {command} first")
    return entry


def manifest(asked: RoundParameters, about: dict[str, Any], hashes: dict[str, str], config: CollectionConfig) -> bytes:
    """Return the file beside the published ones that says what they mean.

    Args:
        asked: The parameters of round 2.
        about: Fields of the entry: how many lines each round had by outcome.
        hashes: The hashes of the other files that were made with it, by name.
        config: The configuration.
    """
    return readable_json(
        {
            "release_id": release_of(asked.period, config),
            "collection": asked.collection,
            "period": asked.period,
            "quantity": asked.quantity,
            "unit": asked.unit,
            "guarantee": guarantee(config),
            "lines": about,
            "files": hashes,
            "columns": COLUMNS,
        }
    )
