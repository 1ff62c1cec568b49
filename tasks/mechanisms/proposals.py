"""What a day asks of a mechanism, and what a mechanism proposes: from the occupancy and public numbers alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpmath.cells.safeguard import promise_or_midpoint
from dpmath.core.accounting import ExactIntArray
from dpmath.core.cell_sums import CellSums, user_losses
from dpmath.core.occupancy import Occupancy
from dpmath.core.privacy_loss import PureLoss
from dpmath.planner import plans


@dataclass(frozen=True)
class Request:
    """What a day asks of a mechanism.

    Attributes:
        occupancy: The occupancy array, L users.
        value_ranges: Largest value of a record in each sum, in ticks.
        epsilon: The most that any user may lose by the release.
        target: Promised error as a share of the range; None where the configuration promises none.
        budgets: What each user may still lose, in units of 2^-50, shape (L,); None is no limit.
        cell_epsilon: What one cell costs, where the mechanism does not find that itself.
    """

    occupancy: Occupancy
    value_ranges: list[int]
    epsilon: Fraction
    target: Fraction | None
    budgets: ExactIntArray | None
    cell_epsilon: Fraction | None = None

    @property
    def promise(self) -> Fraction:
        """The target, or what the midpoint keeps without reading any data."""
        return promise_or_midpoint(self.target)


@dataclass(frozen=True)
class Proposal:
    """What a mechanism would publish. The bounds are for plans of the planner's kind, see ``dpmath.planner.plans``.

    Attributes:
        sums: What is published of each moment, one for each value range.
        loss: What the worst user loses.
        epsilon_lower_bound: What no plan for the same cells and promises can charge less than; where users have
            different budgets left, what the user who loses the largest share of what it may loses at least, as
            that share of the day's epsilon; None for a mechanism that promises nothing beforehand.
        gap: How far above that bound the proposal is, relative; None without a bound.
        cells_upper_bound: How many cells no plan can pass at this epsilon and promise; None where it is not known.
            With variance, no plan that holds both moments to the same share of their range.
        error_lower_bound: What no plan for all cells can promise less than, as a share of the range; None where a
            target was set or it is not known. With variance as above.
    """

    sums: list[CellSums]
    loss: Fraction
    epsilon_lower_bound: float | None
    gap: float | None
    cells_upper_bound: int | None = None
    error_lower_bound: Fraction | None = None


def bounded(request: Request, sums: Sequence[CellSums]) -> Proposal:
    """Return a proposal of sums that promise an error, with the bound on the loss for the same cells and promises."""
    occupancy = request.occupancy
    loss, promised = _worst_loss(occupancy, sums), sums[0].errors(occupancy)
    bound = plans.lower_bound(occupancy, promised, sums[0].value_range, len(sums))
    return Proposal(list(sums), loss, bound, float(loss) / bound - 1 if bound else 0.0)


def unbounded(request: Request, sums: Sequence[CellSums]) -> Proposal:
    """Return a proposal of sums that promise nothing before the draw."""
    return Proposal(list(sums), _worst_loss(request.occupancy, sums), None, None)


def planned(request: Request) -> Proposal:
    """Return what the planner proposes, with the bounds that it finds: most cells for a target, else least error."""
    occupancy, ranges, epsilon = request.occupancy, request.value_ranges, request.epsilon
    least = None
    if request.target is None:
        plan, least = plans.least_error(occupancy, ranges, epsilon, request.budgets)
    else:
        plan = plans.most_cells(occupancy, ranges, epsilon, request.target, request.budgets)
    bound, sums = float(epsilon) * plan.lower_bound, list[CellSums](plan.sums)
    return Proposal(sums, _worst_loss(occupancy, sums), bound, plan.gap, plan.most_cells, least)


def _worst_loss(occupancy: Occupancy, sums: Sequence[CellSums]) -> Fraction:
    return PureLoss(max(user_losses(occupancy, sums))).as_fraction()
