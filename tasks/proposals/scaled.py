"""Plan under zCDP: a mechanism plans for pure losses, which are scaled up until the worst user's rho meets its limit.

A user who loses x_1, ..., x_K in K cells has a pure loss of their sum, and a rho of half the sum of their squares. So a
pure limit of sqrt(2 rho) is always safe, and up to sqrt(K) times too strict. Where intervals are drawn it is up to
twice that, because the exponential mechanism costs a quarter of what its pure loss says. How much the limit may be
raised depends on how the mechanism spreads losses over cells. So the factor is searched for, and each candidate's rho
is computed exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray
from dpmath.core.cell_sums import CellSums, user_losses
from dpmath.core.currency import PURE
from tasks.proposals.request import Proposal, Request

_MOST_PLANS = 8
_NEAR = 0.995
_STEP_BACK = 0.999
"""Aims a little below the limit, so that rounding to integers does not cost another plan."""


@dataclass(frozen=True)
class _Candidate:
    factor: float
    sums: list[CellSums]
    loss: int
    share: float
    worth: int


def scaled_proposal(proposes: Callable[[Request], Proposal], request: Request) -> Proposal:
    """Return a mechanism's proposal for the largest factor found that every user's limit allows.

    Args:
        proposes: Makes a proposal for a request in pure losses.
        request: The request, whose limits are losses in its own currency.

    Returns:
        The proposal. The planner's bounds are for pure losses, so it has none.

    Source:
        HV-L48, HV-L49, HV-L50.
    """
    limits = _limits(request)
    best = last = _candidate(1.0, proposes, request, limits)
    low, high = 1.0, _largest_factor(request)
    for _ in range(_MOST_PLANS - 1):
        if low * 1.005 >= high or best.share > _NEAR:
            break
        aimed = last.factor * _STEP_BACK / sqrt(last.share) if last.share else high
        last = _candidate(aimed if low < aimed < high else sqrt(low * high), proposes, request, limits)
        if last.share > 1:
            high = last.factor
            continue
        low, is_the_same = last.factor, (last.share, last.worth) == (best.share, best.worth)
        if last.worth >= best.worth:
            best = last
        if best.share and is_the_same:
            break  # the mechanism asks for no more
    return Proposal(best.sums, best.loss, None, None)


def _limits(request: Request) -> ExactIntArray:
    """Return what each user may lose by the release, in the request's currency, shape (L,)."""
    most = np.full(request.occupancy.n_users, request.currency.within(request.epsilon), dtype=object)
    return most if request.budgets is None else np.maximum(np.minimum(most, request.budgets), 0)


def _largest_factor(request: Request) -> float:
    """Return the factor beyond which a user who spends a whole pure limit passes the limit of rho in any case."""
    most_cells = int(np.bincount(request.occupancy.user).max())
    by_intervals = 1 if request.cell_epsilon is None else 2
    return max(by_intervals * sqrt(most_cells * len(request.value_ranges)), 1.01)


def _candidate(
    factor: float, proposes: Callable[[Request], Proposal], request: Request, limits: ExactIntArray
) -> _Candidate:
    currency, exact_factor = request.currency, Fraction(factor)
    budgets = np.array([int(currency.pure_within(limit) * exact_factor) for limit in limits], dtype=object)
    largest = int(currency.pure_within(currency.within(request.epsilon)) * exact_factor)
    proposal = proposes(replace(request, currency=PURE, epsilon=Fraction(largest, LOSS_UNITS), budgets=budgets))
    sums = [_with_noise(one, request.noise) for one in proposal.sums]
    losses = user_losses(request.occupancy, sums, currency)
    shares = (float(Fraction(int(losses[user]), int(limits[user]) or 1)) for user in np.flatnonzero(losses))
    share = max(shares, default=0.0)
    worth = int(request.worth[sums[0].published].sum())
    return _Candidate(factor, sums, max(losses), share if share > 1 or (losses <= limits).all() else 2.0, worth)


def _with_noise(sums: CellSums, noise: str) -> CellSums:
    return replace(sums, noise=noise) if isinstance(sums, ClippedSum) else sums
