"""Preview: what a day would cost and be worth, from the configuration and earlier releases alone."""

import datetime as dt
import math
from typing import Any

import polars as pl

from tasks.account import ledger, private_files
from tasks.account.amendments import refusal
from tasks.account.entry import Entry
from tasks.account.presence_release import presence_releases
from tasks.base.errors import contained
from tasks.base.storage import TABLE
from tasks.presence.account import used_with
from tasks.presence.area import box_of
from tasks.presence.config import PresenceConfig
from tasks.presence.reading import read_day, report_path
from tasks.presence.release import find_release
from tasks.presence.states import chain_before

_SHARE_OF_COUNTS = 0.33
"""The part of a day's loss that goes to users by cell, about."""
_CELLS_OF_A_USER = 10
_READ_FOR = "planned"


@contained
def preview_day(date: dt.date, config: PresenceConfig) -> dict[str, Any]:
    """Return what a day would cost and be worth, and leave the curator a report on its files in ``private/reports``.

    Nothing that is returned depends on the day's records.

    Args:
        date: The local day.
        config: The configuration.

    Raises:
        BadInput: There is no file, or it lacks a column.
    """
    entries = ledger.read_entries(config)
    read_day(date, config, _READ_FOR)
    currency, privacy, budget = config.privacy.currency, config.privacy, config.budget
    left = currency.within(budget.epsilon_total) - used_with(date, 0, entries, config)
    rho = privacy.loss_per_day / 2**currency.unit_bits
    found = find_release(date, None, entries, config)
    return {
        "hexagons": len(config.hexagons),
        "area": box_of(config.hexagons),
        "cells": len(config.hexagons) * config.n_slots,
        "epsilon": str(privacy.epsilon_per_day),
        "more_days": max(0, left) // privacy.loss_per_day,
        "sd_of_users_in_a_cell": round(math.sqrt(_CELLS_OF_A_USER / (2 * _SHARE_OF_COUNTS * rho)), 1),
        "learns_from_days": len(chain_before(date, entries, config)),
        **_last_release(entries, config),
        "released": found and found.release_id,
        "refused": refusal(entries, config),
        "report": str(report_path(date, config, _READ_FOR)),
    }


def _last_release(entries: list[Entry], config: PresenceConfig) -> dict[str, Any]:
    """Return what the last release published, and how far off its numbers are meant to be."""
    released = presence_releases(entries)
    if not released:
        return {}
    last = released[-1]
    table = private_files.read_frame(private_files.releases(config), last.files[TABLE])
    medians = table.select(pl.col("^n_users_sd|mean_sd$").median().round(2)).row(0)
    return {
        "last_release": last.date.isoformat(),
        "cells_published": table.height,
        "median_sd_of_users": medians[0],
        **({"median_sd_of_means": medians[1]} if len(medians) > 1 else {}),
    }
