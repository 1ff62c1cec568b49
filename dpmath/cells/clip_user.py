"""From the occupancy array to a plan: which cells, which clipping intervals, which noise scales."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.cells.safeguard import promise_or_midpoint, safeguarded
from dpmath.cells.suppression import clip_user
from dpmath.cells.thresholds import clipped_errors, clipping_thresholds, threshold_rank
from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, exact_integers
from dpmath.core.occupancy import IntArray, Occupancy

_GRID = 32
_BISECTIONS = 12


@dataclass(frozen=True)
class _Trial:
    """CLIP-USER and optimal clipping at one per-cell epsilon."""

    cell_epsilon: float
    kept: NDArray[np.bool_]
    thresholds: IntArray
    worst_loss: float
    worst_error: float

    @property
    def rank(self) -> tuple[int, float]:
        """Order trials: the most cells published, then the least worst error."""
        return int((self.thresholds > 0).sum()), -self.worst_error


def clip_user_sums(
    occupancy: Occupancy,
    value_ranges: list[int],
    epsilon: Fraction,
    target: Fraction | None = None,
    budgets: ExactIntArray | None = None,
) -> list[ClippedSum]:
    """Return the clipping intervals and noise scales of CLIP-USER followed by optimal clipping.

    Every published cell and sum gets the same privacy loss. It is searched so that the exact loss of the worst
    user meets ``epsilon``. A cell that has too few users, or cannot keep the promise ``target``, is withheld: its
    widths and inverse scale are 0, and it costs no user anything. A user whose budget is below the resulting loss
    is clipped harder, in proportion. Cells whose promise this breaks are withheld.

    Args:
        occupancy: The occupancy array, P pairs, G cells, L users. It is the only data that is read.
        value_ranges: Largest value R of a record in each sum to publish, in ticks (the least is 0).
        epsilon: The most that any user may lose by the release, > 0.
        target: Promised worst-case error of each cell's mean, as a share of R, which is CLIP-USER's bound E;
            None takes the paper's bound, the largest error of any cell before suppression. No promise is
            ever worse than 1/2, which the midpoint keeps without reading any data.
        budgets: What each user may still lose, in units of 1/LOSS_UNITS, shape (L,); None is no limit.

    Returns:
        One ClippedSum for each value range, all with the same cells published.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        CPL-A1, BUCv-T1, HV-L1.
    """
    _check.positive(epsilon=epsilon, **({} if target is None else {"target": target}))
    _check.all_at_least(1, value_ranges=np.array(value_ranges))
    trial = _best_trial(occupancy, len(value_ranges), float(epsilon), target)
    sums = [_noisy_sum(occupancy, trial, value_range, epsilon) for value_range in value_ranges]
    return safeguarded(occupancy, sums, epsilon, _no_worse_than_midpoint(target), budgets)


def _no_worse_than_midpoint(target: Fraction | None) -> Fraction:
    return min(promise_or_midpoint(target), Fraction(1, 2))


def _best_trial(occupancy: Occupancy, n_sums: int, epsilon: float, target: Fraction | None) -> _Trial:
    """Search the per-cell epsilon: the loss of the worst user is not monotone in it, so scan, then bisect."""
    most_cells = int(np.bincount(occupancy.user, minlength=1).max())
    grid = np.geomspace(epsilon / (n_sums * most_cells), epsilon / n_sums, _GRID)
    trials = [_trial(occupancy, n_sums, value, target) for value in grid]
    feasible = [trial for trial in trials if trial.worst_loss <= epsilon * (1 + 1e-9)]
    best = max(feasible, key=lambda trial: trial.rank)
    low = best.cell_epsilon
    high = next((value for value in grid if value > low), low)
    for _ in range(_BISECTIONS):
        trial = _trial(occupancy, n_sums, math.sqrt(low * high), target)
        if trial.worst_loss <= epsilon:
            low, best = trial.cell_epsilon, max(best, trial, key=lambda one: one.rank)
        else:
            high = trial.cell_epsilon
    return best


def _trial(occupancy: Occupancy, n_sums: int, cell_epsilon: float, target: Fraction | None) -> _Trial:
    everyone = np.ones(occupancy.cell.size, dtype=bool)
    thresholds = clipping_thresholds(occupancy, everyone, cell_epsilon)
    promise = float(_no_worse_than_midpoint(target))
    carried = (thresholds > 0) & (clipped_errors(occupancy, everyone, thresholds, cell_epsilon) <= promise)
    kept = carried[occupancy.cell]
    if carried.any():
        largest = _largest_error(occupancy, carried, cell_epsilon)
        bound = promise if target is not None else min(promise, largest)
        kept = clip_user(occupancy, kept, cell_epsilon, bound, threshold_rank(cell_epsilon))
        thresholds = clipping_thresholds(occupancy, kept, cell_epsilon)
    thresholds = np.where(carried, thresholds, 0)
    shares = np.minimum(thresholds[occupancy.cell], occupancy.n_records) * kept
    shares = shares / np.maximum(thresholds[occupancy.cell], 1)
    loss = n_sums * cell_epsilon * np.bincount(occupancy.user, shares, minlength=1).max()
    errors = clipped_errors(occupancy, kept, thresholds, cell_epsilon)[carried]
    return _Trial(cell_epsilon, kept, thresholds, float(loss), float(errors.max(initial=0.0)))


def _largest_error(occupancy: Occupancy, carried: NDArray[np.bool_], cell_epsilon: float) -> float:
    """Return the paper's own bound E: the largest error of a cell that nothing is suppressed in."""
    return float((occupancy.cell_largest / occupancy.cell_records)[carried].max() / cell_epsilon)


def _noisy_sum(occupancy: Occupancy, trial: _Trial, value_range: int, epsilon: Fraction) -> ClippedSum:
    """Return the exact widths R min(T, m), and scales R T / cell_epsilon cut to what ``epsilon`` allows."""
    thresholds = exact_integers(trial.thresholds)
    capped = np.minimum(trial.thresholds[occupancy.cell], occupancy.n_records) * trial.kept
    cell_epsilon = Fraction(trial.cell_epsilon)
    if trial.worst_loss:
        cell_epsilon *= epsilon / Fraction(trial.worst_loss)
    scale = [int(LOSS_UNITS * cell_epsilon / (value_range * t)) if t else 0 for t in thresholds]
    return ClippedSum(value_range, value_range * exact_integers(capped), np.array(scale, dtype=object))
