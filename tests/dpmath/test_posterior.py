"""The estimate from noisy sums, against textbook conditioning on dense matrices."""

from dataclasses import replace

import numpy as np
import pytest
from city_days import (
    NORMS,
    UNIT,
    Textbook,
    a_city,
    a_state,
    a_taken,
    a_view,
    asked_of,
    dense,
    expected_error,
    known_of,
    residual_covariance,
    run,
    same,
    scales_of,
    values_of,
)

from dpmath.estimate import posterior
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import KINDS
from dpmath.estimate.measurement import Norm
from dpmath.estimate.posterior import estimated, expected_after, solved, told_by
from dpmath.estimate.programme import programme
from dpmath.estimate.questions import Centre
from dpmath.estimate.scales import NAMES
from dpmath.estimate.typical import typical
from dpmath.estimate.view import View


def a_small_view(n_slots: int = 6) -> View:
    """Return a day of few places; where it has many slots, courses are short and cells have parts of their own."""
    day = a_city(n_users=15, n_hexagons=5, n_slots=n_slots)
    state = a_state(day)
    if n_slots > 6:
        k = 4
        short = replace(state.basis, courses=state.basis.courses[:, :k], left_out=state.basis.courses[:, k:])
        n_states = short.n_common + 5 * short.n_own
        told = tuple(replace(one, seen=one.seen[:n_states]) for one in state.told)
        state = replace(state, basis=short, told=told)
    return View.of(day, state, covariates(day, True))


def without_some(view: View) -> View:
    """Return the same day seen from a state that has no coefficients for two of its hexagons."""
    state, n_own, n_common = view.state, view.state.basis.n_own, view.state.basis.n_common
    kept = np.append(np.arange(n_common), n_common + np.arange(3 * n_own))
    told = tuple(replace(one, seen=one.seen[kept]) for one in state.told)
    fewer = replace(state, names=state.names[:3], remote=state.remote[:3], told=told)
    return View.of(view.day, fewer, covariates(view.day, True))


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("n_measurements", [1, 2])
@pytest.mark.parametrize(("n_slots", "all_known"), [(6, True), (24, True), (6, False)])
def test_the_estimate_is_that_of_textbook_conditioning(n_measurements: int, n_slots: int, all_known: bool) -> None:
    """Mean, variance, and what is known the next day; with one or two measurements of the day, of the same pairs.

    Where a course is short, or a hexagon has no coefficients, cells have parts of their own.
    """
    rng = np.random.default_rng(7)
    view = a_small_view(n_slots) if all_known else without_some(a_small_view(n_slots))
    state = view.state
    assert 5 < view.expected.min() < view.expected.max() < 95
    alone = view.cell_variance > 0.01
    assert alone.all() if n_slots > 6 else alone.any() != all_known
    taken = [a_taken(view, n_sums, rng) for n_sums in (12, 7)[:n_measurements]]
    model = Textbook(view)
    mean, left = model.given(view, taken)
    found = solved(view, told_by(view, taken), taken)
    assert found.mean == pytest.approx(np.clip(state.centre + model.of_means @ mean, 0, 100))
    assert np.abs(found.mean - view.expected).max() > 1
    n_states = model.n_states
    assert found.state.mean == pytest.approx(mean[:n_states], abs=1e-9)
    assert found.state.known.block(slice(None)) == pytest.approx(left[:n_states, :n_states], abs=1e-9)
    before = np.diag(model.of_means @ model.covariance @ model.of_means.T)
    residual = np.diag(model.residuals @ model.covariance @ model.residuals.T)
    assert found.residual_part == pytest.approx(residual)
    variance = np.diag(model.of_means @ left @ model.of_means.T)
    assert found.variance == pytest.approx(np.maximum(variance, residual + 1e-12))
    assert found.variance_before == pytest.approx(before)
    today = mean[:n_states] + mean[n_states : 2 * n_states]
    assert found.view.today.mean == pytest.approx(today, abs=1e-9)


@pytest.mark.theorem("HV-E3")
def test_sums_that_are_as_expected_only_lower_the_variance() -> None:
    rng = np.random.default_rng(7)
    view = a_small_view()
    one = a_taken(view, 12, rng)
    model = Textbook(view)
    _, left = model.given(view, [one])
    variance = np.diag(model.of_means @ left @ model.of_means.T)
    residual = np.diag(model.residuals @ model.covariance @ model.residuals.T)
    expected = np.average(np.maximum(variance, residual), weights=view.day.occupancy.cell_records)
    assert expected_error(view, one.design, 0.4, 1.0) == pytest.approx(expected, rel=1e-9)
    assert expected_error(view, one.design, 0.4, 0.8) > expected


@pytest.mark.theorem("HV-E3")
def test_sums_are_kept_by_what_they_vary_by() -> None:
    """Each part for a scale of 1: the parts' covariances by the model, with that part alone."""
    rng = np.random.default_rng(8)
    view = without_some(a_small_view())
    taken = [a_taken(view, 5, rng), a_taken(view, 4, rng, noise=0.7)]
    model, state, told = Textbook(view), view.state, told_by(view, taken)
    seen, _, sums = model.seen(view, taken)
    n_states, n_cells = model.n_states, view.day.occupancy.n_cells
    pairs = (n_states + n_cells, model.mean.size - n_states)
    edges = {"level": (0, 1), "day": (1, n_states), "cell": (n_states, n_states + n_cells)}
    edges |= {"residual": pairs, "user": pairs}
    for name, (first, last) in edges.items():
        part = slice(n_states + first, n_states + last)
        apart = np.diag(view.residual_variance - view.alike_variance)
        of_pairs = {"residual": apart, "user": residual_covariance(view) - apart}
        covariance = of_pairs.get(name, model.covariance[part, part])
        expected = seen[:, part] @ covariance @ seen[:, part].T / state.factors.get(name, 1.0)
        assert getattr(told, name) == pytest.approx(expected, abs=1e-12), name
        assert np.abs(getattr(told, name)[:5, 5:]).max() > 1e-3, "two measurements of one day go together"
    assert told.seen == pytest.approx(seen[:, :n_states].T, abs=1e-12)
    assert told.noise == pytest.approx(np.diag(np.repeat([0.16, 0.49], [5, 4])))
    assert (told.sums == sums).all()


@pytest.mark.theorem("HV-E3")
def test_two_measurements_of_one_day_are_not_those_of_two_days() -> None:
    """What the day differs by is seen twice, and so is told of better; and what lasts is told of worse.

    Of a few sums without order it may by chance be told of as well: so here is the median of nine.
    """
    view, more = a_small_view(), []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        taken = [a_taken(view, 12, rng), a_taken(view, 12, rng)]
        of_one_day = solved(view, told_by(view, taken), taken)
        first, second = (told_by(view, [one]) for one in taken)
        of_two_days = replace(view.state, told=(*view.state.told, first, second))
        lasting = of_one_day.state.known.block(slice(0, 1)).item()
        more.append(lasting / of_two_days.known.block(slice(0, 1)).item())
    assert np.median(more) > 1.01


@pytest.mark.theorem("HV-E3", "HV-E7")
@pytest.mark.parametrize("shocks", [(1.0, 1.0), (20.0, 3.0)])
def test_the_map_is_designed_from_what_the_sums_before_it_tell(
    shocks: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the scales of all days before, and the day's own shock."""
    rng = np.random.default_rng(10)
    view = a_small_view()
    monkeypatch.setattr(posterior, "shocks_after", lambda *_: np.array(shocks))
    taken = [a_taken(view, 12, rng)]
    told = told_by(view, taken)
    after = expected_after(view, taken)
    assert after.state is view.state, "they are told of once, with all sums of the day"
    mean, covariance = known_of(after.state)
    of_the_day = after.state.of_the_day * np.append(shocks[0], np.full(mean.size - 1, shocks[1]))
    before = covariance + np.diag(of_the_day)
    factors = after.state.factors
    alone = told.noise + told.user + factors["cell"] * told.cell + factors["residual"] * told.residual
    gain = np.linalg.solve(told.seen.T @ before @ told.seen + alone, told.seen.T @ before).T
    assert after.today.mean == pytest.approx(mean + gain @ (told.sums - told.seen.T @ mean))
    assert after.today.block(slice(None)) == pytest.approx(before - gain @ told.seen.T @ before, abs=1e-9)


@pytest.mark.theorem("HV-E3", "HV-E7")
def test_intervals_are_those_of_the_wider_scales_and_hold_the_likely_map(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    view, logs = a_small_view(), rng.normal(size=len(NAMES)) * 0.3
    chosen = scales_of(logs, 0.5)
    monkeypatch.setattr(posterior, "scales_after", lambda *_: (chosen, np.ones(2)))
    taken = [a_taken(view, 12, rng), a_taken(view, 6, rng, cut=0.2)]
    found = estimated(view, taken)
    by_scales = {}
    for name, wider in (("likely", 0.0), ("wide", 0.5 + 2 * 0.2**2)):
        state = replace(view.state, scales=scales_of(logs + wider))
        seen = replace(view, state=state, today=state.known_today)
        by_scales[name] = solved(seen, told_by(seen, taken), taken)
    likely, wide = by_scales["likely"], by_scales["wide"]
    assert found.mean == pytest.approx(likely.mean, rel=1e-3)
    assert found.variance == pytest.approx(wide.variance + (wide.mean - likely.mean) ** 2, rel=1e-2)
    assert found.variance.sum() > likely.variance.sum()
    assert found.joint.off[:, -1] == pytest.approx(wide.mean - likely.mean, rel=1e-2, abs=1e-2), "of areas as well"
    assert found.state.mean == pytest.approx(likely.state.mean, rel=1e-3, abs=1e-3)
    assert same(found.state.scales, chosen)


@pytest.mark.theorem("HV-E3", "HV-E6")
def test_a_map_is_off_by_how_much_it_moves_with_what_balls_cut_off() -> None:
    """Sums of a measurement that had moved by a little more or less than supposed, but not their noise.

    Of the sums, the noise is what the model says it is. All measurements count, each by its own.
    """
    rng, small = np.random.default_rng(12), 1e-6
    view = a_small_view()
    plain = [a_taken(view, 8, rng), a_taken(view, 5, rng, noise=0.9)]
    cuts = (0.3, 0.1)
    taken = [replace(one, cut=cut) for one, cut in zip(plain, cuts, strict=True)]
    told = told_by(view, taken)
    model = Textbook(view)
    seen, whole, sums = model.seen(view, taken)
    of_noise = told.noise @ np.linalg.solve(whole, sums - seen @ model.mean)
    assert np.abs(of_noise).max() > 0.1
    signal = sums - of_noise - np.concatenate([one.expected for one in taken])
    off, edges = [], [slice(0, 8), slice(8, 13)]
    for part, cut in zip(edges, cuts, strict=True):
        means = []
        for sign in (-1, 1):
            moved = told.sums.copy()
            moved[part] += sign * small * cut * signal[part]
            means.append(solved(view, replace(told, sums=moved), plain).mean)
        off.append((means[1] - means[0]) / (2 * small))
    found, without = solved(view, told, taken), solved(view, told, plain)
    assert found.joint.off == pytest.approx(np.array(off).T, rel=1e-5, abs=1e-7)
    assert found.variance - without.variance == pytest.approx((np.array(off) ** 2).sum(axis=0), rel=1e-5, abs=1e-9)
    assert found.variance.sum() > 1.01 * without.variance.sum()


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("is_first", [True, False])
def test_measurements_after_a_coarse_one_tell_what_all_at_once_tell(is_first: bool) -> None:
    """What is known of a day does not depend on how its sums are told of: one after the other is the textbook's."""
    rng = np.random.default_rng(13)
    view = a_small_view()
    if is_first:
        view = View.of(view.day, replace(view.state, told=(), n_days=0), covariates(view.day, True))
    taken = [a_taken(view, 6, rng), a_taken(view, 5, rng)]
    model = Textbook(view)
    both, _ = model.given(view, taken)
    once = solved(view, told_by(view, taken), taken)
    turned = solved(view, told_by(view, taken[::-1]), taken[::-1])
    n_states = model.n_states
    assert once.view.today.mean == pytest.approx(both[:n_states] + both[n_states : 2 * n_states], abs=1e-9)
    assert turned.mean == pytest.approx(once.mean)
    assert turned.variance == pytest.approx(once.variance)


@pytest.mark.theorem("HV-E3")
def test_a_typical_day_is_what_lasts_on_a_kind_of_day() -> None:
    day = a_city(kind=0)
    state = a_state(day)
    state = replace(state, told=tuple(replace(one, sums=20 * one.sums) for one in state.told))
    known, found = covariates(day, True), []
    coefficients, covariance = known_of(state)
    for kind in range(len(KINDS)):
        matrix = dense(View.of(replace(day, kind=kind), state, known).rows, 10)
        mean, variance = typical(day, state, covariates(day, True), kind)
        assert mean == pytest.approx(np.clip(50 + matrix @ coefficients, 0, 100), abs=1e-9)
        assert variance == pytest.approx(np.diag(matrix @ covariance @ matrix.T))
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


@pytest.mark.parametrize("at_once", [1, 7, 10**6])
def test_weighted_sums_of_strata_do_not_depend_on_how_many_cells_are_looked_at_together(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    strata, rng = a_view(a_city()).strata, np.random.default_rng(3)
    values, weight = rng.normal(size=(strata.cell.size, 5)), rng.normal(size=strata.cell.size)
    monkeypatch.setattr("dpmath.estimate.strata._AT_ONCE", at_once)
    assert (strata.weighted_sums(values, weight) == strata.cell_sums(values * weight[:, None])).all()
