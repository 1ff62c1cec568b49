"""What a day is expected to be worth, before it is asked: as a state knows it, or by the prior and a spread alone.

All of it is public. It decides nothing and asks nothing: it is for choosing a grid and a budget.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dpmath.estimate import shrinkage
from dpmath.estimate.asked import Asked
from dpmath.estimate.day import FloatArray
from dpmath.estimate.design import RADIUS, design, parts
from dpmath.estimate.directions import Directions, directions
from dpmath.estimate.posterior import Estimate, solved, told_by
from dpmath.estimate.questions import SHARE_BITS
from dpmath.estimate.state import POINTS, State, first_state
from dpmath.estimate.taken import Taken
from dpmath.estimate.view import View, scale_of

USUAL_DEVIATION = POINTS / 8
"""How far users' means are expected to be from each other before anything was asked, in points."""
_CENTRE = POINTS / 2
_LENGTH_VARIANCE = 0.15
_ROUNDS = 3
_NORMAL_MEAN = float(np.sqrt(2 / np.pi))


def expected_deviation(state: State, asked: Asked) -> tuple[FloatArray, FloatArray]:
    """Return what each cell of a later day is expected to have: its standard deviation, and the day's share in it.

    Args:
        state: The state before the day.
        asked: The day, and what each question may cost.

    Returns:
        The standard deviations in points, shape (G,), and how much of the variance before the day its own data remove,
        from 0 to 1, shape (G,).

    Source:
        HV-E3.
    """
    return next(expected_deviations(state, [asked]))


def expected_deviations(state: State, asked: Sequence[Asked]) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the same for one day under several charges, which takes less time than one after the other.

    Args:
        state: The state before the day.
        asked: The day, with each of the charges.

    Source:
        HV-E3.
    """
    day = asked[0].day
    view = View.of(day, state.later(asked[0].n_days).with_hexagons(day), asked[0].covariates)
    found = directions(view)
    for one in asked:
        after = _as_expected(view, one, "map", found)
        yield np.sqrt(after.variance), np.clip(1 - after.variance / after.variance_before, 0.0, 1.0)


def _as_expected(view: View, asked: Asked, name: str, found: Directions | None = None) -> Estimate:
    """Return the estimate of a day whose measurement tells what is expected of it."""
    noise = asked.noise(name) / RADIUS
    meant = design(view, asked.norm, noise, asked.reach, found)
    part = parts(view, meant.loading, meant.fields, asked.norm)
    kept = shrinkage.kept(view.state.shrink, meant.length, part)
    meant = replace(meant, loading=meant.loading * kept.share)
    nothing = np.zeros(meant.loading.shape[1])
    taken = Taken(meant, nothing, noise, nothing, kept.error)
    told = told_by(view, [taken])
    as_expected = told.seen.T @ view.today.mean
    return solved(view, replace(told, sums=as_expected), [replace(taken, expected=as_expected)])


def first_deviations(asked: Asked) -> tuple[FloatArray, FloatArray]:
    """Return what a first day is expected to be worth, if values are as they are guessed to be.

    Args:
        asked: The day, what each question may cost, and what is guessed of values.

    Returns:
        The standard deviation that each cell is expected to have, and its deviation about the mean of all records,
        which the best constant errs by; both in points, shape (G,).

    Source:
        HV-E3.
    """
    guess = asked.guess
    noise = asked.share_of("centre", 0, 1 << SHARE_BITS)[1] * POINTS
    variance = guess.deviation**2 * noise**2 / (guess.deviation**2 + noise**2)
    prior = prior_state(asked, guess.spread)
    state = replace(prior, centre=guess.centre, centre_variance=variance)
    coarse = _as_expected(View.of(asked.day, state, asked.covariates), asked, "coarse")
    after = _as_expected(View.of(asked.day, coarse.state, asked.covariates), asked, "map")
    return np.sqrt(after.variance), constant_deviation(prior, asked)


def prior_state(asked: Asked, deviation: float) -> State:
    """Return what would be known if nothing had been released, and the values' scale were known.

    Args:
        asked: The day.
        deviation: How far users' means in cells are from the values' centre, in points.

    Source:
        HV-E4.
    """
    scale = scale_of(asked.day.occupancy, deviation)
    return first_state(asked.day, asked.basis, _CENTRE, 0.0, scale, _LENGTH_VARIANCE)


def constant_deviation(state: State, asked: Asked) -> FloatArray:
    """Return the standard deviation of each cell's mean about the mean of all records, in points, shape (G,).

    It is what the best constant errs, before anything is measured. The state must be one of ``prior_state``, whose
    coefficients are independent.

    Source:
        HV-E3.
    """
    view = View.of(asked.day, state, asked.covariates)
    rows, records = view.rows, asked.day.occupancy.cell_records.astype(float)
    variances = state.lasting + state.of_the_day
    mean_row = rows.transposed_times(records / records.sum(), state.n_hexagons)
    about_mean = rows.diagonal_variances(variances) - 2 * rows.times(variances * mean_row)
    residual = np.bincount(
        asked.day.occupancy.cell, view.share_of_cell**2 * view.residual_variance, asked.day.occupancy.n_cells
    )
    own = view.cell_variance + residual
    return np.sqrt(np.maximum(about_mean + float(variances @ mean_row**2), 0.0) + own)


def error_of(deviation: FloatArray, asked: Asked) -> float:
    """Return the expected absolute error over all records, in points, of normal errors in cells.

    Args:
        deviation: The standard deviation in each cell, in points, shape (G,).
        asked: The day.

    Source:
        HV-E3.
    """
    return _NORMAL_MEAN * float(np.average(deviation, weights=asked.day.occupancy.cell_records))


def deviation_of_spread(spread: float, asked: Asked) -> float:
    """Return the deviation of users at which a constant would err so much on a day.

    Args:
        spread: The expected absolute error of the best constant over all records, in points, > 0.
        asked: The day.

    Source:
        HV-E3.
    """
    deviation = USUAL_DEVIATION
    for _ in range(_ROUNDS):  # nearly proportional: the bounds of the values alone bend it
        deviation *= spread / error_of(constant_deviation(prior_state(asked, deviation), asked), asked)
    return deviation


def prospects(asked: Sequence[Asked], deviation: float) -> Iterator[FloatArray]:
    """Yield the standard deviation that each cell of one day is expected to have, under several charges.

    Args:
        asked: The day, with the charges of each question of a day that is not the first.
        deviation: How far users' means in cells are from the values' centre, in points.

    Source:
        HV-E3.
    """
    for of_cells, _ in expected_deviations(prior_state(asked[0], deviation), asked):
        yield of_cells
