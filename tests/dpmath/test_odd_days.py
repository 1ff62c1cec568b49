"""Days on which something is extreme or missing."""

import os
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from city_days import (
    MUCH,
    NORMS,
    UNIT,
    VALUE_RANGE,
    a_city,
    a_state,
    asked_of,
    complete,
    error,
    run,
    share_held,
    true_means,
    values_of,
)
from support import slow

from dpmath.core.currency import PURE, Concentrated
from dpmath.estimate.asking import ask
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day
from dpmath.estimate.design import RADIUS
from dpmath.estimate.measurement import Norm
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import Measured, PrivateDay
from dpmath.estimate.state import State
from dpmath.estimate.view import View


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("value", [0, VALUE_RANGE])
def test_a_city_whose_values_are_all_at_one_end_is_estimated_too(value: int, norm: Norm) -> None:
    day = a_city()
    totals = value * day.occupancy.n_records
    for seed in range(3):
        asked = asked_of(day, norm, 10 * UNIT[norm], True)
        found, _ = run(programme(None, asked), day, totals, np.random.default_rng(seed).bytes)
        assert error(found, day, totals) < 2


@pytest.mark.theorem("HV-E5")
def test_pairs_still_differ_where_all_is_expected_to_be_0() -> None:
    day = a_city()
    view = View.of(day, replace(a_state(day), centre=-200.0), covariates(day, True))
    assert not view.expected.any()
    assert np.isfinite(view.residual_variance).all()
    assert view.residual_variance.min() > 1


@pytest.mark.theorem("HV-L52")
@pytest.mark.parametrize("norm", NORMS)
def test_a_day_on_which_nobody_has_a_budget_is_estimated_from_what_is_known(norm: Norm) -> None:
    day = a_city()
    state = a_state(day)
    asked = asked_of(day, norm, UNIT[norm], False, np.zeros(60, dtype=object))
    found, recorded = run(programme(state, asked), day, values_of(day))
    scaled = replace(state.later(1), scales=found.state.scales)  # earlier days' sums are asked for them once more
    expected = View.of(day, scaled, covariates(day, True)).expected
    assert found.mean == pytest.approx(expected, abs=0.3)
    assert (found.mean - expected).std() < 0.1
    told_nothing = found.variance - (found.joint.off**2).sum(axis=1)  # without what scales may be off by
    assert np.median(told_nothing / found.variance_before) == pytest.approx(1, abs=0.01)
    asked_for = [question.measurement for question, _ in recorded if isinstance(question, Measured)]
    assert len(asked_for) == 3
    assert not any(one.weight.any() for one in asked_for)


@pytest.mark.parametrize("norm", NORMS)
def test_users_without_records_do_no_harm(norm: Norm) -> None:
    day = a_city()
    day = replace(day, occupancy=replace(day.occupancy, n_users=70))
    asked = asked_of(day, norm, MUCH[norm], True)
    found, _ = run(programme(None, asked), day, values_of(day))
    assert error(found, day, values_of(day)) < 2


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_missing_values_neither_move_a_mean_nor_hide_it(norm: Norm) -> None:
    """Every third value of each pair is missing, and all of one pair in five. The midpoint in their place is wrong."""
    day, rng = a_city(), np.random.default_rng(8)
    totals, n_records = values_of(day, shift=-25.0), day.occupancy.n_records
    n_missing = np.where(rng.random(n_records.size) < 0.2, n_records, n_records // 3)
    totals_of_values = totals * (n_records - n_missing) // n_records
    asked = asked_of(day, norm, MUCH[norm], True)
    found, _ = ask(programme(None, asked), PrivateDay(day.occupancy, totals_of_values, n_missing), os.urandom)
    assert error(found, day, totals) < 3
    at_midpoint = totals_of_values + n_missing * (VALUE_RANGE // 2)
    replaced, _ = ask(programme(None, asked), complete(day, at_midpoint), os.urandom)
    assert error(replaced, day, totals) > 6


@pytest.mark.theorem("HV-E4", "HV-L52", "HV-L53")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("left", [99, 90, 50])
def test_a_first_day_on_which_everybody_is_short_asks_everything(norm: Norm, left: int) -> None:
    """As well as with so much less in all: noise is far below what is asked, so no run fails by chance."""
    day, limit = a_city(), MUCH[norm]
    budgets = np.array([limit * left // 100] * day.occupancy.n_users, dtype=object)
    asked = asked_of(day, norm, limit, True, budgets)
    assert (asked.radius == RADIUS).all()
    assert asked.charges == asked_of(day, norm, limit * left // 100, True).charges
    estimate, recorded = run(programme(None, asked), day, values_of(day))
    currency = PURE if norm == "l1" else Concentrated(Decimal("1e-6"))
    assert all((question.losses(currency) > 0).all() for question, _ in recorded)
    assert estimate.state.centre == pytest.approx(np.average(true_means(day, values_of(day))), abs=5)
    assert estimate.state.scale != pytest.approx(17.05, abs=0.5), "which is what is supposed before anything is asked"
    assert error(estimate, day, values_of(day)) < 1.5


@pytest.mark.theorem("HV-E4", "HV-L53")
@pytest.mark.parametrize("norm", NORMS)
def test_users_who_are_short_have_a_smaller_part_in_the_centre_and_do_not_move_it_otherwise(norm: Norm) -> None:
    """Half of the users have a tenth of the budget, and values that differ by 30 points."""
    day, limit, few = a_city(), MUCH[norm], np.arange(60) % 2 == 0
    budgets = np.array([limit // 10 if one else limit for one in few], dtype=object)
    asked = asked_of(day, norm, limit, True, budgets)
    user = day.occupancy.user
    totals = day.occupancy.n_records * np.where(few[user], 600, 300)
    estimate, _ = run(programme(None, asked), day, totals)
    part = np.where(few, 0.1 if norm == "l1" else 0.1**0.5, 1.0)
    assert estimate.state.centre == pytest.approx(np.average(np.where(few, 60, 30), weights=part), abs=0.5)


@pytest.mark.theorem("HV-E3", "HV-E4")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shift", [-0.5, 3.0, slow(0.5)])
def test_a_day_that_differs_as_a_whole_by_more_than_anything_expected_is_published_as_it_is(
    norm: Norm, shift: float
) -> None:
    """Temperatures: places and users differ by a degree or two, and one day by so many scales. Noise is drawn once."""
    rng = np.random.default_rng(7)
    limit = 50 * (10 * UNIT["l1"] if norm == "l1" else UNIT["l2"])

    def released(number: int, state: State | None, by: float) -> tuple[Estimate, Day, np.ndarray]:
        day = a_city(number)
        occupancy = day.occupancy
        of_cells = np.clip(40 + 2 * np.sin(day.names[day.hexagon]) + np.cos(day.slot) + by, 2, 98)
        own = rng.normal(size=occupancy.cell.size) / np.sqrt(occupancy.n_records)
        points = np.clip(of_cells[occupancy.cell] + own, 0, 100)
        totals = np.rint(points * VALUE_RANGE / 100 * occupancy.n_records).astype(np.int64)
        asking = programme(state, asked_of(day, norm, limit, state is None))
        return run(asking, day, totals, rng.bytes)[0], day, totals

    state = released(0, None, 0.0)[0].state
    for number in (1, 2):
        state = released(number, state, 0.0)[0].state
    found, day, totals = released(3, state, shift * state.scale)
    off = found.mean - true_means(day, totals)
    assert abs(np.average(off, weights=day.occupancy.cell_records)) < 0.5
    assert error(found, day, totals) < 0.5
    assert share_held(found, day, totals) > 0.93
    assert np.sqrt(found.variance.mean()) < 1
