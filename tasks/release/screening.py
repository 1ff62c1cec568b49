"""Screens a day: asks once, with noise, of how many users most values could not be read."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

from dpmath.noise.sampling import RandomBytes
from tasks.account.entry import Entry, Stated
from tasks.account.identity import release_id
from tasks.account.screenings import STOP, describe_screening, screening_of
from tasks.account.stopped import stops
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.kinds.stored_plan import StoredPlan

_PUBLISHED = ("grid", "statistics", "value", "mechanism", "noise")
"""The fields of a release that say something of its table."""


def screen_day(plan: StoredPlan, private: pl.DataFrame, config: Config, random_bytes: RandomBytes) -> Stated:
    """Draw the count, and return what the entry states of it; empty if the plan asks nobody.

    Args:
        plan: The stored plan, which says who is asked.
        private: One row per user of the day: user_hash, n_records, private_n_missing.
        config: The configuration that the plan was made with.
        random_bytes: Returns that many independent uniform bytes.

    Raises:
        HexveilError: The users of the warehouse are not those of the plan.
    """
    screening, asked = screening_of(config), sorted(plan.charges)
    if screening is None or not asked:
        return {}
    joined = pl.DataFrame({"user_hash": asked}).join(private, on="user_hash", how="left", maintain_order="left")
    if joined["n_records"].null_count():
        raise HexveilError("the users of the warehouse are not those of the plan; run the day again")
    private_mostly_missing = (2 * joined["private_n_missing"] > joined["n_records"]).to_numpy().astype(np.int64)
    noisy_count = screening.noisy_count(private_mostly_missing, random_bytes)
    return {"screening": describe_screening(noisy_count, len(asked), config)}


def says_stop(stated: Stated) -> bool:
    """Return whether the count that an entry states stops its day."""
    return "screening" in stated and stated["screening"]["verdict"] == STOP


def describe_stop(intent: Stated, entries: list[Entry], config: Config) -> dict[str, Any]:
    """Return the fields of a stopped day's entry that those of its release, which is not made, give.

    Args:
        intent: The fields that describe the release.
        entries: The ledger's entries before it.
        config: Its configuration.
    """
    date, revision = dt.date.fromisoformat(intent["date"]), intent["revision"]
    described = {name: value for name, value in intent.items() if name not in _PUBLISHED}
    return {**described, "kind": "stopped", "release_id": stop_id(date, revision, entries, config)}


def stop_id(date: dt.date, revision: str | None, entries: list[Entry], config: Config) -> str:
    """Return the id of a stopped day: that of the release which is not made, and a number."""
    number = 1 + sum((stop.date, stop.revision) == (date, revision) for stop in stops(entries))
    return f"{release_id(date, config, revision)}-stopped-{number}"
