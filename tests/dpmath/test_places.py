"""How much places differ: it is learned where users stay at one place, and where noise hides it for days."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import MUCH, NORMS, UNIT, VALUE_RANGE, a_city, asked_of, error, run, true_means

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.measurement import Norm
from dpmath.estimate.programme import programme
from dpmath.estimate.state import State


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_a_first_day_learns_how_much_places_differ_although_no_user_moves(norm: Norm) -> None:
    """Sensors that stay at one place, whose own values hardly differ."""
    day = a_city(n_users=60, n_hexagons=20)
    place, slot = np.arange(60) % 20, np.arange(6)
    cell, user = (place[:, None] * 6 + slot).ravel(), np.repeat(np.arange(60), 6)
    order = np.lexsort((user, cell))
    still = replace(day, occupancy=Occupancy(cell[order], user[order], np.full(cell.size, 3), 120, 60))
    points = 50 + 25 * np.sin(still.names[still.hexagon])[still.occupancy.cell]
    totals = np.rint(points * VALUE_RANGE / 100).astype(np.int64) * still.occupancy.n_records
    found, _ = run(programme(None, asked_of(still, norm, MUCH[norm], True)), still, totals)
    assert 10 < found.state.scale < 40
    assert error(found, still, totals) < 1


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("norm", "limit"), [("l1", 4 * UNIT["l1"]), ("l2", UNIT["l2"] // 10)])
def test_later_days_learn_how_much_places_differ_where_the_first_could_not(
    norm: Norm, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cities of hexagons without order, with noise in which one day tells little of them. It is drawn once."""
    held, off = _without_order(norm, limit)
    monkeypatch.setattr(State, "with_places_as_told", lambda state: state)
    held_before, off_before = _without_order(norm, limit)
    assert held > max(0.88, held_before + 0.02)
    assert off < 0.95 * off_before


def _without_order(norm: Norm, limit: int) -> tuple[float, float]:
    """Return the share of intervals that hold after five days, and the mean error after a week."""
    held, errors = [], []
    for seed in range(4):
        rng, state = np.random.default_rng(seed), None
        of_hexagons = rng.normal(50, 18, 40)
        for number in range(14):
            day = a_city(1000 * seed + number, n_users=120, n_hexagons=40)
            cell, n_records = day.occupancy.cell, day.occupancy.n_records
            of_cells = of_hexagons[day.hexagon] + rng.normal(0, 3, day.occupancy.n_cells)
            points = np.clip(of_cells[cell] + rng.normal(size=cell.size) * 8 / np.sqrt(n_records), 0, 100)
            totals = np.rint(points * VALUE_RANGE / 100 * n_records).astype(np.int64)
            found, _ = run(programme(state, asked_of(day, norm, limit, state is None)), day, totals, rng.bytes)
            state = found.state
            if number >= 5:
                missed = np.abs(found.mean - true_means(day, totals)) > 1.96 * np.sqrt(found.variance)
                held.append(1 - missed.mean())
            if number >= 7:
                errors.append(error(found, day, totals))
    return float(np.mean(held)), float(np.mean(errors))
