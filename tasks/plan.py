"""Plan: which cells a day publishes, with which clipping and noise. Reads the occupancy and public numbers only."""

import datetime as dt
import json
import logging
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
from prefect import task

from dpmath.accounting import LOSS_UNITS, ExactIntArray, NoisySum, pair_losses, promised_errors, user_losses
from dpmath.bias import variance_error
from dpmath.mechanisms import clip_user_sums
from dpmath.occupancy import Occupancy
from tasks import private_files, warehouse
from tasks.config import Config
from tasks.entropy import known_users
from tasks.errors import BudgetExceeded, NothingToPublish, contained
from tasks.ledger import exact_decimal, read_entries

MOMENTS = ("mean", "square")
"""The sums a cell may publish: of q, and of (2q - R)^2, for values q in ticks from 0 to R."""

log = logging.getLogger("hexveil.plan")


@dataclass(frozen=True)
class DayPlan:
    """What a day's release would publish, before anything of it is drawn or spent.

    Attributes:
        cells: One row per cell, by slot and hexagon: slot_start, h3_cell, n_records, n_users.
        user_hashes: Keyed hash of each user of the occupancy.
        occupancy: Pairs of cell and user, numbered by the rows above.
        sums: Intervals and noise of each moment published, "mean" first.
        settings: What the plan was made from, as the ledger records it.
    """

    cells: pl.DataFrame
    user_hashes: list[str]
    occupancy: Occupancy
    sums: dict[str, NoisySum]
    settings: dict[str, Any]

    @cached_property
    def published(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which cells are published, shape (G,)."""
        return self.sums["mean"].inverse_scale.astype(bool)

    @cached_property
    def losses(self) -> ExactIntArray:
        """Each user's exact loss, in units of 2^-50, shape (L,)."""
        return user_losses(self.occupancy, list(self.sums.values()))

    @cached_property
    def mean_errors(self) -> list[Fraction]:
        """Promised error of each published cell's mean, in the value's unit."""
        tick = Fraction(self.settings["value"]["tick"])
        return [tick * error for error in promised_errors(self.occupancy, self.sums["mean"]) if error is not None]


@task
@contained
def plan_release(date: dt.date, config: Config) -> str:
    """Make and store the plan of a day, and return its hash.

    Raises:
        NothingToPublish: No cell can keep its promise.
        BudgetExceeded: No user of the day has budget left.
    """
    plan = make_plan(date, config)
    plan_hash = store_plan(plan, config)
    summary = summarise_plan(plan)
    log.info(
        "%s: %d of %d cells can be published, at most %.6g of epsilon",
        date,
        summary["cells_published"],
        summary["cells_total"],
        float(summary["epsilon"]),
    )
    return plan_hash


@contained
def preview_plan(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what the day would publish and cost, after storing the plan; spends nothing."""
    start = time.perf_counter()
    plan = make_plan(date, config)
    plan_hash = store_plan(plan, config)
    return {**summarise_plan(plan), "plan_hash": plan_hash, "seconds": round(time.perf_counter() - start, 3)}


def make_plan(date: dt.date, config: Config) -> DayPlan:
    """Return the plan of a day from its occupancy, the public bounds and what each user has left."""
    with warehouse.connect(config) as connection:
        pairs = warehouse.frame(connection, "warehouse/occupancy", {"date": date})
    entries = read_entries(config)
    keys = known_users(config, entries)
    pairs = pairs.with_columns(
        cell=pl.struct("slot_start", "h3_cell").rank("dense").cast(pl.Int64) - 1,
        user=pl.col("user_id").rank("dense").cast(pl.Int64) - 1,
    ).sort("cell", "user")
    cells = pairs.group_by("cell", "slot_start", "h3_cell").agg(
        n_records=pl.col("n_records").sum(), n_users=pl.len().cast(pl.Int64)
    )
    user_ids = pairs.select("user", "user_id").unique().sort("user")["user_id"].to_list()
    occupancy = Occupancy(
        pairs["cell"].to_numpy(), pairs["user"].to_numpy(), pairs["n_records"].to_numpy(), cells.height, len(user_ids)
    )
    user_hashes = keys.users(user_ids)
    sums = _sums(occupancy, user_hashes, private_files.spent(entries, config), date, config)
    return DayPlan(
        cells=cells.sort("cell").drop("cell"),
        user_hashes=user_hashes,
        occupancy=occupancy,
        sums=dict(zip(MOMENTS, sums, strict=False)),
        settings=plan_settings(date, config),
    )


def summarise_plan(plan: DayPlan) -> dict[str, Any]:
    """Return what a plan would publish, promise and cost; numbers in the value's unit."""
    n_published = int(plan.published.sum())
    return {
        "cells_total": plan.occupancy.n_cells,
        "cells_published": n_published,
        "cells_withheld": plan.occupancy.n_cells - n_published,
        "records_covered": int(plan.occupancy.cell_records[plan.published].sum()),
        "epsilon": exact_decimal(max(plan.losses)),
        "worst_error": float(max(plan.mean_errors)),
        "median_error": float(median(plan.mean_errors)),
        "mechanism": plan.settings["privacy"]["mechanism"],
    }


def store_plan(plan: DayPlan, config: Config) -> str:
    """Write a plan's private files, each named by its hash, and return the hash that names the plan."""
    folder = private_files.plans(config)
    files = {
        "cells": private_files.write_frame(folder, cell_frame(plan)),
        "pairs": private_files.write_frame(folder, pair_frame(plan)),
        "losses": private_files.write_frame(folder, _loss_frame(plan)),
    }
    return private_files.write_json(folder, {"settings": plan.settings, "files": files})


def load_plan(plan_hash: str, config: Config) -> dict[str, Any]:
    """Return a stored plan's settings and the hashes of its files.

    Raises:
        LedgerBroken: It is missing or changed.
    """
    stored: dict[str, Any] = json.loads(private_files.read(private_files.plans(config), plan_hash))
    return stored


def plan_settings(date: dt.date, config: Config) -> dict[str, Any]:
    """Return what a plan is made from besides the occupancy; a plan is executed under the same or not at all."""
    return {"date": date.isoformat(), **config.public_settings()}


def plan_file(plan: dict[str, Any], name: str, config: Config) -> Path:
    """Return where one of a stored plan's files is."""
    return private_files.plans(config) / str(plan["files"][name])


def cell_frame(plan: DayPlan) -> pl.DataFrame:
    """Return one row per cell: its size, and each moment's noise and greatest clipping bias, in ticks."""
    moments = {}
    for moment, noisy_sum in plan.sums.items():
        bias = plan.occupancy.cell_sums(noisy_sum.bias(plan.occupancy))
        moments[f"{moment}_inverse_scale"] = pl.Series(list(noisy_sum.inverse_scale), dtype=pl.Int64)
        moments[f"{moment}_bias"] = private_files.exact_series(bias)
    per_pair = sum(pair_losses(plan.occupancy, noisy_sum) for noisy_sum in plan.sums.values())
    epsilon = np.zeros(plan.occupancy.n_cells, dtype=object)
    np.maximum.at(epsilon, plan.occupancy.cell, per_pair)
    return plan.cells.with_columns(**moments, epsilon_units=private_files.exact_series(epsilon))


def pair_frame(plan: DayPlan) -> pl.DataFrame:
    """Return one row per pair of a published cell and a user: the interval of each moment's total, in ticks."""
    published = plan.published[plan.occupancy.cell]
    users = pl.Series("user_hash", plan.user_hashes)
    columns = {
        "user_hash": users.gather(pl.Series(plan.occupancy.user)),
        "n_records": pl.Series(plan.occupancy.n_records),
    }
    for moment, noisy_sum in plan.sums.items():
        columns[f"{moment}_lower"] = pl.Series(list(noisy_sum.lower(plan.occupancy)), dtype=pl.Int64)
        columns[f"{moment}_width"] = pl.Series(list(noisy_sum.width), dtype=pl.Int64)
    cells = plan.cells.select("slot_start", "h3_cell")[plan.occupancy.cell]
    return cells.with_columns(**columns).filter(pl.Series(published))


def _loss_frame(plan: DayPlan) -> pl.DataFrame:
    frame = pl.DataFrame({"user_hash": plan.user_hashes, "loss_units": private_files.exact_series(plan.losses)})
    return frame.filter(pl.col("loss_units") > 0).sort("user_hash")


def _sums(
    occupancy: Occupancy, user_hashes: list[str], spent: dict[str, int], date: dt.date, config: Config
) -> list[NoisySum]:
    total = int(Fraction(config.budget.epsilon_total) * LOSS_UNITS)
    budgets = np.array([total - spent.get(user, 0) for user in user_hashes], dtype=object)
    n_ticks = config.value.n_ticks
    value_ranges = [n_ticks, n_ticks**2] if config.statistics.variance else [n_ticks]
    epsilon, share = Fraction(config.privacy.epsilon_per_day), promised_share(config)
    sums = clip_user_sums(occupancy, value_ranges, epsilon, share, budgets)
    if any(sums[0].inverse_scale):
        return sums
    if any(clip_user_sums(occupancy, value_ranges, epsilon, share)[0].inverse_scale):
        raise BudgetExceeded(
            f"{date}: too little is left of budget.epsilon_total = {config.budget.epsilon_total} for any cell to "
            "keep its promise, so nothing is published. `hexveil ledger show` says what it was spent on."
        )
    raise NothingToPublish(
        f"{date}: none of {occupancy.n_cells} cells can keep its promise at epsilon "
        f"{config.privacy.epsilon_per_day}, so nothing is published and nothing was spent. Raise "
        "privacy.epsilon_per_day or privacy.target_error, or make the cells larger in [grid]."
    )


def promised_share(config: Config) -> Fraction | None:
    """Return the promised error of every published sum as a share of its range; None promises nothing."""
    privacy, span = config.privacy, config.value.span
    shares = []
    if privacy.target_error is not None:
        shares.append(Fraction(privacy.target_error) / span)
    if privacy.target_error_variance is not None:
        at_share_one = variance_error(span**2, span, span)
        shares.append(Fraction(privacy.target_error_variance) / at_share_one)
    return min(shares, default=None)
