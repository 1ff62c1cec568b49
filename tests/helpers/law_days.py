"""Days whose records are counted in bins, and what is asked of them, for the tests of percentiles."""

import numpy as np
from city_days import VALUE_RANGE, values_of

from dpmath.core.accounting import ExactIntArray
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asked import Asked
from dpmath.estimate.charges import charges, limit_of, reach_of
from dpmath.estimate.day import Day
from dpmath.estimate.law_bins import BinCounts, Bins
from dpmath.estimate.law_charges import FIRST, LATER, law_charges, limit_of_map
from dpmath.estimate.questions import PrivateDay
from dpmath.estimate.state import State

BINS = Bins(VALUE_RANGE)
VALUES = BINS.values


def a_law(seed: int = 0) -> np.ndarray:
    """Return a law with much at 0, and two humps."""
    rng = np.random.default_rng(seed)
    humps = [np.exp(-(((VALUES - at) / wide) ** 2)) for at, wide in zip(rng.uniform(5, 80, 2), (6, 20), strict=True)]
    law = humps[0] + humps[1] + 1e-6
    law[0] += rng.uniform(2, 20)
    return law / law.sum()


def private_of(occupancy: Occupancy, records: list[list[int]]) -> PrivateDay:
    pairs = [(pair, number) for pair, numbers in enumerate(records) for number in numbers]
    pair, number = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    counts = BinCounts(pair, number, np.ones(pair.size, dtype=np.int64), occupancy.cell.size)
    n_missing = occupancy.n_records - np.array([len(one) for one in records])
    totals = np.array([10 * sum(one) for one in records], dtype=np.int64)
    return PrivateDay(occupancy, totals, n_missing, bins=counts)


def asked_with_laws(
    day: Day,
    limit: int,
    state: State | None,
    budgets: ExactIntArray | None = None,
    limits: tuple[float, ...] = (30.0, 50.0),
) -> Asked:
    limit = limit_of(budgets, limit, "l2")
    asks = LATER if state is not None and state.shapes is not None else FIRST
    found = (*charges(state is None, limit_of_map(limit, asks), "l2"), *law_charges(limit, asks))
    radius = reach_of(budgets, limit, day.occupancy.n_users, "l2")
    return Asked(day, VALUE_RANGE, radius, {one.name: one for one in found}, "l2", limits=limits)


def private_day(day: Day, seed: int = 1, shape: float = 1.0) -> PrivateDay:
    """Return values of which a part is 0, and the others about each cell's level."""
    rng = np.random.default_rng(seed)
    level = values_of(day, seed) / day.occupancy.n_records / 10
    records = []
    for n, one in zip(day.occupancy.n_records.tolist(), level.tolist(), strict=True):
        values = np.where(rng.random(n) < 0.2 * shape, 0.0, np.clip(one * (1 + 0.3 * rng.normal(size=n)), 0, 100))
        records.append(np.ceil(values).astype(int).tolist())
    return private_of(day.occupancy, records)
