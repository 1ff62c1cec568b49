"""The plan of a noisy sum of each cell: which cells are published, with which clipping, noise and promise."""

import datetime as dt
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import median
from typing import Any, Protocol

import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.core.bias import rounding_errors
from dpmath.core.cell_sums import CellSums, user_losses
from dpmath.core.occupancy import Occupancy
from tasks.base import frames
from tasks.base.config import Config
from tasks.base.errors import BudgetExceeded, HexveilError, NothingToPublish
from tasks.kinds.day import PlannedDay
from tasks.kinds.plan import Outlook, Plan, over_records, place_and_size
from tasks.kinds.stored_plan import plan_settings
from tasks.proposals.mechanisms import MECHANISMS, propose
from tasks.proposals.request import Proposal, Request

MOMENTS = ("mean", "square")
"""The sums that a cell may publish: of q, and of (2q - R)^2, for values q in ticks from 0 to R."""


class Columns(Protocol):
    """How sums of a kind are stored."""

    def cell_columns(self, occupancy: Occupancy, sums: Any) -> frames.Columns:
        """Return what a plan stores of each cell, including ``inverse_scale``, ``divisor`` and ``bias``."""
        ...

    def pair_columns(self, occupancy: Occupancy, sums: Any) -> frames.Columns:
        """Return what a plan stores of each pair of a published cell."""
        ...


def mean_errors(occupancy: Occupancy, sums: CellSums, tick: Fraction) -> list[Fraction | None]:
    """Return each cell's promised error of the mean, in the value's unit, rounding to ticks included.

    It is at most the range, because the true mean and the published mean are both inside the range.
    """
    rounding, _ = rounding_errors(sums.value_range)
    errors = sums.errors(occupancy)
    return [None if error is None else tick * min(error + rounding, Fraction(sums.value_range)) for error in errors]


@dataclass(frozen=True)
class SumsPlan(Plan):
    """What a day's release would publish of each cell; see ``tasks.kinds.plan.Plan``.

    Attributes:
        sums: What is published of each moment, "mean" first.
        columns: How the sums are stored.
        epsilon_lower_bound: No plan for the same cells and promises can charge less; see Proposal.
        gap: How far above that bound the plan is, relative; None without a bound.
        upper_bound: No plan can publish more at this epsilon and promise, of what is counted; None if it is not known.
        error_lower_bound: No plan for all cells can promise less for a mean, in the value's unit, rounding to ticks
            included; None if a target was set or it is not known.
    """

    sums: dict[str, CellSums]
    columns: Columns
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

    @property
    def losses(self) -> ExactIntArray:
        """Each user's exact loss, in the currency's unit, shape (L,)."""
        return self._losses

    @cached_property
    def _losses(self) -> ExactIntArray:
        return user_losses(self.occupancy, list(self.sums.values()), self.currency) + self.charges

    @cached_property
    def mean_errors(self) -> list[Fraction]:
        """Promised error of each published cell's mean, in the value's unit."""
        return [error for error in self._errors if error is not None]

    @cached_property
    def _errors(self) -> list[Fraction | None]:
        return mean_errors(self.occupancy, self.sums["mean"], Fraction(self.settings["value"]["tick"]))

    def cell_frame(self) -> pl.DataFrame:
        """Return one row per cell: its size, and each moment's noise and largest bias, in the sum's own unit."""
        moments = {
            f"{moment}_{name}": column
            for moment, sums in self.sums.items()
            for name, column in self.columns.cell_columns(self.occupancy, sums).items()
        }
        per_pair = np.sum([sums.losses(self.occupancy, self.currency) for sums in self.sums.values()], axis=0)
        spending = np.flatnonzero(per_pair)
        epsilon = np.zeros(self.occupancy.n_cells, dtype=object)
        np.maximum.at(epsilon, self.occupancy.cell[spending], per_pair[spending])
        return self.cells.with_columns(**moments, epsilon_units=frames.exact_series(epsilon))

    def pair_frame(self) -> pl.DataFrame:
        """Return one row per pair of a published cell and a user: how the user's total counts in each moment's sum."""
        columns: frames.Columns = {}
        for moment, sums in self.sums.items():
            for name, column in self.columns.pair_columns(self.occupancy, sums).items():
                columns[f"{moment}_{name}"] = column
        return self.pairs(np.flatnonzero(self.published[self.occupancy.cell])).with_columns(**columns)

    def certificate(self) -> dict[str, Any]:
        """Return the bounds on epsilon, on what is published, and on the error."""
        return {
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "gap": self.gap,
            f"{self.counted}_upper_bound": self.upper_bound,
            "error_lower_bound": self.error_lower_bound,
        }

    def numbers(self) -> dict[str, Any]:
        """Return what the plan would publish, promise and cost; numbers in the value's unit."""
        n_published = int(self.published.sum())
        return {
            "cells_total": self.occupancy.n_cells,
            "cells_published": n_published,
            "cells_withheld": self.occupancy.n_cells - n_published,
            "records_covered": int(self.occupancy.cell_records[self.published].sum()),
            f"{self.counted}_upper_bound": self.upper_bound,
            "epsilon": format(self.currency.epsilon(max(self.losses)), "f"),
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "gap": self.gap,
            "worst_error": float(max(self.mean_errors)),
            "error_lower_bound": None if self.error_lower_bound is None else float(self.error_lower_bound),
            "median_error": float(median(self.mean_errors)),
        }

    def outlook(self, date: dt.date, config: Config) -> Outlook:  # noqa: ARG002
        """Return what is promised over all records, and over those that are published."""
        records = self.occupancy.cell_records[self.published]
        return Outlook(
            {"error_over_all_records": over_records(self._errors, self.occupancy, config)},
            float(np.average([float(error) for error in self.mean_errors], weights=records)),
        )

    def rows(self, date: dt.date, config: Config) -> list[dict[str, Any]]:  # noqa: ARG002
        """Return one row per cell: its place and size, and what it would promise and cost if published."""
        return [
            place_and_size(cell)
            | {
                "mean_error_bound": None if error is None else float(error),
                "epsilon": float(self.currency.epsilon(cell["epsilon_units"])),
            }
            for cell, error in zip(self.cell_frame().iter_rows(named=True), self._errors, strict=True)
        ]


def plan_of_sums(date: dt.date, day: PlannedDay, proposal: Proposal, columns: Columns, config: Config) -> SumsPlan:
    """Return the plan of a day from a mechanism's proposal.

    Raises:
        NothingToPublish: No cell can keep its promise.
        BudgetExceeded: Users have too little left for any cell to keep it.
    """
    if not proposal.sums[0].published.any():
        raise _why_nothing(date, day.request, config)
    return SumsPlan(
        cells=day.cells,
        user_hashes=day.user_hashes,
        occupancy=day.request.occupancy,
        charges=day.charges,
        currency=config.privacy.currency,
        settings=plan_settings(date, config),
        payment=day.payment,
        sums=dict(zip(MOMENTS, proposal.sums, strict=False)),
        columns=columns,
        epsilon_lower_bound=proposal.epsilon_lower_bound,
        gap=proposal.gap,
        upper_bound=proposal.upper_bound,
        error_lower_bound=_in_unit(proposal.error_lower_bound, config),
    )


def _why_nothing(date: dt.date, request: Request, config: Config) -> HexveilError:
    """Return the reason for an empty plan: too little budget is left, or no promise can be kept at all."""
    unlimited = propose(config.privacy.mechanism, replace(request, budgets=None))
    if unlimited.sums[0].published.any():
        return BudgetExceeded(
            f"{date}: too little is left of budget.epsilon_total = {config.budget.epsilon_total} for any cell to "
            "keep its promise, so nothing is published. `hexveil ledger show` says what it was spent on."
        )
    advice = "Raise privacy.epsilon_per_day or privacy.target_error, or make the cells larger in [grid]."
    if not MECHANISMS[config.privacy.mechanism].promises:
        advice = "Raise privacy.cell_epsilon and privacy.epsilon_per_day, or make the cells larger in [grid]."
    elif request.target is None:
        advice = "Set privacy.target_error: then the cells that can keep it are published and the others withheld."
    return NothingToPublish(
        f"{date}: at epsilon {config.privacy.epsilon_per_day} the {request.occupancy.n_cells} cells cannot keep a "
        f"promise, so nothing is published and nothing was spent. {advice}"
    )


def _in_unit(share: Fraction | None, config: Config) -> Fraction | None:
    """Convert a promise for a mean from a share of the range to the value's unit, rounding to ticks included."""
    mean_rounding, _ = rounding_errors(config.value.n_ticks)
    return None if share is None else share * config.value.span + mean_rounding * Fraction(config.value.tick)
