"""What to measure of a day: the directions in which the map is most uncertain, each as finely as pays.

What is published is the mean over records. So what is measured are, for direction d, sums over pairs of
(value - expected) records d(stratum). A ball of l2 norm does not change if directions are rotated, so one may choose
directions that are independent before the day, and share the ball among them: that is "reverse water-filling". Nothing
here decides about privacy.
"""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from dpmath.core.occupancy import IntArray
from dpmath.estimate import shrinkage
from dpmath.estimate.day import FloatArray
from dpmath.estimate.directions import Directions, directions
from dpmath.estimate.measurement import Measurement, Norm, user_sums
from dpmath.estimate.sharing import shared_l1, shared_l2
from dpmath.estimate.state import POINTS
from dpmath.estimate.taken import Design
from dpmath.estimate.view import View
from dpmath.estimate.whole import RADIUS, OfPairs, in_whole_numbers

MOST_CELLS = 400
"""Of how many cells an l1 ball may have a part of its own: those that hold the most records."""
_PARTS_OF_L1 = (1.0, 0.7, 0.4, 0.1, 0.0)
"""Which shares of an l1 ball are tried for directions; the rest is for cells."""
_LEAST_LENGTH = 1e-6
_AT_ONCE = 64
"""So many queries are squared together: fresh memory for all costs more than the numbers in it."""
_L1_MEAN = np.sqrt(2 / np.pi)


def design(view: View, norm: Norm, noise: float, reach: FloatArray, found: Directions | None = None) -> Design:
    """Return what to measure for the least expected error of the map.

    A user's vector counts each pair by its records, because what is published is the mean over records. A user whose
    vector would be longer than those of others counts for less as a whole.

    Args:
        view: The day.
        norm: The norm of the balls.
        noise: Standard deviation of the noise, in radii of the ball.
        reach: Radius of each user's ball, as a share of the full radius, shape (L,).
        found: The view's directions, if they are known. To find them takes most of the time.

    Source:
        HV-E2.
    """
    occupancy, among = view.day.occupancy, found or directions(view)
    n_users = max(1, occupancy.n_users)
    length, unit = _length(view, among, norm, noise)
    loading = (_in_l2 if norm == "l2" else _in_l1)(view, among, unit)
    fields = among.fields[:, among.variance[: among.fields.shape[1]] > n_users / 4]
    lengths = _lengths(view, loading, fields, norm)
    least = max(float(lengths.max(initial=0.0)), 1e-300) * _LEAST_LENGTH  # a user whom no question concerns has none
    of_users = np.where(lengths > least, length * reach / np.maximum(lengths, least), 0.0)
    weight = (of_users[occupancy.user] * occupancy.n_records).astype(np.float64)
    return Design(loading, weight, length, fields)


def _length(view: View, found: Directions, norm: Norm, noise: float) -> tuple[float, float]:
    """Return how long vectors are to be, in radii, and the variance of the noise for vectors of length 1 in all.

    Long vectors rise above the noise, but the balls cut more of them, and by half of that the map may be off. The
    length is that with the least sum of both errors.
    """
    n_users, mean_length = max(1, view.day.occupancy.n_users), 1.0 if norm == "l2" else _L1_MEAN
    cost, best = 1 + found.variance / n_users, (np.inf, 0.0, 0.0)
    for length, shrink in zip(*shrinkage.possible_lengths(view.state.shrink), strict=True):
        unit = float(noise / (shrink * length * mean_length)) ** 2 / n_users
        if norm == "l2":
            shared = shared_l2(found.gain, found.variance, unit, cost)
        else:
            shared = shared_l1(found.gain, found.variance, unit, cost) ** 2
        left = 1 / (1 + found.variance * shared / unit)
        error = float(found.gain @ (left + (1 - left) * (0.5 * (1 / shrink - 1)) ** 2))
        best = min(best, (error, float(length), unit))
    return best[1:]


def _in_l2(view: View, found: Directions, unit: float) -> FloatArray:
    """Return the loadings for l2 balls: directions, which a ball of l2 norm does not mind."""
    n_users = max(1, view.day.occupancy.n_users)
    shared = shared_l2(found.gain, found.variance, unit, 1 + found.variance / n_users)
    return found.loading(np.where(shared > 1e-5 * shared.max(), np.sqrt(shared), 0.0))


def _in_l1(view: View, found: Directions, unit: float) -> FloatArray:
    """Return the loadings for l1 balls: part directions, part cells, which concern few users.

    Of some parts, the one with the least expected error is taken.
    """
    occupancy, strata = view.day.occupancy, view.strata
    n_users, n_own = max(1, occupancy.n_users), np.bincount(occupancy.cell, minlength=occupancy.n_cells)
    cells = np.sort(np.argsort(-occupancy.cell_records, kind="stable")[:MOST_CELLS])
    records = occupancy.cell_records.astype(np.float64)
    energy = np.sqrt(strata.cell_sums(view.energy**2))
    best, least = np.zeros((strata.cell.size, 0)), np.inf
    for part in _PARTS_OF_L1:
        cost = 1 + found.variance / n_users
        weight = part * shared_l1(found.gain, found.variance, unit / max(part, 1e-9) ** 2, cost)
        told = found.variance * weight**2 / (found.variance * weight**2 + unit)
        left = np.maximum(view.state_variance - (found.of_cells**2 * told).sum(axis=1), 1e-9)
        variance = left[cells] * (records[cells] / energy[cells]) ** 2
        cost = n_own[cells] / n_users * (1 + variance / n_own[cells])
        gain = records[cells] * left[cells]
        own = (1 - part) * shared_l1(gain, variance, unit / max(1 - part, 1e-9) ** 2, cost)
        error = float(records @ left - gain @ (1 - 1 / (1 + variance * own**2 / unit)))
        if error < least:
            alone = np.zeros((occupancy.n_cells, cells.size))
            alone[cells, np.arange(cells.size)] = own / energy[cells]
            alone = alone[strata.cell][:, own > 0]
            best, least = np.column_stack([found.loading(weight), alone]), error
    return best


def parts(view: View, loading: FloatArray, fields: FloatArray, norm: Norm) -> FloatArray:
    """Return which part each component is expected to be of the square of a vector's length, or of it for l1.

    Args:
        view: The day.
        loading: Loading of each stratum in each query, shape (R, Q).
        fields: How strata move by the directions along which all vectors may be long, shape (R, n).
        norm: The norm of the balls.

    Returns:
        The mean over users, shape (Q,).

    Source:
        HV-E6.
    """
    squares = _squares(view, loading, fields)
    components = squares if norm == "l2" else np.sqrt(squares)
    whole = components.sum(axis=1)
    return (components / np.maximum(whole, 1e-300)[:, None]).sum(axis=0) / max(1, np.count_nonzero(whole))


def lengthened(before: View, after: View, moved: FloatArray, loading: FloatArray, norm: Norm) -> float:
    """Return how much longer users' vectors are now thought to have been: the mean over users of the log.

    Vectors were about what was expected of values before, so by what these are now found to be otherwise, they were
    longer.

    Args:
        before: A day as it was expected.
        after: The same day, with all that it told.
        moved: How far each stratum's value is found to be from what was expected, in points, shape (R,).
        loading: Loading of each stratum in each query, shape (R, Q).
        norm: The norm of the balls.

    Source:
        HV-E6.
    """
    occupancy, of_pair = before.day.occupancy, before.strata.of_pair
    known = user_sums(occupancy, occupancy.n_records * moved[of_pair], loading, of_pair)
    no_fields = np.zeros((len(loading), 0))
    was = _lengths(before, loading, no_fields, norm)
    now = _lengths(after, loading, no_fields, norm, known)
    some = was > 0
    return float(np.log(now[some] / was[some]).mean()) if some.any() else 0.0


def whole_numbers(
    design: Design, view: View, value_range: int, radius: IntArray, inverse_scale: int, norm: Norm
) -> Measurement:
    """Return a design for a view in whole numbers.

    Source:
        HV-L52.
    """
    centre = np.clip(np.rint(view.expected_of_strata * (value_range / POINTS)), 0, value_range).astype(np.int64)
    rows = OfPairs(view.day.occupancy, view.strata.of_pair, centre, value_range)
    return in_whole_numbers(design, rows, radius, inverse_scale, norm)


def as_measured(measurement: Measurement) -> Design:
    """Return the design that whole numbers stand for: what was measured, not what was meant.

    Source:
        HV-L52.
    """
    occupancy = measurement.occupancy
    scale = 2.0 ** -(measurement.pair_shift + measurement.shift) / RADIUS * (measurement.value_range / POINTS)
    weight = (measurement.weight * occupancy.n_records).astype(np.float64) * scale
    return Design(measurement.loading.astype(np.float64), weight)


def _squares(view: View, loading: FloatArray, fields: FloatArray) -> FloatArray:
    """Return the mean square of each component of each user's vector before it is scaled, shape (L, Q).

    Args:
        view: The day.
        loading: Loading of each stratum in each query, shape (R, Q).
        fields: What moves by large directions, shape (R, n).
    """
    spread, squares = _spread(view, fields), np.empty((view.day.occupancy.n_users, loading.shape[1]))
    for first in range(0, loading.shape[1], _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        squares[:, some] = user_sums(view.day.occupancy, spread, loading[:, some] ** 2, view.strata.of_pair)
    for moved in _moved(view, loading, fields):
        squares += moved**2
    return squares


def _spread(view: View, fields: FloatArray) -> FloatArray:
    """Return the variance of what each pair counts, apart from what moves all of a user's alike, shape (P,)."""
    strata = view.strata
    rest = view.state_variance[strata.cell] + strata.stay_variance(view.today)
    rest = np.maximum(rest - (fields**2).sum(axis=1), 0.0)
    own = view.residual_variance - view.alike_variance + rest[strata.of_pair]
    return np.asarray(view.day.occupancy.n_records.astype(np.float64) ** 2 * own)


def _moved(view: View, loading: FloatArray, fields: FloatArray) -> Iterator[FloatArray]:
    """Yield how each user's vector moves with what all its residuals share, and with each field, shape (L, Q) each."""
    occupancy, of_pair = view.day.occupancy, view.strata.of_pair
    for field in (np.sqrt(view.alike_variance), *fields[of_pair].T):
        yield user_sums(occupancy, occupancy.n_records * field, loading, of_pair)


def _lengths(
    view: View, loading: FloatArray, fields: FloatArray, norm: Norm, known: FloatArray | float = 0.0
) -> FloatArray:
    """Return how long each user's vector is expected to be: root mean square, or mean for l1, shape (L,).

    Args:
        view: The day.
        loading: Loading of each stratum in each query, shape (R, Q).
        fields: What moves by large directions, shape (R, n).
        norm: The norm of the balls.
        known: How each user's vector is known to have moved, shape (L, Q).
    """
    if norm == "l1":
        return _L1_MEAN * np.sqrt(_squares(view, loading, fields) + known**2).sum(axis=1)
    every = _square_sums(loading)[:, None]  # of a user's squares only the sum is needed
    squares = user_sums(view.day.occupancy, _spread(view, fields), every, view.strata.of_pair)[:, 0]
    for moved in chain(_moved(view, loading, fields), [np.atleast_2d(known)]):
        squares += _square_sums(moved)
    return np.sqrt(squares)


def _square_sums(rows: FloatArray) -> FloatArray:
    """Return the sum of the squares of each row, without memory for the squares: shape (n, m) to (n,)."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
