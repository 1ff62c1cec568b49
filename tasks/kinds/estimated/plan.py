"""The plan of an estimate: what it costs each user. What it asks follows from this and from the releases before it."""

import datetime as dt
import logging
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from dpmath.core.accounting import ExactIntArray
from dpmath.estimate.areas import HALF_WIDTH
from dpmath.estimate.state import MOST_COEFFICIENTS
from tasks.base.config import Config
from tasks.base.config_sections import Statistics
from tasks.base.errors import BudgetExceeded
from tasks.base.logs import warn
from tasks.kinds.day import PlannedDay
from tasks.kinds.estimated.expected import Expected, enough, expected_estimate, first_errors
from tasks.kinds.estimated.laws import share_taken
from tasks.kinds.plan import Outlook, Plan, over_records, place_and_size
from tasks.kinds.stored_plan import plan_settings
from tasks.proposals.request import Proposal

_MOST_HEXAGONS = MOST_COEFFICIENTS // 4
log = logging.getLogger("hexveil.estimate")
_OUTLOOK = ("worst_error", "median_error", "error_over_all_records", "day_share", "cells_too_wide")


@dataclass(frozen=True)
class EstimatePlan(Plan):
    """What a day's estimate costs each user; see ``tasks.kinds.plan.Plan``.

    Attributes:
        question_losses: What the questions may cost each user, in the currency's unit, shape (L,).
        percentiles_take: Which share of the day's rho the questions about percentiles and limits take.
    """

    question_losses: ExactIntArray
    percentiles_take: float

    @property
    def losses(self) -> ExactIntArray:
        """What the day is charged to each user, in the currency's unit, shape (L,)."""
        return self.question_losses + self.charges

    def cell_frame(self) -> pl.DataFrame:
        """Return one row per cell: its size, and the owner's covariates."""
        return self.cells

    def pair_frame(self) -> pl.DataFrame:
        """Return one row per pair of a cell and a user."""
        return self.pairs(np.arange(self.occupancy.cell.size))

    def certificate(self) -> dict[str, Any]:
        """Return nothing: an estimate has no bounds."""
        return {}

    def numbers(self) -> dict[str, Any]:
        """Return what the plan would publish and cost."""
        return {
            "cells_total": self.occupancy.n_cells,
            "cells_published": self.occupancy.n_cells,
            "cells_withheld": 0,
            "records_covered": int(self.occupancy.n_records.sum()),
            "epsilon": format(self.currency.epsilon(max(self.losses)), "f"),
        }

    def outlook(self, date: dt.date, config: Config) -> Outlook:
        """Return the errors that are expected of the cells, and the day's share in them, as means over records.

        ``cells_too_wide`` is how many cells are expected to have an interval wider than the target, and the value of a
        larger area. Before the first release all are None, because the values' scale is a guess then. If percentiles
        or limits are published, it says which share of rho they take, and what the error would be without them.
        """
        expected, of_percentiles = self._expected(date, config), self._cost_of_percentiles(date, config)
        if expected is None:
            error, constant = first_errors(date, self.cells, self.occupancy, config)
            return Outlook(dict.fromkeys(_OUTLOOK) | of_percentiles, error, constant)
        target, over_all = config.privacy.target_error, over_records(expected.error.tolist(), self.occupancy, config)
        numbers = {
            "worst_error": float(expected.error.max()),
            "median_error": float(np.median(expected.error)),
            "error_over_all_records": over_all,
            "day_share": over_records(expected.day_share.tolist(), self.occupancy, config),
            "cells_too_wide": 0 if target is None else int((HALF_WIDTH * expected.deviation > float(target)).sum()),
        }
        return Outlook(numbers | of_percentiles, over_all)

    def _cost_of_percentiles(self, date: dt.date, config: Config) -> dict[str, Any]:
        """Return what the means lose by percentiles and limits, if any is published."""
        if not config.statistics.of_laws:
            return {}
        alone = self._expected(date, config.model_copy(update={"statistics": Statistics()}))
        error = None if alone is None else over_records(alone.error.tolist(), self.occupancy, config)
        return {"percentiles_take": self.percentiles_take, "error_without_percentiles": error}

    def enough(self, date: dt.date, spread: float | None, config: Config) -> Decimal | None:
        """Return which epsilon_per_day would be enough for the day's map to be better than a constant."""
        return enough(date, self.cells, self.occupancy, spread, config)

    def rows(self, date: dt.date, config: Config) -> list[dict[str, Any]]:
        """Return one row per cell: its place and size, the standard deviation expected, and the day's share in it."""
        expected, unknown = self._expected(date, config), [None] * self.cells.height
        deviations, shares = (
            (unknown, unknown) if expected is None else (expected.deviation.tolist(), expected.day_share.tolist())
        )
        return [
            place_and_size(cell) | {"expected_sd": deviation, "day_share": share}
            for cell, deviation, share in zip(self.cells.iter_rows(named=True), deviations, shares, strict=True)
        ]

    def _expected(self, date: dt.date, config: Config) -> Expected | None:
        return expected_estimate(date, self.cells, self.occupancy, self.question_losses, config)


def plan_of_estimate(date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> EstimatePlan:
    """Return the plan of a day.

    Raises:
        BudgetExceeded: No user of the day has budget left.
    """
    losses = losses_of(proposal)
    if not losses.any():
        raise BudgetExceeded(
            f"{date}: no user of the day has any of budget.epsilon_total = {config.budget.epsilon_total} left, so "
            "nothing is published. `hexveil ledger show` says what it was spent on."
        )
    percentiles_take = share_taken(date, day.cells, losses, config)
    n_hexagons = day.cells["h3_cell"].n_unique()
    if n_hexagons > _MOST_HEXAGONS:
        warn(
            log,
            f"the estimate tells about {_MOST_HEXAGONS:,} hexagons apart, those with most records; the others get what "
            "covariates and the city tell; a lower grid.h3_resolution has fewer",
            date=date,
            hexagons=n_hexagons,
        )
    return EstimatePlan(
        cells=day.cells,
        user_hashes=day.user_hashes,
        occupancy=day.request.occupancy,
        charges=day.charges,
        currency=config.privacy.currency,
        settings=plan_settings(date, config),
        payment=day.payment,
        question_losses=losses,
        percentiles_take=percentiles_take,
    )


def losses_of(proposal: Proposal) -> ExactIntArray:
    """Return what each user loses by the questions, shape (L,)."""
    if proposal.user_losses is None:
        raise ValueError("an estimate says what each user loses")
    return proposal.user_losses
