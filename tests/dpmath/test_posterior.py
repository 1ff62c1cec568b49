"""The estimate from noisy sums, against textbook conditioning on dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import (
    NORMS,
    UNIT,
    Textbook,
    a_city,
    a_random_design,
    a_state,
    a_view,
    asked_of,
    dense,
    expected_error,
    run,
    same,
    seen_covariance,
    values_of,
)

from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import KINDS
from dpmath.estimate.design import (
    design,
)
from dpmath.estimate.likelihood import NOTHING, ON_FIRST_DAY, ON_LATER_DAY
from dpmath.estimate.measurement import Norm
from dpmath.estimate.posterior import estimated
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import Centre
from dpmath.estimate.state import first_state
from dpmath.estimate.typical import typical
from dpmath.estimate.view import View

LADDERS = {**ON_LATER_DAY, **ON_FIRST_DAY}


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("cut", [0.0, 0.2, 0.3])
@pytest.mark.parametrize("n_slots", [6, 24])
def test_the_estimate_is_that_of_textbook_conditioning(cut: float, n_slots: int) -> None:
    """Mean, variance, and the coefficients' next mean and covariance; where a course is short, cells have parts."""
    rng = np.random.default_rng(7)
    day = a_city(n_users=15, n_hexagons=5, n_slots=n_slots)
    state = a_state(day)
    if n_slots > 6:
        short = replace(state.basis, courses=state.basis.courses[:, :4], left_out=state.basis.courses[:, 4:])
        state = first_state(day, short, 50.0, 4.0, 9.0, 0.3)
        state = replace(state, mean=rng.normal(size=state.mean.size) * 0.1)
    view = View.of(day, state, covariates(day, True))
    assert 5 < view.expected.min() < view.expected.max() < 95
    assert (view.cell_variance.min() > 0.01) == (n_slots > 6)
    n_queries, noise = 12, 0.4
    one = a_random_design(view, n_queries, rng)
    sums = rng.normal(size=n_queries) * 5

    model = Textbook(view)
    seen = model.sums(view, one)
    of_sums = seen @ model.covariance @ seen.T + noise**2 * np.eye(n_queries)
    gain = np.linalg.solve(of_sums, seen @ model.covariance).T
    moved, left = gain @ sums, model.covariance - gain @ seen @ model.covariance
    found = estimated(view, one, sums, noise, cut, NOTHING)
    assert found.mean == pytest.approx(np.clip(view.expected + model.of_means @ moved, 0, 100))
    assert np.abs(found.mean - view.expected).max() > 1
    n_states = model.n_states
    assert found.state.mean == pytest.approx(state.mean + moved[:n_states], abs=1e-9)
    assert found.state.covariance == pytest.approx(left[:n_states, :n_states], abs=1e-9)
    assert found.state.prior_factors == (1.0, 1.0)
    before = np.diag(model.of_means @ model.covariance @ model.of_means.T)
    residual = np.bincount(day.occupancy.cell, view.share_of_cell**2 * view.residual_variance)
    assert found.residual_part == pytest.approx(residual)
    variance = np.diag(model.of_means @ left @ model.of_means.T)
    misfit = max(1.0, float(sums @ np.linalg.solve(of_sums, sums)) / n_queries)
    expected = residual + np.maximum(variance - residual, 1e-12) * misfit + (cut * (model.of_means @ moved)) ** 2
    assert found.variance == pytest.approx(expected)
    assert found.variance_before == pytest.approx(residual + (before - residual) * misfit)
    silent = expected_error(view, one, noise, 1.0)
    expected = residual + np.maximum(variance - residual, 0)
    assert silent == pytest.approx(np.average(expected, weights=day.occupancy.cell_records), rel=1e-9)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize(("chosen", "factor"), [("day", 16.0), ("residual", 2.0), ("city", 8.0), ("own", 16.0)])
def test_sums_from_a_more_varied_day_raise_the_factor_of_what_varies(chosen: str, factor: float) -> None:
    """Sums drawn from the model with one part's variance multiplied: its factor is found to within a step or two."""
    rng = np.random.default_rng(11)
    view = a_view(a_city())
    state, n_states = view.state, view.state.mean.size
    one = design(view, "l2", 0.001, np.ones(60))
    model = Textbook(view)
    varied = model.covariance.copy()
    common = np.arange(n_states) < state.basis.n_common
    if chosen == "day":
        varied[range(n_states, 2 * n_states), range(n_states, 2 * n_states)] *= factor
    elif chosen == "residual":
        varied[-view.residual_variance.size :, -view.residual_variance.size :] *= factor
    else:
        more = state.lasting * (common if chosen == "city" else ~common) * (factor - 1)
        varied[range(n_states), range(n_states)] += more
    seen = model.sums(view, one)
    of_sums = seen @ varied @ seen.T + 1e-6 * np.eye(len(seen))
    found, plain = [], []
    for _ in range(20):
        drawn = rng.normal(size=len(seen))
        sums = np.linalg.cholesky(of_sums) @ drawn
        after = estimated(view, one, sums, 0.001, 0.0, {chosen: LADDERS[chosen]})
        widened = after.variance_before.mean() / view.state_variance.mean()
        found.append({"residual": after.residual_factor, "day": widened}.get(chosen, max(after.state.prior_factors)))
        sums = np.linalg.cholesky(seen @ model.covariance @ seen.T + 1e-6 * np.eye(len(seen))) @ drawn
        after = estimated(view, one, sums, 0.001, 0.0, {chosen: LADDERS[chosen]})
        widened = after.variance_before.mean() / view.state_variance.mean()
        plain.append({"residual": after.residual_factor, "day": widened}.get(chosen, max(after.state.prior_factors)))
    assert np.median(found) > 1.2 * np.median(plain)
    if chosen != "day":
        assert factor / 4 <= np.median(found) <= factor
        assert np.median(plain) == 1


@pytest.mark.theorem("HV-E3")
def test_a_first_day_is_unsure_of_places_where_its_sums_tell_nothing() -> None:
    """What is not of pairs is widened by the ladder's geometric mean under its prior, and not if places are told of."""
    view = a_view(a_city())
    one = design(view, "l2", 1.0, np.ones(60))
    ladder = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    weight = np.exp(-0.5 * np.log(ladder) ** 2)
    expected = np.exp(weight @ np.log(ladder) / weight.sum())
    silent = np.zeros(one.loading.shape[1])
    sure, unsure = (estimated(view, one, silent, 1e6, 0.0, chosen) for chosen in (NOTHING, {"own": LADDERS["own"]}))
    widened = (unsure.variance - unsure.residual_part) / (sure.variance - sure.residual_part)
    assert widened == pytest.approx(expected, rel=1e-6)
    assert unsure.mean == pytest.approx(sure.mean)
    told = np.linalg.cholesky(seen_covariance(view, one)) @ np.random.default_rng(3).normal(size=silent.size)
    sure, unsure = (estimated(view, one, told, 1e-3, 0.0, chosen) for chosen in (NOTHING, {"own": LADDERS["own"]}))
    assert (unsure.variance / sure.variance).max() < 1.2 < expected


@pytest.mark.theorem("HV-E3")
def test_places_that_were_taken_to_differ_more_are_taken_back_where_the_sums_say_so() -> None:
    """Maps are drawn whose places differ as they were first taken to, or by the raised variances."""
    day, factor = a_city(), 4.0
    state, known = a_state(day), covariates(day, True)
    n_common = state.basis.n_common
    added = np.append(np.zeros(n_common), (factor - 1) * state.lasting[n_common:])
    raised = replace(state, covariance=state.covariance + np.diag(added), prior_factors=(1.0, factor))
    view, rng, found = View.of(day, raised, known), np.random.default_rng(5), {}
    one = design(view, "l2", 0.01, np.ones(60))
    ladders = {"own": (1 / factor, *LADDERS["own"])}
    for true in (state, raised):
        root = np.linalg.cholesky(seen_covariance(View.of(day, true, known), one))
        drawn = [root @ rng.normal(size=len(root)) for _ in range(9)]
        after = [estimated(view, one, sums, 0.01, 0.0, ladders).state for sums in drawn]
        found[true.prior_factors[1]] = np.median([one.prior_factors[1] for one in after])
        assert min(np.linalg.eigvalsh(one.covariance).min() for one in after) > 0
    assert found[1.0] == 1.0
    assert found[factor] >= factor


@pytest.mark.theorem("HV-E3")
def test_a_typical_day_is_what_lasts_on_a_kind_of_day() -> None:
    day = a_city(kind=0)
    state = a_state(day)
    state = replace(state, mean=state.mean * 20)
    known, found = covariates(day, True), []
    for kind in range(len(KINDS)):
        matrix = dense(View.of(replace(day, kind=kind), state, known).rows, 10)
        mean, variance = typical(day, state, covariates(day, True), kind)
        assert mean == pytest.approx(np.clip(50 + matrix @ state.mean, 0, 100))
        assert variance == pytest.approx(np.diag(matrix @ state.covariance @ matrix.T))
        found.append(mean)
    assert np.abs(found[0] - found[1]).max() > 0.1


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_values_reach_questions_only_through_noisy_answers(norm: Norm) -> None:
    """Two days of the same users with other values: the first question is the same, later ones if the answers are."""
    day = a_city()
    asked = asked_of(day, norm, UNIT[norm], True)
    one, other = (
        run(programme(None, asked), day, values_of(day, seed, shift=shift)) for seed, shift in ((1, 0), (9, 30))
    )
    assert same(one[1][0][0], other[1][0][0])
    assert isinstance(one[1][0][0], Centre)
    assert not same(one[1][1][0], other[1][1][0]), "the second is about the centre that the first told of"
    mixed = programme(None, asked)
    next(mixed)
    for step, (question, _) in zip(one[1], one[1][1:], strict=False):
        assert same(mixed.send(step), question)
