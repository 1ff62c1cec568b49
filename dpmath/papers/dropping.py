"""CPL's own release: suppressed records are dropped, and means and variances are of the records kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNITS, ExactIntArray, exact_integers
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.papers.sensitivity import FloatArray, mean_sensitivity, variance_sensitivity, variance_shares

Statistic = Literal["mean", "variance"]


@dataclass(frozen=True)
class CellRelease:
    """What every cell releases, and at which loss.

    Attributes:
        epsilon: Privacy loss of one cell, > 0, in equal parts on its statistics.
        upper: Upper bound U of a value, > 0; the lower is 0.
        statistics: Which are released: the mean, the variance, or both.

    Raises:
        ValueError: An argument is outside its range.
    """

    epsilon: _check.Number
    upper: _check.Number
    statistics: Sequence[Statistic] = ("mean", "variance")

    def __post_init__(self) -> None:
        """Check what every function below relies on."""
        _check.positive(epsilon=self.epsilon, upper=self.upper)
        names = list(self.statistics)
        if not names or len(set(names)) < len(names) or not set(names) <= set(get_args(Statistic)):
            raise ValueError(f"statistics={names} must be some of {get_args(Statistic)}, each once")

    def errors(self, cell_records: NDArray[Any], kept_records: NDArray[Any], largest: NDArray[Any]) -> FloatArray:
        """Return the cells' worst-case errors as in (13): the biases plus the mean absolute Laplace noise.

        It is called for every suppression, so the counts are not checked; an emptied cell counts as one with one
        record kept.

        Args:
            cell_records: Records N of each cell, shape (n,).
            kept_records: Records kept, shape (n,).
            largest: Most records kept of one user, shape (n,).

        Returns:
            The sum of the errors of the statistics: those in U and those in U^2 are added as numbers, shape (n,).
        """
        dropped, kept_records = cell_records - kept_records, np.maximum(kept_records, 1)
        upper, noise = float(self.upper), len(self.statistics) / float(self.epsilon)
        errors = np.zeros(len(cell_records))
        if "mean" in self.statistics:
            errors += upper * (dropped / cell_records + noise * (largest / kept_records))
        if "variance" in self.statistics:
            bias, sensitivity = variance_shares(dropped, cell_records), variance_shares(largest, kept_records)
            errors += upper**2 * (bias + noise * sensitivity)
        return errors


def dropped_errors(occupancy: Occupancy, n_kept: IntArray, release: CellRelease) -> FloatArray:
    """Return each cell's worst-case error E_g, from dropped records and from noise.

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        n_kept: Records kept of each pair, shape (P,), from 0 to ``n_records``; some in every cell.
        release: What every cell releases.

    Returns:
        The sum over the released statistics: errors in U and in U^2 are added as numbers, shape (G,).

    Raises:
        ValueError: ``n_kept`` is outside its range or empties a cell.

    Source:
        CPL-E13.
    """
    return release.errors(occupancy.cell_records, *_kept_and_largest(occupancy, n_kept))


def dropped_numerators(
    occupancy: Occupancy, n_kept: IntArray, totals: ExactIntArray, squares: ExactIntArray
) -> dict[Statistic, ExactIntArray]:
    """Return what the release adds noise to, as exact integers: n times the mean, and n^2 times the variance.

    n is the number of records kept in the cell. A release of the paper is the noisy numerator over n or n^2.

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        n_kept: Records kept of each pair, shape (P,), from 0 to ``n_records``; some in every cell.
        totals: Sum of the values of each pair's kept records, in ticks, Python integers, shape (P,).
        squares: Sum of their squares, in ticks squared, Python integers, shape (P,).

    Returns:
        The sum S of the kept values, and n times the sum of their squares less S^2, of shape (G,) each.

    Raises:
        ValueError: A shape is wrong, or ``n_kept`` is outside its range or empties a cell.

    Source:
        CPL-P5.1, HV-L21.
    """
    _check.same_length(n_kept=n_kept, totals=totals, squares=squares)
    kept_records, _ = _kept_and_largest(occupancy, n_kept)
    sums = occupancy.cell_sums(totals)
    return {"mean": sums, "variance": exact_integers(kept_records) * occupancy.cell_sums(squares) - sums**2}


def dropped_inverse_scales(
    occupancy: Occupancy, n_kept: IntArray, release: CellRelease
) -> dict[Statistic, ExactIntArray]:
    """Return LOSS_UNITS over the scale of the noise that the release's numerators need.

    With ``sampling.discrete_laplace`` of these, a cell costs every user at most ``release.epsilon``.

    Args:
        occupancy: The occupancy array, P pairs in G cells.
        n_kept: Records kept of each pair, shape (P,), from 0 to ``n_records``; some in every cell.
        release: What every cell releases, ``upper`` a whole number of ticks.

    Returns:
        For each released statistic the inverse scales, rounded down, shape (G,).

    Raises:
        ValueError: ``n_kept`` or ``release.upper`` is outside its range, or a scale is beyond what can be drawn.

    Source:
        CPL-P5.1, HV-L21.
    """
    kept_records, largest = _kept_and_largest(occupancy, n_kept)
    if release.upper != int(release.upper):
        raise ValueError(f"upper={release.upper} must be a whole number of ticks")
    loss = LOSS_UNITS * Fraction(release.epsilon) / len(release.statistics)
    scales: dict[Statistic, ExactIntArray] = {}
    for name in release.statistics:
        sensitivity, power = (mean_sensitivity, 1) if name == "mean" else (variance_sensitivity, 2)
        cells = zip(largest.tolist(), kept_records.tolist(), strict=True)
        moved = [int(sensitivity(m, n, int(release.upper)) * n**power) for m, n in cells]
        scales[name] = np.array([_inverse_scale(loss, most) for most in moved], dtype=object)
    return scales


def _inverse_scale(loss: Fraction, most: int) -> int:
    """Return loss / most, rounded down. A numerator that cannot move gets the finest noise."""
    inverse_scale = int(loss / most) if most else LARGEST_INVERSE_SCALE
    if inverse_scale < 1:
        raise ValueError(f"a sensitivity of {most} needs noise beyond 2^50 ticks: take a larger tick or epsilon")
    return min(inverse_scale, LARGEST_INVERSE_SCALE)


def _kept_and_largest(occupancy: Occupancy, n_kept: IntArray) -> tuple[IntArray, IntArray]:
    """Return each cell's number of records kept, and the most of one user."""
    _check.same_length(n_kept=n_kept, n_records=occupancy.n_records)
    _check.all_at_least(0, n_kept=n_kept, dropped_records=occupancy.n_records - n_kept)
    kept_records = occupancy.cell_sums(n_kept)
    if not kept_records.all():
        raise ValueError(f"n_kept must leave a record in every cell, not none in cell {kept_records.argmin()}")
    return kept_records, np.maximum.reduceat(n_kept, occupancy.cell_start[:-1])
