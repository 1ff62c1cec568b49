"""What a day asks of a mechanism, and what the mechanism proposes. Both read only the occupancy and public numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dpmath.cells.safeguard import promise_or_midpoint
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.core.cell_sums import CellSums, user_losses
from dpmath.core.currency import LAPLACE, PURE, Currency
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.planner import plans


@dataclass(frozen=True)
class Request:
    """What a day asks of a mechanism.

    Attributes:
        occupancy: The occupancy array, L users.
        value_ranges: Largest value of a record in each sum, in ticks.
        epsilon: The most that any user may lose by the release; under zCDP, at the currency's delta.
        target: Promised error as a share of the range; None if the configuration promises none.
        budgets: What each user may still lose, in the currency's unit, shape (L,); None is no limit.
        cell_epsilon: The pure loss of one cell, if the mechanism does not compute that itself.
        currency: What losses are counted in.
        noise: What is drawn, if the mechanism clips totals.
        count: What there should be most of, if the mechanism chooses cells: "records" in them, or "cells".
    """

    occupancy: Occupancy
    value_ranges: list[int]
    epsilon: Fraction
    target: Fraction | None
    budgets: ExactIntArray | None
    cell_epsilon: Fraction | None = None
    currency: Currency = PURE
    noise: str = LAPLACE
    count: Literal["records", "cells"] = "records"

    @property
    def worth(self) -> IntArray:
        """What publishing each cell counts, shape (G,)."""
        records = self.occupancy.cell_records
        return records if self.count == "records" else np.ones_like(records)

    @property
    def promise(self) -> Fraction:
        """The target, or the error that the midpoint keeps without reading any data."""
        return promise_or_midpoint(self.target)


@dataclass(frozen=True)
class Proposal:
    """What a mechanism would publish. The bounds are for plans of the planner's class, see ``dpmath.planner.plans``.

    Attributes:
        sums: What is published of each moment, one for each value range.
        loss: What the user with the largest loss loses, in the unit of the request's currency.
        epsilon_lower_bound: No plan for the same cells and promises can charge less. If users have different budgets
            left, it is the day's epsilon times a lower bound on the largest share that a user loses of what that user
            may lose. None for a mechanism that promises nothing before the draw.
        gap: How far above that bound the proposal is, relative; None without a bound.
        upper_bound: No plan can publish more at this epsilon and promise, of what the request counts; None if it is not
            known. With variance, it is for plans that hold both moments to the same share of their range.
        error_lower_bound: No plan for all cells can promise less, as a share of the range; None if a target was set or
            it is not known. With variance as above.
        user_losses: What each user loses, if that does not follow from sums, shape (L,).
    """

    sums: list[CellSums]
    loss: int
    epsilon_lower_bound: float | None
    gap: float | None
    upper_bound: int | None = None
    error_lower_bound: Fraction | None = None
    user_losses: ExactIntArray | None = None


def bounded(request: Request, sums: Sequence[CellSums]) -> Proposal:
    """Return a proposal of sums that promise an error, with the bound on the loss for the same cells and promises."""
    occupancy = request.occupancy
    loss, promised = _worst_loss(occupancy, sums), sums[0].errors(occupancy)
    bound = plans.lower_bound(occupancy, promised, sums[0].value_range, len(sums))
    return Proposal(list(sums), loss, bound, loss / LOSS_UNITS / bound - 1 if bound else 0.0)


def unbounded(request: Request, sums: Sequence[CellSums]) -> Proposal:
    """Return a proposal of sums that promise nothing before the draw."""
    return Proposal(list(sums), _worst_loss(request.occupancy, sums), None, None)


def planned(request: Request) -> Proposal:
    """Return the planner's proposal with its bounds: the most published for a target, else the least error."""
    occupancy, ranges, epsilon = request.occupancy, request.value_ranges, request.epsilon
    least = None
    if request.target is None:
        plan, least = plans.least_error(occupancy, ranges, epsilon, request.budgets)
    else:
        plan = plans.most_carried(occupancy, ranges, epsilon, request.target, request.budgets, request.worth)
    bound, sums = float(epsilon) * plan.lower_bound, list[CellSums](plan.sums)
    return Proposal(sums, _worst_loss(occupancy, sums), bound, plan.gap, plan.most, least)


def estimated(request: Request) -> Proposal:
    """Return the charge of an estimate of all cells: what a day may cost, or what a user has left if that is less."""
    most = np.full(request.occupancy.n_users, request.currency.within(request.epsilon), dtype=object)
    losses = most if request.budgets is None else np.clip(request.budgets, 0, most)
    return Proposal([], int(losses.max()), None, None, user_losses=losses)


def _worst_loss(occupancy: Occupancy, sums: Sequence[CellSums]) -> int:
    return int(max(user_losses(occupancy, sums)))
