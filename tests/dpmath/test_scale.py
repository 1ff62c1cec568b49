"""How far values differ: what each day's sums tell of the scale, and what becomes of the state if it changes."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import (
    UNIT,
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
    values_of,
)

from dpmath.estimate.basis import fit_basis
from dpmath.estimate.covariates import covariates
from dpmath.estimate.likelihood import NOTHING, Parts, error_of
from dpmath.estimate.posterior import estimated
from dpmath.estimate.programme import programme
from dpmath.estimate.state import State, first_state
from dpmath.estimate.view import View


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("n_slots", [1, 6, 40])
def test_a_lower_scale_is_what_the_same_answers_would_have_told_with_it(n_slots: int) -> None:
    """Also where some functions of the slot have no variance at all."""
    supposed, lower = (unmeasured(scale, (2.0, 4.0), n_slots) for scale in (9.0, 3.0))
    assert (supposed.lasting.min() < 1e-15) == (n_slots == 40)
    shift = np.log2(1 / 9)
    off = replace(told(supposed), scale_error=(shift - 0.5, 0.25))  # largest that may be: one deviation above
    found, wanted = off.rescaled(), told(lower)
    assert found.scale == pytest.approx(3.0)
    assert found.mean == pytest.approx(wanted.mean, abs=1e-6)
    assert found.covariance == pytest.approx(wanted.covariance, rel=1e-6, abs=1e-5)
    assert found.scale_error == pytest.approx((-0.5, 0.25))
    assert same(found.rescaled(), found)


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(
    ("n_days", "error", "shift"),
    [
        (0, (-1.0, 0.81), 0.0),
        (0, (-1.0, 0.49), -0.3),
        (0, (-3.0, 2.25), -1.5),
        (1, (-1.0, 0.49), -0.3),
        (1, (-3.0, 2.25), -0.75),
        (1, (-2.4, 2.25), 0.0),
        (1, (0.2, 4.0), 0.0),
        (1, (1.0, 0.01), 1.0),
        (1, (-0.2, 0.0), 0.0),
    ],
)
def test_the_scale_falls_to_the_largest_that_may_be_and_rises_to_the_likeliest(
    n_days: int, error: tuple[float, float], shift: float
) -> None:
    """After the first measurement of the map a scale that is hardly known falls less."""
    state = replace(told(unmeasured(9.0, (1.0, 1.0))), scale_error=error, n_days=n_days)
    found = state.rescaled()
    assert found.scale == pytest.approx(9 * 2 ** (shift / 2))
    assert found.lasting == pytest.approx(state.lasting * 2**shift)
    assert found.scale_error == pytest.approx((error[0] - shift, error[1]))
    assert shift or found is state


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("unsure", "adds"), [(np.inf, False), (0.51, False), (0.5, True), (0.0, True)])
def test_what_is_unknown_grows_with_a_scale_that_was_hardly_known_and_prior_variances_are_added_later(
    unsure: float, adds: bool
) -> None:
    """What is known of the city's mean has not to do with the scale."""
    state = replace(told(unmeasured(9.0, (2.0, 4.0))), scale_error=(1.0, 0.01))
    found = state.rescaled(unsure)
    root = np.append(1.0, np.full(state.mean.size - 1, 2**0.5))
    added = state.covariance + np.diag(np.append(0, state.lasting[1:]))
    assert found.covariance == pytest.approx(added if adds else np.outer(root, root) * state.covariance)
    assert (found.mean == state.mean).all()
    assert found.scale == pytest.approx(9 * 2**0.5)


@pytest.mark.theorem("HV-E7")
def test_a_day_asks_how_well_the_scale_was_known_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, rescaled = [], State.rescaled
    monkeypatch.setattr(State, "rescaled", lambda state, *unsure: asked.append(unsure) or rescaled(state, *unsure))
    state, rng = None, np.random.default_rng(1)
    for number in range(3):
        day = a_city(number)
        before = None if state is None else state.later(1).scale_error[1]
        asking = programme(state, asked_of(day, "l2", UNIT["l2"] // 50, state is None))
        asked.clear()
        state = run(asking, day, values_of(day, number), rng.bytes)[0].state
        assert asked == [(before,)] if number else len(asked) == 2


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("variance", [0.0, 0.1, 0.29])
def test_a_scale_that_is_known_stays_known_and_only_rises(variance: float) -> None:
    state = replace(told(unmeasured(9.0, (1.0, 1.0))), scale_error=(-2.0, variance))
    assert state.scale_is_known
    assert state.rescaled(variance) is state
    assert state.rescaled().scale < 9
    raised = replace(state, scale_error=(1.0, variance))
    assert raised.rescaled(variance).scale == pytest.approx(9 * 2**0.5)
    by_chance = replace(state, scale_error=(max(0.25, variance**0.5) - 1e-9, variance))
    assert by_chance.rescaled(variance) is by_chance
    error, unsure = state.later(3).scale_error
    assert error == 0, "it begins anew from what is supposed, so a later rise is seen at once"
    assert unsure == pytest.approx(min(variance + 0.03, 0.3))
    assert state.later(10_000).scale_is_known
    assert raised.later(1).scale_error[0] == 1
    learning = replace(state, scale_error=(-2.0, 0.31))
    assert not learning.scale_is_known
    assert learning.later(3).scale_error == (-2.0, 0.31)


@pytest.mark.theorem("HV-E7")
def test_nothing_is_raised_above_what_values_within_the_range_can_vary() -> None:
    """Whatever answers tell, day after day."""
    state = told(unmeasured(9.0, (1.0, 1.0)))
    for _ in range(20):
        state = replace(state, scale_error=(8.0, 4.0), own_error=(8.0, 2.0)).rescaled().with_places_as_told()
    assert state.scale == pytest.approx(50)
    assert state.prior_factors[1] * state.basis.own_share == pytest.approx(1)
    assert same(replace(state, own_error=(8.0, 2.0)).with_places_as_told().covariance, state.covariance)


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("error", [-3.0, 2.0])
@pytest.mark.parametrize("centre", [50.0, 4.0])
def test_residual_variances_stay_where_the_scale_changes(error: float, centre: float) -> None:
    """Also near the bounds of the values, where these say how much a pair may vary."""
    day = a_city()
    state = a_state(day, centre=centre)
    state = replace(state, mean=np.zeros(state.mean.size), scale_error=(error, 0.25))
    known = covariates(day, True)
    before, after = (View.of(day, one, known).residual_variance for one in (state, state.rescaled()))
    assert state.rescaled().scale != state.scale
    assert after == pytest.approx(before)


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("true_error", [-4.0, -1.5, 0.0, 2.0])
@pytest.mark.parametrize(
    ("n_days", "before", "of_days"),
    [
        (0, (-0.5, 4.0), True),
        (0, (0.0, 0.31), True),
        (1, (-0.5, 4.0), False),
        (1, (0.0, 0.31), False),
        (9, (0.0, 0.29), True),
    ],
)
def test_what_sums_tell_of_the_scale_is_bayes_rule_on_dense_matrices(
    n_days: int, before: tuple[float, float], of_days: bool, true_error: float
) -> None:
    """By numerical integration; where residuals and the city's mean stay, and all else is multiplied.

    What days differ by stays too, after the first day, until the scale is well known.
    """
    rng = np.random.default_rng(11)
    day = a_city()
    view = View.of(day, replace(a_state(day), scale_error=before, n_days=n_days), covariates(day, True))
    noise, n_queries = 0.4, 60
    one = a_random_design(view, n_queries, rng)
    model = Textbook(view)
    seen, fixed = model.sums(view, one), model.covariance.copy()
    varies = len(fixed) - day.occupancy.cell.size
    with_mean = fixed[:varies, 0]
    fixed[:varies, :varies] = np.outer(with_mean, with_mean) / with_mean[0]  # the rest is independent of the mean
    if not of_days:
        days = slice(view.state.mean.size, 2 * view.state.mean.size)
        fixed[days, days] = model.covariance[days, days]
    residual, rest = (seen @ part @ seen.T for part in (fixed, model.covariance - fixed))

    def whole(error: float) -> np.ndarray:
        return np.asarray(2.0**error * rest + residual + noise**2 * np.eye(n_queries))

    sums = rng.multivariate_normal(np.zeros(n_queries), whole(true_error))
    found = estimated(view, one, sums, noise, 0.1, NOTHING).state.scale_error
    mean, deviation = error_of_scale(before, sums, whole)
    assert found[0] == pytest.approx(mean, abs=0.02 * deviation)
    assert found[1] ** 0.5 == pytest.approx(deviation, rel=0.02)
    if before[1] > 1:
        assert abs(found[0] - true_error) < 4 * deviation
        assert deviation < (0.6 if of_days else 0.7) * before[1] ** 0.5


@pytest.mark.theorem("HV-E7")
def test_a_part_that_is_larger_than_the_whole_tells_what_the_whole_would() -> None:
    """What is known of hexagons and of the city may cancel; with a smaller part, no covariance would be left."""
    sums, whole = np.array([0.1, -0.2]), np.diag([1.0, 2.0])
    assert error_of(2 * whole, whole, sums, (0.0, 2.0)) == pytest.approx(error_of(whole, whole, sums, (0.0, 2.0)))


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("noise", [0.05, 1.0])
@pytest.mark.parametrize("off", [0.0, 20.0])
def test_a_first_measurement_tells_of_the_scale_what_priors_of_other_scales_tell(noise: float, off: float) -> None:
    """Where the centre is hardly known: it has not to do with the scale, whether it was well put or not."""
    rng = np.random.default_rng(12)
    day = a_city()
    first = first_state(day, fit_basis(day, covariates(day, True)), 50.0, 625.0, 9.0, 0.5)
    view = View.of(day, first, covariates(day, True))
    one = a_random_design(view, 12, rng)

    def whole(error: float) -> np.ndarray:
        factor = 2.0**error
        prior = np.append(625.0, first.lasting[1:] * factor)
        scaled = replace(first, covariance=np.diag(prior), scale=9.0 * factor**0.5)
        model = Textbook(replace(view, state=scaled))
        model.covariance[-day.occupancy.cell.size :, -day.occupancy.cell.size :] = np.diag(view.residual_variance)
        seen = model.sums(view, one)
        return np.asarray(seen @ model.covariance @ seen.T + noise**2 * np.eye(12))

    known, twice = whole(0.0), whole(1.0)

    def by_square(error: float) -> np.ndarray:
        return np.asarray(known + (2.0**error - 1) * (twice - known))

    assert by_square(-2.0) == pytest.approx(whole(-2.0))
    of_mean = view.strata.pair_sums(one.weight) @ one.loading
    sums = of_mean * off + rng.multivariate_normal(np.zeros(12), whole(-2.0) - 625 * np.outer(of_mean, of_mean))
    found = estimated(view, one, sums, noise, 0.1, NOTHING).state.scale_error
    mean, deviation = error_of_scale(first.scale_error, sums, by_square)
    assert found[0] == pytest.approx(mean, abs=0.02 * deviation)
    assert found[1] ** 0.5 == pytest.approx(deviation, rel=0.02)


@pytest.mark.slow
@pytest.mark.theorem("HV-E7")
def test_a_city_whose_days_are_alike_does_not_pass_for_one_that_hardly_varies(monkeypatch: pytest.MonkeyPatch) -> None:
    """In much noise. Where what later days differ by counts, the scale falls for months, and the map stays wrong."""
    held, off = _of_days_alike()
    honest = Parts.varying
    monkeypatch.setattr(Parts, "varying", lambda parts, factors: honest(parts, {**factors, "day": factors["day"] or 1}))
    held_if_so, off_if_so = _of_days_alike()
    assert held > 0.95
    assert held_if_so < 0.9
    assert off < 0.75 * off_if_so


def _of_days_alike() -> tuple[float, float]:
    """Return the share of intervals that hold on days 20 to 59 of two cities, and the error. Noise is drawn once."""
    held, errors = [], []
    for seed in range(2):
        state = None
        for number in range(60):
            day, rng = a_city(1000 * seed + number), np.random.default_rng(1000 * seed + number)
            totals = values_of(day, number)
            asked = asked_of(day, "l2", int(0.017 * UNIT["l2"]), state is None)
            found, _ = run(programme(state, asked), day, totals, rng.bytes)
            state = found.state
            if number >= 20:
                held.append(share_held(found, day, totals))
                errors.append(error(found, day, totals))
    return float(np.mean(held)), float(np.mean(errors))
