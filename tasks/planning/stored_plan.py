"""Stored plans: read once, checked, and handed down as a value."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import h3
import polars as pl

from tasks.account import private_files
from tasks.base.config import Config

MOMENTS = ("mean", "square")
"""The sums a cell may publish: of q, and of (2q - R)^2, for values q in ticks from 0 to R."""


def load_plan(plan_hash: str, config: Config) -> dict[str, Any]:
    """Return a stored plan's settings and the hashes of its files.

    Raises:
        LedgerBroken: It is missing or changed.
    """
    stored: dict[str, Any] = json.loads(private_files.read(private_files.plans(config), plan_hash))
    return stored


def moments_of(cells: pl.DataFrame) -> list[str]:
    """Return which moments a stored plan publishes, from the columns of its cells."""
    return [moment for moment in MOMENTS if f"{moment}_inverse_scale" in cells.columns]


def plan_settings(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what a plan is made from besides the occupancy; a plan is executed under the same or not at all."""
    return {"date": date.isoformat(), **config.public_settings()}


def plan_file(plan: dict[str, Any], name: str, config: Config) -> Path:
    """Return where one of a stored plan's files is."""
    return private_files.plans(config) / str(plan["files"][name])


def stored_plan(plan: dict[str, Any], config: Config) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the published cells and the pairs of a loaded plan."""
    folder = private_files.plans(config)
    cells, pairs = (private_files.read_frame(folder, plan["files"][name]) for name in ("cells", "pairs"))
    return cells.filter(pl.col("mean_inverse_scale") > 0), pairs


def withheld_cells(plan: dict[str, Any], config: Config) -> pl.DataFrame:
    """Return the cells that the plan withholds and how full they are, which is public, and nothing else of them."""
    cells = private_files.read_frame(private_files.plans(config), plan["files"]["cells"])
    withheld = cells.filter(pl.col("mean_inverse_scale") == 0)
    names = pl.Series("h3_cell", [h3.int_to_str(cell) for cell in withheld["h3_cell"]], dtype=pl.String)
    return withheld.select("slot_start", names, "n_records", "n_users")
