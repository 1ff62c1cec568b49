"""An adversary who knows all but one user's values tries to tell all-low from all-high by the noisy map of a day."""

import os
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from distinguishing import bound_of_ratios

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import PURE, Concentrated, Currency
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.charges import charges
from dpmath.estimate.day import Day
from dpmath.estimate.design import RADIUS
from dpmath.estimate.measurement import NOISE_OF, Measurement, Norm
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import Measured, PrivateDay
from dpmath.noise.sampling import NOISES

pytestmark = [pytest.mark.statistical, pytest.mark.theorem("HV-L52")]

N_DRAWS = 20_000
FALSE_ALARM = 1e-9
N_USERS, N_HEXAGONS, N_SLOTS, VALUE_RANGE = 8, 5, 4, 1000
DELTA = 1e-4
CURRENCY: dict[Norm, Currency] = {"l1": PURE, "l2": Concentrated(Decimal("1e-4"))}


def a_day() -> Day:
    """Return a day on which each user is in every other cell; all of it is public."""
    n_cells = N_HEXAGONS * N_SLOTS
    cell, user = (one.ravel() for one in np.meshgrid(np.arange(n_cells), np.arange(N_USERS), indexing="ij"))
    met = (cell + user) % 2 == 0
    records = 1 + (3 * cell[met] + user[met]) % 4
    place = np.arange(N_HEXAGONS)
    return Day(
        Occupancy(cell[met], user[met], records, n_cells, N_USERS),
        hexagon=np.arange(n_cells) // N_SLOTS,
        slot=np.arange(n_cells) % N_SLOTS,
        names=place,
        position=np.column_stack([place, place % 2, 0 * place]).astype(float),
        spacing=1.0,
        n_slots=N_SLOTS,
    )


def map_and_totals(norm: Norm, epsilon: float) -> tuple[Measurement, np.ndarray]:
    """Return the measurement of the map, made as on any first day, and the values' totals.

    Noise before it is drawn once. By chance the centre may be put at a bound; then one of the two sums does not move.
    """
    day, limit = a_day(), CURRENCY[norm].within(Decimal(str(epsilon)))
    occupancy = day.occupancy
    totals = occupancy.n_records * (300 + 20 * (occupancy.cell % 7))
    radius = np.full(N_USERS, RADIUS, dtype=np.int64)
    asked = Asked(day, VALUE_RANGE, radius, {one.name: one for one in charges(True, limit, norm)}, norm)
    private, asking = PrivateDay(occupancy, totals, 0 * totals), programme(None, asked)
    question, before = next(asking), np.random.default_rng(1)
    measured = []
    while len(measured) < 2:  # the second measurement is that of the map
        if isinstance(question, Measured):
            measured.append(question.measurement)
        question = asking.send((question, question.noisy(private, before.bytes)))
    return measured[1], totals


def sums_of(measurement: Measurement, totals: np.ndarray, value: int) -> np.ndarray:
    """Return the sums before noise, with every value of the first user as given."""
    occupancy = measurement.occupancy
    changed = np.where(occupancy.user == 0, occupancy.n_records * value, totals)
    return measurement.answers(changed).vector.sum(axis=0)


def log_likelihood(noise: np.ndarray, norm: Norm, scale: float) -> np.ndarray:
    """Return the log likelihood of noise, but for a constant, summed over the queries."""
    size = np.abs(noise) / scale
    return -(size if norm == "l1" else size**2 / 2).sum(axis=1)


def bound_on_epsilon(low: np.ndarray, high: np.ndarray, inverse_scale: int, norm: Norm) -> float:
    """Return what epsilon is at least at DELTA: the events are that the likelihood ratio passes a threshold."""
    ratios, scale = [], LOSS_UNITS / inverse_scale
    for sums in (low, high):
        scales = np.full(N_DRAWS * low.size, inverse_scale, dtype=object)
        noise = np.array(NOISES[NOISE_OF[norm]](scales, os.urandom), dtype=float).reshape(N_DRAWS, -1)
        seen = sums + noise
        ratios.append(log_likelihood(seen - low, norm, scale) - log_likelihood(seen - high, norm, scale))
    return bound_of_ratios(ratios, DELTA, FALSE_ALARM)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_adversary_learns_no_more_of_a_map_than_claimed_and_more_if_the_noise_is_a_quarter(norm: Norm) -> None:
    """Each bound is wrong once in 1e9 runs. The claim is what the account charges a user for the map alone."""
    measurement, totals = map_and_totals(norm, 3.0)
    currency = CURRENCY[norm]
    claimed = float(currency.epsilon(max(measurement.losses(currency))))
    low, high = (sums_of(measurement, totals, value) for value in (0, VALUE_RANGE))
    moved = np.abs(high - low).sum() if norm == "l1" else np.sqrt(((high - low) ** 2).sum())
    assert 1.2 * RADIUS < moved <= 2 * RADIUS, "the user moves the sums far, and never beyond a diameter"
    assert 0.1 * claimed < bound_on_epsilon(low, high, measurement.inverse_scale, norm) <= claimed
    assert bound_on_epsilon(low, high, 4 * measurement.inverse_scale, norm) > claimed


def test_all_of_a_user_is_in_the_ball_also_where_the_ball_is_smaller() -> None:
    measurement, totals = map_and_totals("l2", 3.0)
    smaller = replace(measurement, radius=measurement.radius // 4)
    low, high = (sums_of(smaller, totals, value) for value in (0, VALUE_RANGE))
    assert np.sqrt(((high - low) ** 2).sum()) <= RADIUS / 2
