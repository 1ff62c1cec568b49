"""The numbers of an area over a period: one row of an answer, and which of the rows changed."""

import datetime as dt
from collections.abc import Collection
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr

from dpmath.estimate.areas import HALF_WIDTH
from tasks.answers.sums import Sums, shares_of_days, together

FALSE_DISCOVERIES = 0.1
"""The share of the places listed as changed that have not, on average, at most."""


def row_of(
    days: list[tuple[dt.date, Sums | None]],
    dates: Collection[dt.date],
    before: Collection[dt.date],
    of: str = "mean",
) -> dict[str, Any]:
    """Return the numbers of an area over a period; none if it, or the period before, has no records."""
    said = [(date, day) for date, day in days if day is not None]
    here, there = ([day for date, day in said if date in some] for some in (dates, before))
    if not here or (before and not there):
        return {}
    row = {
        "n_days": len(here),
        "n_cells": sum(day.n_cells for day in here),
        **({} if of == "n_users" else {"n_records": sum(day.records for day in here)}),
        "present": sum(day.present for day in here),
        **_interval(of, *together(here, shares_of_days(here))),
    }
    if before:
        row |= _interval(f"{of}_before", *together(there, shares_of_days(there)))
        both = [day for _, day in said]
        now, then = (shares_of_days(both, [date in some for date, _ in said]) for some in (dates, before))
        change, variance = together(both, now - then)
        row |= _interval("change", change, variance) | {"p_value": float(2 * ndtr(-abs(change) / np.sqrt(variance)))}
    return row


def _interval(name: str, mean: float, variance: float) -> dict[str, float]:
    deviation = float(np.sqrt(variance))
    low, high = (mean + side * HALF_WIDTH * deviation for side in (-1, 1))
    if name.startswith("share_above"):
        mean, low, high = (min(max(one, 0.0), 1.0) for one in (mean, low, high))
    return {name: mean, f"{name}_sd": deviation, f"{name}_ci95_low": low, f"{name}_ci95_high": high}


def with_discoveries(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with whether each area changed, by the rule of Benjamini and Hochberg."""
    p_value = table["p_value"]
    passing = table.filter(p_value <= FALSE_DISCOVERIES * p_value.rank("max") / p_value.count())["p_value"]
    return table.with_columns(changed=pl.col("p_value") <= (passing.max() if passing.len() else -1.0))
