"""What is kept from day to day, and what a day must be."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import MUCH, NORMS, VALUE_RANGE, a_city, a_state, asked_of, error, run, same, told, values_of

from dpmath.estimate.basis import BY_PLACE, LASTING
from dpmath.estimate.day import KINDS
from dpmath.estimate.measurement import Norm
from dpmath.estimate.programme import programme
from dpmath.estimate.state import DRIFT, class_covariance


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


@pytest.mark.theorem("HV-E2")
def test_covariances_with_sums_are_those_of_the_whole_covariance() -> None:
    state = a_state(a_city())
    sums = np.random.default_rng(5).normal(size=(state.mean.size, 3))
    tied = state.covariance.copy()
    tied[0, 1] = tied[1, 0] = tied[0, 0] / 100
    for one in (state, told(state), replace(state, covariance=tied)):
        assert one.covariance_with(sums) == pytest.approx(one.covariance @ sums)


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
