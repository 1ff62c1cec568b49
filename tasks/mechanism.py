"""The mechanisms a configuration may name, each as a proposal made from the occupancy alone."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpmath import planner
from dpmath.accounting import ExactIntArray, NoisySum, loss_as_fraction, user_losses
from dpmath.mechanisms import baseline_sums, clip_user_sums, exact_sums
from dpmath.occupancy import Occupancy
from dpmath.safeguard import safeguarded


@dataclass(frozen=True)
class Proposal:
    """What a mechanism would publish. The bounds are for plans of the planner's kind, see ``dpmath.planner.Plan``.

    Attributes:
        sums: Intervals and noise of each sum.
        charged: What the mechanism's own accounting charges the worst user.
        epsilon_lower_bound: What no plan for the same cells and promises can charge less than; where users have
            different budgets left, what the user who loses the largest share of what it may loses at least, as
            that share of the day's epsilon.
        gap: How far above that bound the proposal is, relative.
        cells_upper_bound: How many cells no plan can pass at this epsilon and promise; None where it is not known.
            With variance, no plan that holds both moments to the same share of their range.
        error_lower_bound: What no plan for all cells can promise less than, as a share of the range; None where a
            target was set or it is not known. With variance as above.
    """

    sums: list[NoisySum]
    charged: Fraction
    epsilon_lower_bound: float
    gap: float
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
    """

    occupancy: Occupancy
    value_ranges: list[int]
    epsilon: Fraction
    target: Fraction | None
    budgets: ExactIntArray | None


def propose(mechanism: str, request: Request) -> Proposal:
    """Return what the mechanism of that name would publish."""
    return _MECHANISMS[mechanism](request)


def _planned(request: Request) -> Proposal:
    occupancy, ranges, epsilon = request.occupancy, request.value_ranges, request.epsilon
    least = None
    if request.target is None:
        plan, least = planner.least_error(occupancy, ranges, epsilon, request.budgets)
    else:
        plan = planner.most_cells(occupancy, ranges, epsilon, request.target, request.budgets)
    bound = float(epsilon) * plan.lower_bound
    return Proposal(plan.sums, _exact_loss(occupancy, plan.sums), bound, plan.gap, plan.most_cells, least)


def _clip_user(request: Request) -> Proposal:
    occupancy = request.occupancy
    sums = clip_user_sums(occupancy, request.value_ranges, request.epsilon, request.target, request.budgets)
    return _bounded(occupancy, sums, _exact_loss(occupancy, sums))


def _exact(request: Request) -> Proposal:
    occupancy, target = request.occupancy, request.target or Fraction(1, 2)
    sums = exact_sums(occupancy, request.value_ranges, request.epsilon, target, request.budgets)
    return _bounded(occupancy, sums, _exact_loss(occupancy, sums))


def _baseline(request: Request) -> Proposal:
    occupancy, target = request.occupancy, request.target or Fraction(1, 2)
    sums, charged = baseline_sums(occupancy, request.value_ranges, request.epsilon, target)
    sums = safeguarded(occupancy, sums, request.epsilon, target, request.budgets)
    return _bounded(occupancy, sums, charged if any(sums[0].inverse_scale) else Fraction(0))


def _bounded(occupancy: Occupancy, sums: list[NoisySum], charged: Fraction) -> Proposal:
    bound = planner.lower_bound(occupancy, sums)
    return Proposal(sums, charged, bound, float(charged) / bound - 1 if bound else 0.0)


def _exact_loss(occupancy: Occupancy, sums: list[NoisySum]) -> Fraction:
    return loss_as_fraction(max(user_losses(occupancy, sums)))


_MECHANISMS: dict[str, Callable[[Request], Proposal]] = {
    "baseline": _baseline,
    "clip-user": _clip_user,
    "exact": _exact,
    "planned": _planned,
}
COMPARED = tuple(_MECHANISMS)
