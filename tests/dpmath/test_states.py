"""What is kept from day to day, and what a day must be."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import MUCH, NORMS, VALUE_RANGE, a_city, a_state, asked_of, error, run, same, values_of

from dpmath.estimate.basis import BY_PLACE, LASTING, fit_basis
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import KINDS
from dpmath.estimate.measurement import Norm
from dpmath.estimate.programme import programme
from dpmath.estimate.state import DRIFT, State, class_covariance, first_state
from dpmath.estimate.view import View


@pytest.mark.theorem("HV-E4")
def test_new_hexagons_get_the_prior_and_others_keep_what_is_known() -> None:
    day = a_city()
    state = replace(a_state(day), prior_factors=(2.0, 4.0))
    assert state.with_hexagons(day) is state
    later = a_city(4, first_name=95)  # 95 to 104, of which 100 to 104 are known
    grown = state.with_hexagons(later)
    assert grown.names.tolist() == [*range(100, 110), *range(95, 100)]
    n_before, n_own = state.mean.size, state.basis.n_own
    assert grown.mean.size == n_before + 5 * n_own
    assert (grown.mean[:n_before] == state.mean).all()
    assert not grown.mean[n_before:].any()
    assert (grown.covariance[:n_before, :n_before] == state.covariance).all()
    assert not grown.covariance[:n_before, n_before:].any()
    assert not grown.covariance[n_before:, :n_before].any()
    prior = state.basis.variances(LASTING, 1)[-n_own:] * state.scale**2 * 4.0
    assert grown.covariance[n_before:, n_before:] == pytest.approx(np.diag(np.tile(prior, 5)))
    assert grown.names[grown.numbers_of(later)].tolist() == later.names.tolist()
    with pytest.raises(ValueError, match="every hexagon of the day"):
        state.numbers_of(later)
    assert same(grown.with_hexagons(later), grown)


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("told", [0.0, 0.1, 0.2, 0.4])
def test_places_take_what_the_measured_covariates_leave(told: float) -> None:
    """The prior variance of covariates and places together is a fixed share, unless the covariates have more."""
    state = a_state(a_city())
    basis, covariates = state.basis, state.basis.of_covariates
    assert 1 < basis.sizes["covariate"] == covariates.stop - covariates.start
    mean, covariance = state.mean.copy(), state.covariance.copy()
    mean[covariates], covariance[covariates, covariates] = 0, 0
    mean[covariates.start] = np.sqrt(told / 2) * state.scale  # half of it is known, half is still unsure
    covariance[covariates.start, covariates.start] = told / 2 * state.scale**2
    measured = replace(state, mean=mean, covariance=covariance, prior_factors=(2.0, 1.0))
    found, raised = measured.with_rest_by_place()
    of_city, own = found.prior_factors
    assert own == raised
    assert of_city == 2
    assert own * basis.own_share == pytest.approx(max(basis.own_share, BY_PLACE - told))
    n_common = basis.n_common
    grown = np.diag(found.covariance - covariance)
    assert not grown[:n_common].any()
    assert grown[n_common:] == pytest.approx((own - 1) * measured.lasting[n_common:])
    assert (found.mean == mean).all()
    again, raised = found.with_rest_by_place()
    assert raised == pytest.approx(1)
    assert again.covariance == pytest.approx(found.covariance)


def told(state: State) -> State:
    """Return the state after observations that tell of some coefficients much, of others nothing."""
    rng = np.random.default_rng(3)
    seen = rng.normal(size=(6, state.mean.size)) / np.sqrt(state.mean.size)
    gain = np.linalg.solve(seen @ state.covariance @ seen.T + np.eye(6), seen @ state.covariance).T
    observed = rng.normal(size=6) * 5 - seen @ state.mean
    return replace(
        state, mean=state.mean + gain @ observed, covariance=state.covariance - gain @ seen @ state.covariance
    )


@pytest.mark.theorem("HV-E2")
def test_covariances_with_sums_are_those_of_the_whole_covariance() -> None:
    state = a_state(a_city())
    sums = np.random.default_rng(5).normal(size=(state.mean.size, 3))
    tied = state.covariance.copy()
    tied[0, 1] = tied[1, 0] = tied[0, 0] / 100
    for one in (state, told(state), replace(state, covariance=tied)):
        assert one.covariance_with(sums) == pytest.approx(one.covariance @ sums)


def unmeasured(scale: float, factors: tuple[float, float], n_slots: int = 6) -> State:
    day = a_city(n_slots=n_slots)
    basis = fit_basis(day, covariates(day, True))
    state = replace(first_state(day, basis, 50.0, 900.0, scale, 0.5), prior_factors=factors)
    prior = state.lasting
    prior[0] = 900.0  # the city's mean is known as badly as the centre
    return replace(state, covariance=np.diag(prior))


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("n_slots", [1, 6, 96])
def test_a_lower_scale_is_what_the_same_answers_would_have_told_with_it(n_slots: int) -> None:
    """Also where some functions of the slot have no variance at all."""
    supposed, lower = (unmeasured(scale, (2.0, 4.0), n_slots) for scale in (9.0, 3.0))
    assert (supposed.lasting.min() < 1e-15) == (n_slots == 96)
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
    ("error", "factor"),
    [((-1.0, 0.81), 1.0), ((-1.0, 0.49), 2**-0.3), ((0.2, 4.0), 1.0), ((1.0, 0.01), 2.0), ((-0.2, 0.0), 1.0)],
)
def test_the_scale_falls_to_the_largest_that_may_be_and_rises_to_the_likeliest(
    error: tuple[float, float], factor: float
) -> None:
    state = replace(told(unmeasured(9.0, (1.0, 1.0))), scale_error=error)
    found = state.rescaled()
    assert found.scale == pytest.approx(9 * factor**0.5)
    assert found.lasting == pytest.approx(state.lasting * factor)
    if factor > 1:
        added = np.append(0, (factor - 1) * state.lasting[1:])
        assert found.covariance == pytest.approx(state.covariance + np.diag(added))
        assert (found.mean == state.mean).all()
    elif factor == 1:
        assert found is state


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("variance", [0.0, 0.1, 0.29])
def test_a_scale_that_is_known_stays_known_and_only_rises(variance: float) -> None:
    state = replace(told(unmeasured(9.0, (1.0, 1.0))), scale_error=(-2.0, variance))
    assert state.scale_is_known
    assert state.rescaled(may_fall=False) is state
    assert state.rescaled().scale < 9
    raised = replace(state, scale_error=(1.0, variance))
    assert same(raised.rescaled(may_fall=False), raised.rescaled())
    assert raised.rescaled().scale == pytest.approx(9 * 2**0.5)
    error, unsure = state.later(3).scale_error
    assert error == 0, "it begins anew from what is supposed, so a later rise is seen at once"
    assert unsure == pytest.approx(min(variance + 0.03, 0.3))
    assert state.later(10_000).scale_is_known
    assert raised.later(1).scale_error[0] == 1
    learning = replace(state, scale_error=(-2.0, 0.31))
    assert not learning.scale_is_known
    assert learning.later(3).scale_error == (-2.0, 0.31)


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


@pytest.mark.theorem("HV-E4")
def test_what_is_known_grows_old_in_proportion_to_the_days() -> None:
    state = replace(a_state(a_city()), shrink=(0.2, 0.1))
    later = state.later(3)
    added = later.covariance - state.covariance
    assert added == pytest.approx(np.diag(3 * DRIFT * state.lasting))
    assert (later.mean == state.mean).all()
    assert later.shrink == pytest.approx((0.2 * 0.95**3, 0.1 * 0.95**6 + 0.2 * (1 - 0.95**6)))
    assert later.residual_covariance - state.residual_covariance == pytest.approx(0.03 * class_covariance())
    assert state.later(2).later(1).covariance == pytest.approx(later.covariance)


@pytest.mark.parametrize(
    "change",
    [
        {"hexagon": np.zeros(5, dtype=int)},
        {"hexagon": np.full(60, 10)},
        {"hexagon": np.full(60, -1)},
        {"slot": np.full(60, 6)},
        {"position": np.zeros((10, 2))},
        {"kind": len(KINDS)},
        {"kind": -1},
    ],
)
def test_a_day_with_wrong_shapes_or_indices_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        replace(a_city(), **change)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("value_range", [4, 10])
def test_coarse_ticks_cost_little_more_than_their_rounding(value_range: int, norm: Norm) -> None:
    """Values are whole ticks, so nothing is rounded but what the questions round."""
    day = a_city()
    rng, occupancy = np.random.default_rng(3), day.occupancy
    share = np.clip(values_of(day) / VALUE_RANGE / occupancy.n_records, 0, 1)
    totals = rng.binomial(occupancy.n_records * value_range, share)
    asked = asked_of(day, norm, MUCH[norm], True, value_range=value_range)
    found, _ = run(programme(None, asked), day, totals, np.random.default_rng(1).bytes)
    assert error(found, day, totals * VALUE_RANGE // value_range) < 2.5
