"""The mechanisms a configuration may name, each as a proposal made from the occupancy alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpmath.arrays.choice import array_averaging_sums, projected_array_sums
from dpmath.cells.clip_user import clip_user_sums
from dpmath.cells.clipped_sum import NoisySum
from dpmath.cells.safeguard import promise_or_midpoint, safeguarded
from dpmath.cells.unsuppressed import baseline_sums, exact_sums, optimal_clipping_sums
from dpmath.core.accounting import ExactIntArray, loss_as_fraction
from dpmath.core.occupancy import Occupancy
from dpmath.planner import plans
from tasks.base.config_sections import PROJECTED
from tasks.sums.kinds import CellSums, promised_errors, user_losses


@dataclass(frozen=True)
class Proposal:
    """What a mechanism would publish. The bounds are for plans of the planner's kind, see ``dpmath.planner.Plan``.

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


def propose(mechanism: str, request: Request) -> Proposal:
    """Return what the mechanism of that name would publish; no promise is worse than what the midpoint keeps."""
    if request.target is not None:
        request = replace(request, target=min(request.target, Fraction(1, 2)))
    return _MECHANISMS[mechanism](request)


def _planned(request: Request) -> Proposal:
    occupancy, ranges, epsilon = request.occupancy, request.value_ranges, request.epsilon
    least = None
    if request.target is None:
        plan, least = plans.least_error(occupancy, ranges, epsilon, request.budgets)
    else:
        plan = plans.most_cells(occupancy, ranges, epsilon, request.target, request.budgets)
    bound, sums = float(epsilon) * plan.lower_bound, list[CellSums](plan.sums)
    return Proposal(sums, _worst_loss(occupancy, sums), bound, plan.gap, plan.most_cells, least)


def _clip_user(request: Request) -> Proposal:
    occupancy, ranges = request.occupancy, request.value_ranges
    return _bounded(occupancy, clip_user_sums(occupancy, ranges, request.epsilon, request.target, request.budgets))


def _exact(request: Request) -> Proposal:
    occupancy, ranges = request.occupancy, request.value_ranges
    return _bounded(occupancy, exact_sums(occupancy, ranges, request.epsilon, request.promise, request.budgets))


def _baseline(request: Request) -> Proposal:
    sums, _ = baseline_sums(request.occupancy, request.value_ranges, request.epsilon, request.target)
    return _within_budgets(request, sums)


def _optimal_clipping(request: Request) -> Proposal:
    sums, _ = optimal_clipping_sums(request.occupancy, request.value_ranges, request.epsilon, request.target)
    return _within_budgets(request, sums)


def _array_averaging(request: Request, optimal: bool = False) -> Proposal:
    occupancy, ranges, budgets = request.occupancy, request.value_ranges, request.budgets
    return _bounded(
        occupancy, array_averaging_sums(occupancy, ranges, request.epsilon, request.target, budgets, optimal)
    )


def _projected_arrays(request: Request) -> Proposal:
    if request.cell_epsilon is None:
        raise ValueError("cell_epsilon is needed")
    occupancy, (value_range,) = request.occupancy, request.value_ranges
    sums = projected_array_sums(occupancy, value_range, request.epsilon, request.cell_epsilon, request.budgets)
    return Proposal(list[CellSums](sums), _worst_loss(occupancy, sums), None, None)


def _within_budgets(request: Request, sums: list[NoisySum]) -> Proposal:
    occupancy = request.occupancy
    return _bounded(occupancy, safeguarded(occupancy, sums, request.epsilon, request.promise, request.budgets))


def _bounded(occupancy: Occupancy, sums: Sequence[CellSums]) -> Proposal:
    loss, promised = _worst_loss(occupancy, sums), promised_errors(occupancy, sums[0])
    bound = plans.lower_bound(occupancy, promised, sums[0].value_range, len(sums))
    return Proposal(list(sums), loss, bound, float(loss) / bound - 1 if bound else 0.0)


def _worst_loss(occupancy: Occupancy, sums: Sequence[CellSums]) -> Fraction:
    return loss_as_fraction(max(user_losses(occupancy, sums)))


_MECHANISMS: dict[str, Callable[[Request], Proposal]] = {
    "baseline": _baseline,
    "array-averaging": _array_averaging,
    "opt-array-averaging": partial(_array_averaging, optimal=True),
    "optimal-clipping": _optimal_clipping,
    "clip-user": _clip_user,
    "exact": _exact,
    "planned": _planned,
    **dict.fromkeys(PROJECTED, _projected_arrays),
}
COMPARED = tuple(name for name in _MECHANISMS if name not in PROJECTED)
"""The mechanisms that promise an error beforehand."""
