"""How much places differ: it is learned where users stay at one place, and where noise hides it for days."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import (
    MUCH,
    NORMS,
    UNIT,
    VALUE_RANGE,
    Textbook,
    a_city,
    a_random_design,
    a_state,
    asked_of,
    error,
    error_of_scale,
    run,
    same,
    share_held,
    told,
    unmeasured,
)

from dpmath.core.occupancy import Occupancy
from dpmath.estimate.covariates import covariates
from dpmath.estimate.likelihood import NOTHING, ON_FIRST_DAY
from dpmath.estimate.measurement import Norm
from dpmath.estimate.posterior import estimated
from dpmath.estimate.programme import programme
from dpmath.estimate.state import State
from dpmath.estimate.view import View

HARD_TO_TELL: list[tuple[Norm, int]] = [("l1", 4 * UNIT["l1"]), ("l2", UNIT["l2"] // 10)]
"""Norms with limits at which one day tells little of how much places differ."""


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
@pytest.mark.parametrize(
    ("error", "factor"),
    [((1.0, 0.24), 2.0), ((1.0, 0.26), 1.0), ((0.2, 0.0), 1.0), ((0.3, 0.0), 2**0.3), ((-3.0, 0.01), 1.0)],
)
def test_places_vary_more_where_it_is_clearly_told_and_never_less(error: tuple[float, float], factor: float) -> None:
    state = replace(told(unmeasured(9.0, (2.0, 4.0))), own_error=error)
    found = state.with_places_as_told()
    if factor == 1:
        assert found is state
        return
    n_common = state.basis.n_common
    added = np.append(np.zeros(n_common), (factor - 1) * state.lasting[n_common:])
    assert found.prior_factors == pytest.approx((2.0, 4.0 * factor))
    assert found.lasting == pytest.approx(state.lasting + added)
    assert found.covariance == pytest.approx(state.covariance + np.diag(added))
    assert same(found.mean, state.mean)
    assert found.own_error == (0.0, error[1])
    assert found.later(3).own_error == pytest.approx((0.0, error[1] + 0.03))
    assert found.later(10_000).own_error == (0.0, 2.0)
    assert replace(found, own_error=(-3.0, 0.1)).later(1).own_error[0] == 0, "so a later rise is seen at once"


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("of_scale", "left"), [(0.75, 0.25), (-3.0, 1.0), (0.0, 1.0)])
def test_what_raises_the_scale_is_not_told_of_places_again(of_scale: float, left: float) -> None:
    """The same sums tell of both; a larger scale has larger places already."""
    state = replace(told(unmeasured(9.0, (1.0, 1.0))), scale_error=(of_scale, 0.25), own_error=(1.0, 0.1))
    assert state.rescaled().own_error == pytest.approx((left, 0.1))


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("true_error", [-2.0, 0.0, 4.0])
def test_what_later_sums_tell_of_places_is_bayes_rule_on_dense_matrices(true_error: float) -> None:
    """Where what is known of hexagons and cells is multiplied, and all else stays; a first day has other means."""
    rng = np.random.default_rng(12)
    day, before = a_city(), (0.0, 2.0)
    view = View.of(day, replace(a_state(day), own_error=before), covariates(day, True))
    noise, n_queries = 0.4, 60
    one = a_random_design(view, n_queries, rng)
    model = Textbook(view)
    seen, places = model.sums(view, one), np.zeros_like(model.covariance)
    n_common, n_states, n_pairs = view.state.basis.n_common, view.state.mean.size, day.occupancy.cell.size
    for block in (slice(n_common, n_states), slice(2 * n_states, len(places) - n_pairs)):
        places[block, block] = model.covariance[block, block]
    of_places, all_else = (seen @ part @ seen.T for part in (places, model.covariance - places))

    def whole(error: float) -> np.ndarray:
        return np.asarray(2.0**error * of_places + all_else + noise**2 * np.eye(n_queries))

    sums = rng.multivariate_normal(np.zeros(n_queries), whole(true_error))
    found = estimated(view, one, sums, noise, 0.1, NOTHING).state
    mean, deviation = error_of_scale(before, sums, whole)
    assert found.own_error[0] == pytest.approx(mean, abs=0.02 * deviation)
    assert found.own_error[1] ** 0.5 == pytest.approx(deviation, rel=0.02)
    assert abs(mean - true_error) < 4 * deviation
    assert deviation < 0.7 * before[1] ** 0.5
    assert estimated(view, one, sums, noise, 0.1, ON_FIRST_DAY).state.own_error == before


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("norm", "limit"), HARD_TO_TELL)
def test_later_days_learn_how_much_places_differ_where_the_first_could_not(
    norm: Norm, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _assert_learned(norm, limit, 3, monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("norm", "limit"), HARD_TO_TELL)
def test_so_they_do_in_sixteen_cities(norm: Norm, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _assert_learned(norm, limit, 16, monkeypatch)


def _assert_learned(norm: Norm, limit: int, n_cities: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cities of hexagons without order, with noise in which one day tells little of them. It is drawn once."""
    held, off = _without_order(norm, limit, n_cities)
    monkeypatch.setattr(State, "with_places_as_told", lambda state: state)
    held_before, off_before = _without_order(norm, limit, n_cities)
    assert held > max(0.88, held_before + 0.02)
    assert off < 0.95 * off_before


def _without_order(norm: Norm, limit: int, n_cities: int) -> tuple[float, float]:
    """Return the share of intervals that hold after five days, and the mean error after a week."""
    held, errors = [], []
    for seed in range(n_cities):
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
                held.append(share_held(found, day, totals))
            if number >= 7:
                errors.append(error(found, day, totals))
    return float(np.mean(held)), float(np.mean(errors))
