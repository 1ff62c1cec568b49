"""Nothing in an estimate is made for speeds: quantities of other shapes are estimated as well, with nothing set.

The days are made: 20 hexagons in a row, 8 slots, 70 users. What is asked for is four or more standard deviations of a
run below the mean of eight runs with other noise; here noise is drawn once. Intervals of a quarter of the width are
shown not to hold.
"""

from decimal import Decimal

import numpy as np
import pytest

from dpmath.core.currency import Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.asking import ask
from dpmath.estimate.charges import charges
from dpmath.estimate.day import Day
from dpmath.estimate.design import RADIUS
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import PrivateDay
from dpmath.estimate.state import State

pytestmark = [pytest.mark.statistical, pytest.mark.theorem("HV-E3")]

N_HEXAGONS, N_SLOTS, N_USERS, N_DAYS, VALUE_RANGE = 20, 8, 70, 3, 10_000
EPSILON = Decimal(10)


def a_day(rng: np.random.Generator) -> Day:
    """Return a day on which each user goes along some of the hexagons."""
    pairs: dict[tuple[int, int], int] = {}
    for user in range(N_USERS):
        place = rng.integers(N_HEXAGONS)
        for slot in range(N_SLOTS):
            for _ in range(3):
                place = np.clip(place + rng.integers(-1, 2), 0, N_HEXAGONS - 1)
                pairs[int(place * N_SLOTS + slot), user] = int(rng.integers(1, 9))
    cell, user = np.array(sorted(pairs)).T
    named, cell = np.unique(cell, return_inverse=True)
    place = np.arange(N_HEXAGONS)
    return Day(
        Occupancy(cell, user, np.array([pairs[key] for key in sorted(pairs)]), named.size, N_USERS),
        hexagon=named // N_SLOTS,
        slot=named % N_SLOTS,
        names=place,
        position=np.column_stack([place, 0 * place, 0 * place]).astype(float),
        spacing=1.0,
        n_slots=N_SLOTS,
    )


def shares(quantity: str, day: Day, rng: np.random.Generator) -> np.ndarray:
    """Return each pair's mean as a share of the range."""
    occupancy = day.occupancy
    slot, n_records = day.slot[occupancy.cell], occupancy.n_records
    level = np.sin(2.1 * np.arange(N_HEXAGONS))[day.hexagon[occupancy.cell]]
    course, noise = np.sin(2 * np.pi * slot / N_SLOTS), rng.normal(size=slot.size)
    return {
        "temperature": 0.5 + 0.02 * level + 0.06 * course + 0.03 * rng.normal() + 0.01 * noise,
        "noise level": 0.55 + 0.08 * level + 0.06 * course + 0.05 * noise,
        "particulates": 0.05 * np.exp(0.5 * level + 0.4 * course + 0.6 * noise),
        "counts near zero": rng.poisson(np.exp(0.6 * level) * n_records) / n_records / 40,
        "a constant": np.full(slot.size, 0.37),
    }[quantity]


def last_of_some_days(quantity: str) -> tuple[Estimate, np.ndarray, np.ndarray]:
    """Return the last day's estimate, its true means in points, and its cells' records."""
    rng, state = np.random.default_rng(3), None
    for _ in range(N_DAYS - 1):
        state = estimated(quantity, state, rng)[0].state
    return estimated(quantity, state, rng)


def estimated(quantity: str, state: State | None, rng: np.random.Generator) -> tuple[Estimate, np.ndarray, np.ndarray]:
    """Return the next day's estimate, its true means in points, and its cells' records."""
    day, limit = a_day(rng), Concentrated(Decimal("1e-6")).within(EPSILON)
    occupancy = day.occupancy
    most = VALUE_RANGE * occupancy.n_records
    totals = np.clip(np.rint(shares(quantity, day, rng) * most), 0, most).astype(np.int64)
    of_day = {one.name: one for one in charges(state is None, limit, "l2")}
    asked = Asked(day, VALUE_RANGE, np.full(N_USERS, RADIUS, dtype=np.int64), of_day, "l2")
    found, _ = ask(programme(state, asked), PrivateDay(occupancy, totals, 0 * totals), rng.bytes)
    truth = np.bincount(occupancy.cell, totals) / occupancy.cell_records * 100 / VALUE_RANGE
    return found, truth, occupancy.cell_records.astype(float)


def covered(found: Estimate, truth: np.ndarray, width: float = 1.0) -> float:
    """Return the share of cells whose interval, as wide as given, holds the true mean."""
    return float((np.abs(truth - found.mean) <= width * 1.96 * np.sqrt(found.variance)).mean())


LEAST_SKILL = {"temperature": 0.8, "noise level": 0.7, "particulates": 0.5, "counts near zero": 0.4}


@pytest.mark.quick(2)
@pytest.mark.parametrize("quantity", LEAST_SKILL)
def test_a_quantity_of_any_shape_is_estimated_better_than_by_its_mean(quantity: str) -> None:
    found, truth, records = last_of_some_days(quantity)
    constant = np.average(truth, weights=records)
    squares = [np.average((guess - truth) ** 2, weights=records) for guess in (found.mean, constant)]
    assert 1 - squares[0] / squares[1] > LEAST_SKILL[quantity]
    assert covered(found, truth) > 0.8
    assert covered(found, truth, 0.25) < 0.75


def test_a_constant_is_found_to_within_a_per_cent_of_the_range() -> None:
    found, truth, _ = last_of_some_days("a constant")
    assert np.abs(found.mean - truth).max() < 2.5
    assert np.abs(found.mean - truth).mean() < 0.7
    assert covered(found, truth) > 0.8
