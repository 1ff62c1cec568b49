"""Evaluate: compares a released day with the values that it was made from. For the curator only: nothing is noised."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import h3
import numpy as np
import polars as pl

from dpmath.estimate.areas import AREAS, area_numbers, averages
from tasks.account import ledger, private_files
from tasks.account.identity import find_entry
from tasks.base import durable, warehouse
from tasks.base.config import Config
from tasks.base.errors import HexveilError, contained
from tasks.base.storage import TABLE, private_folder
from tasks.occupancy.cells import n_slots_of, parents_of, slots_of

_GROUPS = 5


@contained
def evaluate_day(date: dt.date, revision: str | None, config: Config) -> tuple[dict[str, Any], Path]:
    """Return how far a released day is from the values without noise, and the private file that this is written to.

    The numbers come from values without noise, so they are as private as the values. They are shown to the curator who
    asks, and never logged, published or given to the scheduler. Whoever publishes them, or chooses settings by them,
    spends privacy that no account counts.

    Args:
        date: The local day.
        revision: Name of a further release of the day; None for the first.
        config: Says where the ledger and the warehouse are.

    Raises:
        HexveilError: The day was not released, its values are no longer in the warehouse, or none can be read.
    """
    entry = find_entry(date, revision, ledger.read_entries(config), config)
    if entry is None:
        raise HexveilError(f"{date} has not been released, so there is nothing to compare; run the day first")
    published = private_files.read_frame(private_files.releases(config), entry.files[TABLE])
    with warehouse.connect(config) as connection:
        true = warehouse.frame(connection, "read/true_totals", {"date": date, "n_ticks": config.value.n_ticks})
    names = pl.Series("h3_cell", [h3.int_to_str(cell) for cell in true["h3_cell"]], dtype=pl.String)
    tick, lower = float(config.value.tick), float(config.value.lower)
    true = true.with_columns(names, true_mean=lower + tick * pl.col("private_total") / pl.col("private_n_values"))
    both = true.select("slot_start", "h3_cell", "true_mean", "private_n_values", all_records="n_records").join(
        published, on=["slot_start", "h3_cell"], how="left", maintain_order="left"
    )
    if both["mean"].null_count() == both.height or both["all_records"].sum() != entry.rows.get("kept", -1):
        raise HexveilError(
            f"the values of {date} in the warehouse are not those of its release: they were forgotten, or records came "
            "since. What was released cannot be compared with them"
        )
    measured = both.filter(pl.col("private_n_values") > 0)
    if measured["mean"].null_count() == measured.height:
        raise HexveilError(f"no cell of {date} that is published has a value that can be read: nothing to compare")
    measured = _of_published_areas(measured, config.with_settings(entry.settings))
    evaluation = {
        "release_id": entry.release_id,
        "mechanism": entry.settings["privacy"]["mechanism"],
        "cells_without_values": both.height - measured.height,
        **_compared(measured),
    }
    path = private_folder(config) / "evaluations" / f"{entry.release_id}.json"
    durable.write_whole(path, json.dumps(evaluation, indent=2).encode() + b"\n")
    return evaluation, path


def _of_published_areas(both: pl.DataFrame, settings: Config) -> pl.DataFrame:
    """Return the cells with the true mean of what each published mean is of: the cell, or a larger area."""
    if "mean_area" not in both.columns:
        return both
    names, hexagon = np.unique(both["h3_cell"].map_elements(h3.str_to_int, pl.UInt64), return_inverse=True)
    slot, records = slots_of(both["slot_start"], settings), both["all_records"].to_numpy()
    number = area_numbers(hexagon, slot, n_slots_of(settings), parents_of(names))
    true = averages(number, records, both["true_mean"].to_numpy())
    kind = both["mean_area"].replace_strict(list(AREAS), range(len(AREAS)), return_dtype=pl.Int64).to_numpy()
    return both.with_columns(true_mean=np.take_along_axis(true, kind[None], axis=0)[0])


def _compared(both: pl.DataFrame) -> dict[str, Any]:
    """Return skill, errors and coverage of a day. A cell that was withheld is guessed as the mean of the published.

    Where all cells have one mean, the best constant errs nowhere, and there is no skill: it is None.
    """
    records, truth = both["all_records"].to_numpy().astype(float), both["true_mean"].to_numpy()
    published = both["mean"].is_not_null().to_numpy()
    mean = both["mean"].to_numpy().astype(float)
    guess = np.where(published, mean, np.average(mean[published], weights=records[published]))
    constant = np.average(truth, weights=records)
    error = guess - truth
    square, of_constant = (np.average(one**2, weights=records) for one in (error, truth - constant))
    is_one_mean = np.allclose(truth, constant, rtol=1e-9, atol=1e-12)  # but for how the means are rounded
    inside = (both["mean_ci95_low"] <= both["true_mean"]) & (both["true_mean"] <= both["mean_ci95_high"])
    held = inside.fill_null(value=False).to_numpy()[published]
    width = (both["mean_ci95_high"] - both["mean_ci95_low"]).drop_nulls().to_numpy()
    hour = both["slot_start"].dt.hour().to_numpy()[published]
    return {
        "cells": both.height,
        "published": int(published.sum()),
        "skill": None if is_one_mean else float(1 - square / of_constant),
        "mean_absolute_error": float(np.average(np.abs(error), weights=records)),
        "mean_absolute_error_of_best_constant": float(np.average(np.abs(truth - constant), weights=records)),
        "coverage_of_cells": float(held.mean()),
        "coverage_of_records": float(np.average(held, weights=records[published])),
        "median_interval_width": float(np.median(width)),
        "by_published_mean": _groups(_fifths(mean[published]), error[published], held, records[published]),
        "by_records": _groups(_fifths(records[published]), error[published], held, records[published]),
        "by_hour_utc": _groups(hour, error[published], held, records[published]),
    }


def _fifths(values: np.ndarray) -> np.ndarray:
    """Return the fifth of the cells that each belongs to, 0 with the least values."""
    group = np.empty(values.size, dtype=np.int64)
    group[np.argsort(values, kind="stable")] = np.arange(values.size) * _GROUPS // max(values.size, 1)
    return group


def _groups(group: np.ndarray, error: np.ndarray, held: np.ndarray, records: np.ndarray) -> list[dict[str, float]]:
    """Return cells, error, bias and coverage of each group."""
    found = []
    for one in np.unique(group):
        here = group == one
        found.append(
            {
                "group": int(one),
                "cells": int(here.sum()),
                "mean_absolute_error": float(np.average(np.abs(error[here]), weights=records[here])),
                "bias": float(np.average(error[here], weights=records[here])),
                "coverage_of_cells": float(held[here].mean()),
            }
        )
    return found
