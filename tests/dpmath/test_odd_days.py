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
    true_means,
    values_of,
)

from dpmath.core.currency import PURE, Concentrated
from dpmath.estimate.asking import ask
from dpmath.estimate.covariates import covariates
from dpmath.estimate.design import RADIUS
from dpmath.estimate.measurement import Norm
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import Measured, PrivateDay
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
    assert found.mean == pytest.approx(View.of(day, state, covariates(day, True)).expected)
    question = recorded[0][0]
    assert isinstance(question, Measured)
    assert not question.measurement.weight.any()


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
