"""A day's plan, and how it is stored: private files named by their hash, written before the plan is executed."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.bias import rounding_errors
from dpmath.core.cell_sums import CellSums, user_losses
from dpmath.core.currency import Currency
from dpmath.core.occupancy import Occupancy
from tasks.account import private_files
from tasks.base import frames
from tasks.base.config import Config
from tasks.sums.kinds import Kind


def mean_errors(occupancy: Occupancy, sums: CellSums, tick: Fraction) -> list[Fraction | None]:
    """Return each cell's promised error of the mean, in the value's unit, rounding to ticks included.

    It is at most the range, because the true mean and the published mean are both inside the range.
    """
    rounding, _ = rounding_errors(sums.value_range)
    errors = sums.errors(occupancy)
    return [None if error is None else tick * min(error + rounding, Fraction(sums.value_range)) for error in errors]


def over_records(cells: Sequence[Fraction | float | None], occupancy: Occupancy, config: Config) -> float:
    """Return the mean over all records of a number of their cell; None counts as half the range, for a withheld cell.

    The middle of the range errs no more, whatever the values are.
    """
    half = float(config.value.span) / 2
    each = [half if number is None else float(number) for number in cells]
    return float(np.average(each, weights=occupancy.cell_records))


@dataclass(frozen=True)
class DayPlan:
    """What a day's release would publish, before anything is drawn or spent.

    Attributes:
        cells: One row per cell, by slot and hexagon: slot_start, h3_cell, n_records, n_users.
        user_hashes: Keyed hash of each user of the occupancy.
        occupancy: Pairs of cell and user, numbered by the rows above.
        sums: What is published of each moment, "mean" first.
        kind: The kind of the sums.
        currency: What losses are counted in.
        settings: What the plan was made from, as the ledger records it.
        charges: What the screening costs each user, in the currency's unit, shape (L,).
        epsilon_lower_bound: No plan for the same cells and promises can charge less; see Proposal.
        gap: How far above that bound the plan is, relative; None without a bound.
        upper_bound: No plan can publish more at this epsilon and promise, of what is counted; None if it is not known.
        error_lower_bound: No plan for all cells can promise less for a mean, in the value's unit, rounding to ticks
            included; None if a target was set or it is not known.
    """

    cells: pl.DataFrame
    user_hashes: list[str]
    occupancy: Occupancy
    sums: dict[str, CellSums]
    kind: Kind
    currency: Currency
    settings: dict[str, Any]
    charges: ExactIntArray
    epsilon_lower_bound: float | None
    gap: float | None
    upper_bound: int | None
    error_lower_bound: Fraction | None

    @cached_property
    def published(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which cells are published, shape (G,)."""
        return self.sums["mean"].published

    @property
    def counted(self) -> str:
        """What the choice of cells counts, "records" or "cells". Settings that do not say it mean cells."""
        return str(self.settings["privacy"].get("count", "cells"))

    @cached_property
    def losses(self) -> ExactIntArray:
        """Each user's exact loss, in the currency's unit, shape (L,)."""
        return user_losses(self.occupancy, list(self.sums.values()), self.currency) + self.charges

    @cached_property
    def mean_errors(self) -> list[Fraction]:
        """Promised error of each published cell's mean, in the value's unit."""
        errors = mean_errors(self.occupancy, self.sums["mean"], Fraction(self.settings["value"]["tick"]))
        return [error for error in errors if error is not None]


@dataclass(frozen=True)
class EstimatePlan:
    """What a day's estimate costs each user. What it asks follows from this and from the releases before it.

    Attributes:
        cells: One row per cell, by slot and hexagon: slot_start, h3_cell, n_records, n_users.
        user_hashes: Keyed hash of each user of the occupancy.
        occupancy: Pairs of cell and user, numbered by the rows above.
        losses: What the day is charged to each user, in the currency's unit, shape (L,).
        charges: The part of it that the screening costs, shape (L,).
        currency: What losses are counted in.
        settings: What the plan was made from, as the ledger records it.
    """

    cells: pl.DataFrame
    user_hashes: list[str]
    occupancy: Occupancy
    losses: ExactIntArray
    charges: ExactIntArray
    currency: Currency
    settings: dict[str, Any]

    @property
    def question_losses(self) -> ExactIntArray:
        """What the questions may cost each user, shape (L,)."""
        return self.losses - self.charges


Plan = DayPlan | EstimatePlan


def n_asked(plan: Plan) -> int:
    """Return how many users the plan asks for the count that screens the day."""
    return int((plan.charges > 0).sum())


def store_plan(plan: Plan, config: Config) -> str:
    """Write a plan's private files and its certificate, each named by its hash. Return the hash of the whole."""
    folder = private_files.plans(config)
    if isinstance(plan, EstimatePlan):
        files = {
            "cells": frames.write_frame(folder, plan.cells),
            "pairs": frames.write_frame(folder, _pairs(plan, np.arange(plan.occupancy.cell.size))),
            **_losses(plan, folder),
        }
        return frames.write_json(folder, {"settings": plan.settings, "files": files, "certificate": {}})
    files = {
        "cells": frames.write_frame(folder, cell_frame(plan)),
        "pairs": frames.write_frame(folder, pair_frame(plan)),
        **_losses(plan, folder),
    }
    certificate = {name: None if bound is None else str(bound) for name, bound in _certificate(plan).items()}
    return frames.write_json(folder, {"settings": plan.settings, "files": files, "certificate": certificate})


def _certificate(plan: DayPlan) -> dict[str, Any]:
    return {
        "epsilon_lower_bound": plan.epsilon_lower_bound,
        "gap": plan.gap,
        f"{plan.counted}_upper_bound": plan.upper_bound,
        "error_lower_bound": plan.error_lower_bound,
    }


def cell_frame(plan: DayPlan) -> pl.DataFrame:
    """Return one row per cell: its size, and each moment's noise and largest bias, in the sum's own unit."""
    moments = {
        f"{moment}_{name}": column
        for moment, sums in plan.sums.items()
        for name, column in plan.kind.cell_columns(plan.occupancy, sums).items()
    }
    per_pair = np.sum([sums.losses(plan.occupancy, plan.currency) for sums in plan.sums.values()], axis=0)
    spending = np.flatnonzero(per_pair)
    epsilon = np.zeros(plan.occupancy.n_cells, dtype=object)
    np.maximum.at(epsilon, plan.occupancy.cell[spending], per_pair[spending])
    return plan.cells.with_columns(**moments, epsilon_units=frames.exact_series(epsilon))


def pair_frame(plan: DayPlan) -> pl.DataFrame:
    """Return one row per pair of a published cell and a user: how the user's total counts in each moment's sum."""
    inside = np.flatnonzero(plan.published[plan.occupancy.cell])
    columns: frames.Columns = {}
    for moment, sums in plan.sums.items():
        for name, column in plan.kind.pair_columns(plan.occupancy, sums).items():
            columns[f"{moment}_{name}"] = column
    return _pairs(plan, inside).with_columns(**columns)


def _pairs(plan: Plan, which: np.ndarray[Any, Any]) -> pl.DataFrame:
    """Return some pairs of a plan: slot_start, h3_cell, user_hash, n_records."""
    return plan.cells.select("slot_start", "h3_cell")[plan.occupancy.cell[which]].with_columns(
        user_hash=pl.Series(plan.user_hashes).gather(pl.Series(plan.occupancy.user[which])),
        n_records=pl.Series(plan.occupancy.n_records[which]),
    )


def _losses(plan: Plan, folder: Path) -> dict[str, str]:
    """Write what each user loses, and if users are screened, the part of it that this costs; return the hashes."""
    files = {"losses": frames.write_frame(folder, _loss_frame(plan.user_hashes, plan.losses))}
    if plan.charges.any():
        files["charges"] = frames.write_frame(folder, _loss_frame(plan.user_hashes, plan.charges))
    return files


def _loss_frame(user_hashes: list[str], losses: ExactIntArray) -> pl.DataFrame:
    frame = pl.DataFrame({"user_hash": user_hashes, "loss_units": frames.exact_series(losses)})
    return frame.filter(pl.col("loss_units") > 0).sort("user_hash")
