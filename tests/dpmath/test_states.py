"""What is kept from day to day, and what a day must be."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import (
    MUCH,
    NORMS,
    VALUE_RANGE,
    a_basis,
    a_city,
    a_state,
    asked_of,
    error,
    run,
    same,
    scales_of,
    values_of,
)

from dpmath.estimate.basis import LASTING, OF_THE_DAY
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import KINDS, Day
from dpmath.estimate.measurement import Norm
from dpmath.estimate.programme import programme
from dpmath.estimate.scales import NAMES
from dpmath.estimate.state import class_covariance, first_state
from dpmath.estimate.view import View


@pytest.mark.theorem("HV-E4")
def test_new_hexagons_get_the_prior_and_others_keep_what_is_known() -> None:
    day = a_city()
    state = a_state(day)
    assert same(state.with_hexagons(day), state)
    later = a_city(4, first_name=95)  # 95 to 104, of which 100 to 104 are known
    grown = state.with_hexagons(later)
    assert grown.names[:10].tolist() == [*range(100, 110)]
    assert sorted(grown.names[10:]) == [*range(95, 100)]
    known, new = np.minimum(state.remote[:5], later.remote[5:]), later.remote[:5]
    assert grown.remote == pytest.approx([*known, *state.remote[5:], *new]), "as on the day when it was least so"
    assert (known < state.remote[:5]).any()
    assert same(grown.with_hexagons(later), grown)
    grown = replace(grown, remote=np.append(state.remote, new))
    n_before, n_own = state.mean.size, state.basis.n_own
    assert grown.mean.size == n_before + 5 * n_own
    assert grown.mean[:n_before] == pytest.approx(state.mean)
    assert not grown.mean[n_before:].any()
    covariance = grown.known.block(slice(None))
    assert covariance[:n_before, :n_before] == pytest.approx(state.known.block(slice(None)))
    assert not covariance[:n_before, n_before:].any()
    assert covariance[n_before:, n_before:] == pytest.approx(np.diag(grown.lasting[n_before:]))
    assert grown.lasting[:n_before] == pytest.approx(state.lasting)
    assert grown.names[grown.numbers_of(later)].tolist() == later.names.tolist()
    assert (state.numbers_of(later) >= 0).tolist() == [False] * 5 + [True] * 5
    with pytest.raises(ValueError, match="must have coefficients"):
        replace(state, names=state.names[:0]).numbers_of(later)


@pytest.mark.theorem("HV-E4", "HV-E7")
def test_every_part_has_the_scale_of_its_group_and_the_centre_is_as_unsure_as_it_was_measured() -> None:
    """Named part by part: which of the scales multiplies it."""
    day = a_city()
    factors = dict(zip(NAMES, (2.0, 3.0, 23.0, 5.0, 6.0, 7.0, 11.0, 13.0, 17.0), strict=True))
    first = first_state(day, a_basis(day), 50.0, 400.0, 9.0, 0.3)
    state = replace(first, scales=scales_of(np.log([factors[name] for name in NAMES])))
    assert state.factors == pytest.approx(factors)
    basis = state.basis
    of, hour_of = {"city": 1.0, "covariate": 2.0, "stay": 1.0}, {"slot": "hour", "kind_slot": "kind_hour"}
    place, course = 0, basis.course_values[: basis.n_own - 1]
    courses = {"smooth_slot": len(basis.knots), "slot": 1, "kind_slot": 3}
    for name, size in basis.sizes.items():
        part = slice(place, place := place + size)
        shape = np.tile(course, courses[name]) if name in courses else np.ones(size)
        hour, hour_today = (shares[hour_of[name]] if name in hour_of else 0.0 for shares in (LASTING, OF_THE_DAY))
        lasting = (LASTING[name] * shape * of.get(name, 3.0) + 23 * hour) * 81
        today = (OF_THE_DAY[name] * shape + hour_today) * (11.0 if name == "city" else 13.0) * 81
        assert state.lasting[part] == pytest.approx([400.0] if name == "city" else lasting), name
        assert state.of_the_day[part] == pytest.approx(today), name
    of_hexagon = np.append(LASTING["hexagon"], LASTING["hexagon_slot"] * course)
    of_cells = np.append(0, np.full(course.size, 7 * LASTING["cell"]))
    own = np.outer(0.5 * 5 + 0.5 * 6 * day.remote, of_hexagon) + of_cells
    assert state.lasting[place:] == pytest.approx(basis.own_factor * 81 * own.ravel())
    of_day = np.append(OF_THE_DAY["hexagon"], OF_THE_DAY["hexagon_slot"] * course + OF_THE_DAY["cell"])
    assert state.of_the_day[place:] == pytest.approx(13 * basis.own_factor * 81 * np.tile(of_day, 10))
    of_both = (state.lasting + state.of_the_day)[place:].reshape(10, -1)
    assert state.of_hexagons(day.remote) == pytest.approx(of_both)


def a_day_of_unlike_hexagons() -> Day:
    """Return a day whose hexagons have from a few records to ten thousand times as many."""
    day = a_city()
    more = np.rint(np.geomspace(1, 10_000, 10)).astype(np.int64)[day.hexagon[day.occupancy.cell]]
    return replace(day, occupancy=replace(day.occupancy, n_records=day.occupancy.n_records * more))


@pytest.mark.theorem("HV-E1")
def test_a_hexagon_is_as_remote_as_it_has_few_records() -> None:
    day = a_day_of_unlike_hexagons()
    pairs = zip(day.hexagon[day.occupancy.cell], day.occupancy.n_records, strict=True)
    records = [0] * 10
    for hexagon, number in pairs:
        records[hexagon] += int(number)
    usual = sum(one * one for one in records) / sum(records)
    remote = [max(one, usual / 100) ** -0.5 for one in records]
    mean = sum(one * far for one, far in zip(records, remote, strict=True)) / sum(records)
    assert day.remote == pytest.approx([far / mean for far in remote])
    assert day.remote[0] == day.remote[1] > 5 * day.remote[9], "a hundredth of a usual record's at least"


@pytest.mark.theorem("HV-E1", "HV-E3")
def test_a_hexagon_without_coefficients_varies_as_much_as_with_them() -> None:
    day = a_day_of_unlike_hexagons()
    known = covariates(day, True)
    state = first_state(day, a_basis(day), 50.0, 400.0, 9.0, 0.3)
    scales = scales_of(np.random.default_rng(3).normal(size=len(NAMES)) * 0.3)
    state = replace(state, scales=scales)
    fewer = replace(state, names=state.names[4:6], remote=state.remote[4:6])
    of_all, of_few = (View.of(day, one, known) for one in (state, fewer))
    assert of_few.state_variance == pytest.approx(of_all.state_variance)
    assert of_few.cell_variance.max() > 2 * of_all.cell_variance.max()


@pytest.mark.theorem("HV-E4")
def test_what_is_known_grows_old_in_proportion_to_the_days() -> None:
    state = replace(a_state(a_city()), shrink=(0.2, 0.1))
    later = state.later(3)
    assert later.shrink == pytest.approx((0.2 * 0.95**3, 0.1 * 0.95**6 + 0.2 * (1 - 0.95**6)))
    assert later.residual_covariance - state.residual_covariance == pytest.approx(0.03 * class_covariance())
    assert all(same(aged, one.later(3)) for aged, one in zip(later.told, state.told, strict=True))
    twice = state.later(2).later(1)
    assert twice.known.block(slice(None)) == pytest.approx(later.known.block(slice(None)))
    assert (np.diag(later.known.block(slice(None))) >= np.diag(state.known.block(slice(None))) - 1e-12).all()
    assert same(later.scales, state.scales)


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
