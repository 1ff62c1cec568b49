"""What is published is the mean over records, also where values go with how many records a user has in a cell.

Users wander among the hexagons of a made city. How many records a user leaves in a cell is log-normal; half of the
variance of its log is the user's, half the pair's. Values fall or rise with that log, with a correlation of 0.5 within
cells, or have not to do with it. "Without noise" is a budget at which noise is below a thousandth of what is asked.
"""

from decimal import Decimal

import numpy as np
import pytest
from city_days import NORMS, VALUE_RANGE, asked_of, run, share_held, true_means
from support import slow

from dpmath.core.currency import PURE, Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.day import Day
from dpmath.estimate.measurement import Norm
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import programme

pytestmark = [pytest.mark.statistical, pytest.mark.theorem("HV-E2")]

SIDE, N_SLOTS, N_USERS = 4, 6, 250
NO_NOISE = 100_000
LINKS = [-0.5, 0.5]


def a_city(seed: int) -> Day:
    """Return a day of some thousand records an hour."""
    rng = np.random.default_rng(seed)
    records = np.zeros((SIDE * SIDE * N_SLOTS, N_USERS), dtype=np.int64)
    for user, of_user in enumerate(rng.normal(size=N_USERS)):
        place = rng.integers(SIDE, size=2)
        for slot in range(N_SLOTS):
            for _ in range(rng.integers(1, 5)):
                place = np.clip(place + rng.integers(-1, 2, size=2), 0, SIDE - 1)
                log = 1.5 + np.sqrt(0.5) * (of_user + rng.normal())
                records[(place @ [SIDE, 1]) * N_SLOTS + slot, user] += max(1, round(np.exp(log)))
    return a_day(records, SIDE)


def one_cell(seed: int) -> Day:
    """Return a day of one cell and 217 users."""
    logs = 2 + np.random.default_rng(seed).normal(size=217)
    return a_day(np.maximum(1, np.rint(np.exp(logs))).astype(np.int64)[None], 1)


def a_day(records: np.ndarray, side: int) -> Day:
    """Return a day of a square of hexagons from the records of each user in each cell, shape (G, L)."""
    cell, user = np.nonzero(records)
    n_cells, place = len(records), np.arange(side * side)
    return Day(
        Occupancy(cell, user, records[cell, user], n_cells, records.shape[1]),
        hexagon=np.arange(n_cells) * side * side // n_cells,
        slot=np.arange(n_cells) % max(1, n_cells // (side * side)),
        names=place,
        position=np.column_stack([place // side, place % side, 0 * place]).astype(float),
        spacing=1.0,
        n_slots=N_SLOTS,
    )


def values_of(day: Day, correlation: float, seed: int, of_the_day: bool = False) -> np.ndarray:
    """Return the pairs' totals: a user differs by 5 points, a record by 15, and the rest of the cell by the link.

    Args:
        day: The day.
        correlation: Of values with the log of numbers of records, within cells.
        seed: Of the values.
        of_the_day: Whether with the records that the user has on the whole day, not with those of the pair.
    """
    rng, occupancy = np.random.default_rng([seed, 1]), day.occupancy
    of_users = np.bincount(occupancy.user, occupancy.n_records)
    n_pairs, log = occupancy.cell.size, np.log(of_users[occupancy.user] if of_the_day else occupancy.n_records)
    log -= (np.bincount(occupancy.cell, log) / np.bincount(occupancy.cell))[occupancy.cell]
    own = 5 * rng.normal(size=n_pairs) + 15 / np.sqrt(occupancy.n_records) * rng.normal(size=n_pairs)
    linked = correlation / np.sqrt(1 - correlation**2) * own.std() / log.std() * log
    of_places = 45 + 12 * np.random.default_rng(7).normal(size=SIDE * SIDE)
    of_cells = of_places[day.hexagon] + 6 * np.sin(2 * np.pi * day.slot / N_SLOTS)
    points = np.clip(of_cells[occupancy.cell] + linked + own, 0, 100)
    return np.rint(points * VALUE_RANGE / 100 * occupancy.n_records).astype(np.int64)


def estimated(day: Day, totals: np.ndarray, norm: Norm, epsilon: float, seed: int) -> Estimate:
    currency = PURE if norm == "l1" else Concentrated(Decimal("1e-6"))
    asked = asked_of(day, norm, currency.within(Decimal(str(epsilon))), True)
    return run(programme(None, asked), day, totals, np.random.default_rng([seed, 2]).bytes)[0]


def skill(guess: np.ndarray, day: Day, totals: np.ndarray) -> float:
    true, records = true_means(day, totals), day.occupancy.cell_records
    constant = np.average(true, weights=records)
    off, of_constant = (np.average((one - true) ** 2, weights=records) for one in (guess, constant))
    return float(1 - off / of_constant)


def over_users(day: Day, totals: np.ndarray) -> np.ndarray:
    """Return the mean of each cell's users, each counted once: the wrong number."""
    cell, points = day.occupancy.cell, totals / day.occupancy.n_records * 100 / VALUE_RANGE
    return np.bincount(cell, points) / np.bincount(cell)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("correlation", LINKS)
def test_without_noise_a_link_of_values_and_records_costs_no_skill(norm: Norm, correlation: float) -> None:
    day, found = a_city(1), {}
    assert day.occupancy.n_records.sum() > 3000 * N_SLOTS
    for link in (0.0, correlation):
        totals = values_of(day, link, 1)
        found[link] = skill(estimated(day, totals, norm, NO_NOISE, 1).mean, day, totals)
    assert found[0.0] > 0.95
    assert found[correlation] > found[0.0] - 0.01
    totals = values_of(day, correlation, 1)
    assert skill(over_users(day, totals), day, totals) < 0.9


@pytest.mark.parametrize(("correlation", "epsilon"), [(-0.5, 5.0), slow(-0.5, 1.0), slow(0.5, 1.0), slow(0.5, 5.0)])
def test_with_noise_a_link_moves_no_map_by_more_than_a_quarter_of_what_is_unsure(
    correlation: float, epsilon: float
) -> None:
    """Means of 24 cities, with noise that is drawn once: of 8, a mean has a deviation of 0.2."""
    bias, unsure, held = [], [], []
    for seed in range(24):
        day = a_city(seed)
        totals = values_of(day, correlation, seed)
        found, true = estimated(day, totals, "l2", epsilon, seed), true_means(day, totals)
        records = day.occupancy.cell_records
        bias.append(np.average(found.mean - true, weights=records))
        unsure.append(np.average(np.sqrt(found.variance), weights=records))
        held.append(share_held(found, day, totals))
    assert abs(np.mean(bias)) < np.mean(unsure) / 4
    assert np.mean(held) > 0.93


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("correlation", LINKS)
def test_without_noise_heavy_users_move_the_city_by_a_tenth_of_what_they_differ_by(
    norm: Norm, correlation: float
) -> None:
    """The mean of all records of the day, where values go with how many of them a user has."""
    day = a_city(1)
    totals, records = values_of(day, correlation, 1, of_the_day=True), day.occupancy.cell_records
    found, true = estimated(day, totals, norm, NO_NOISE, 1).mean, true_means(day, totals)
    users_alike = np.average(over_users(day, totals) - true, weights=records)
    assert abs(np.average(found - true, weights=records)) < abs(users_alike) / 10
    assert abs(users_alike) > 2


@pytest.mark.slow
@pytest.mark.parametrize(("correlation", "epsilon"), [(0.5, 1.0), slow(0.5, 5.0), slow(-0.5, 1.0), slow(-0.5, 5.0)])
def test_one_cell_alone_is_not_moved_to_the_mean_of_its_users(correlation: float, epsilon: float) -> None:
    """Means of 240 cells, with noise that is drawn once: of 60, a share that is .93 has a deviation of .03."""
    bias, unsure, held, wrong = [], [], [], []
    for seed in range(240):
        day = one_cell(seed)
        totals = values_of(day, correlation, seed)
        found, true = estimated(day, totals, "l2", epsilon, seed), true_means(day, totals)
        bias.append(float(found.mean[0] - true[0]))
        wrong.append(float(over_users(day, totals)[0] - true[0]))
        unsure.append(float(np.sqrt(found.variance[0])))
        held.append(share_held(found, day, totals))
    assert abs(np.mean(bias)) < np.mean(unsure) / 2
    assert np.mean(held) > 0.88
    assert abs(np.mean(wrong)) > 1.5 * np.mean(unsure)
