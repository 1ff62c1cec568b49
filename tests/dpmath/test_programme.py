"""A day asked and estimated as a whole: its errors, its charges, and that values reach nothing unnoised."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from city_days import (
    MUCH,
    NORMS,
    UNIT,
    VALUE_RANGE,
    Textbook,
    a_city,
    a_state,
    asked_of,
    complete,
    error,
    run,
    same,
    true_means,
    values_of,
)

from dpmath.core.currency import PURE, Concentrated, Currency
from dpmath.estimate import shrinkage
from dpmath.estimate.asking import ask
from dpmath.estimate.covariates import covariates
from dpmath.estimate.design import (
    RADIUS,
    design,
    parts,
)
from dpmath.estimate.measurement import LARGEST_RADIUS, Norm
from dpmath.estimate.programme import answered, programme
from dpmath.estimate.prospect import expected_deviation
from dpmath.estimate.questions import Check, Measured
from dpmath.estimate.state_arrays import from_arrays, to_arrays
from dpmath.estimate.view import View


@pytest.mark.theorem("HV-E4")
@pytest.mark.statistical
@pytest.mark.parametrize("norm", NORMS)
def test_with_much_budget_little_error_is_left_and_each_day_adds_what_it_knows(norm: Norm) -> None:
    """Noise is far below what is left of the error, so it fails by chance less than once in 1e9 runs."""
    day = a_city()
    totals = values_of(day)
    first, recorded = run(programme(None, asked_of(day, norm, MUCH[norm], True)), day, totals)
    assert len(recorded) == 7
    assert error(first, day, totals) < 1
    assert true_means(day, totals).std() > 10
    assert np.isfinite(first.variance).all()
    assert first.state.n_days == 1
    assert first.state.mean.size == first.state.basis.n_common + 10 * first.state.basis.n_own
    later = a_city(kind=1)  # the same people on another day
    expected = View.of(later, first.state.later(1), covariates(later, True)).expected
    totals = values_of(later, 6)
    assert math.sqrt(np.mean((expected - true_means(later, totals)) ** 2)) < 4, "the first day tells of the second"
    second, recorded = run(programme(first.state, asked_of(later, norm, MUCH[norm], False)), later, totals)
    assert len(recorded) == 5
    assert second.state.n_days == 2
    assert error(second, later, totals) < 1


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("deviation", [4.0, 10.0, 25.0])
def test_what_balls_keep_is_learned_whether_vectors_are_as_long_as_expected_or_not(
    norm: Norm, deviation: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise that is drawn once: it is chosen from what was answered, so some draws come near to the tolerance."""
    day, kept, supposed, rng = a_city(n_users=400), shrinkage.kept, [], np.random.default_rng(4)
    monkeypatch.setattr(shrinkage, "kept", lambda *known: supposed.append((known[1], kept(*known))) or kept(*known))
    of_users = deviation * np.exp(0.4 * rng.normal(size=400))  # some users' values are farther from what is expected
    off = of_users[day.occupancy.user] * rng.choice([-1, 1], day.occupancy.user.size)
    points = np.clip(50 + off, 0, 100) * day.occupancy.n_records
    totals = np.rint(points * VALUE_RANGE / 100).astype(np.int64)
    state = replace(a_state(day), told=())
    asked = asked_of(day, norm, MUCH[norm], False)
    expecting, told = shrinkage.expecting, []
    monkeypatch.setattr(shrinkage, "expecting", lambda *known: told.append(known[0]) or expecting(*known))
    _, recorded = run(programme(state, asked), day, totals, np.random.default_rng(5).bytes)
    *levels, measurement = (one.measurement for one, _ in recorded if isinstance(one, Measured))
    assert [one.n_queries for one in levels] == [1, 1]
    roomy = replace(measurement, radius=np.full_like(measurement.radius, LARGEST_RADIUS))
    order = 1 if norm == "l1" else 2
    cut, whole = (one.answers(totals).vector for one in (measurement, roomy))
    moved = np.clip(totals + 20 * day.occupancy.n_records, 0, VALUE_RANGE * day.occupancy.n_records)  # all by 2 points
    by_cut, by_whole = (one.answers(moved).vector.sum(axis=0) for one in (measurement, roomy))
    by_cut, by_whole = by_cut - cut.sum(axis=0), by_whole - whole.sum(axis=0)
    (length, known), *_ = supposed
    share = known.share @ by_whole**2 / (by_whole @ by_whole)
    assert by_cut @ by_whole / (by_whole @ by_whole) == pytest.approx(share, abs=0.06)
    lengths = np.linalg.norm(whole, order, axis=1)
    ratio = np.log(lengths / RADIUS / length)
    if np.mean(lengths > RADIUS) > 0.1:  # of vectors that are all short, little is known but that
        ((mean, variance),) = told  # the next day knows, and expects other lengths
        assert mean == pytest.approx(ratio.mean(), abs=0.1)
        assert variance < 0.03


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("unsure", [0.5, 2.0])
def test_lengths_are_corrected_by_what_was_found_of_values_as_far_as_they_were_told(
    unsure: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If they were told so well, their variance is half of what it was; or larger, and nothing was told."""
    day, asked = a_city(), []
    monkeypatch.setattr(shrinkage, "updated", lambda known, *_: (0.3, unsure * known[1]))
    monkeypatch.setattr("dpmath.estimate.programme.lengthened", lambda *known: asked.append(known) or 0.2)
    found, _ = run(programme(None, asked_of(day, "l2", MUCH["l2"], True)), day, values_of(day))
    assert found.state.shrink[0] == pytest.approx(0.3 - 0.2 * max(0.0, 1 - unsure))
    before, after, moved, *_ = asked[0]
    now = np.clip(before.strata.values(found.mean, found.view.today.mean), 0, 100)
    assert np.array_equal(moved, now - before.expected_of_strata)
    assert np.abs(moved).max() > 1
    assert np.array_equal(after.today.mean, found.view.today.mean)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("norm", NORMS)
def test_the_map_supposes_half_of_what_the_coarse_measurement_told_of_lengths(
    norm: Norm, monkeypatch: pytest.MonkeyPatch
) -> None:
    day, updated, possible_lengths = a_city(), shrinkage.updated, shrinkage.possible_lengths
    told: list[tuple[float, float]] = []
    supposed: list[tuple[float, float]] = []
    monkeypatch.setattr(shrinkage, "updated", lambda *known: told.append(updated(*known)) or told[-1])
    monkeypatch.setattr(shrinkage, "possible_lengths", lambda known: supposed.append(known) or possible_lengths(known))
    run(programme(None, asked_of(day, norm, MUCH[norm], True)), day, values_of(day))
    assert abs(told[0][0]) > 0.05
    assert supposed[1] == pytest.approx((told[0][0] / 2, told[0][1] / 4 + 0.2))


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_stated_variances_are_about_the_squared_errors(norm: Norm) -> None:
    """Three days of eight cities with noise that matters. With three other noises the ratio was 0.5 to 0.65.

    Cells differ by more here than is supposed before the first day, which in pure epsilon asks of few of them: how much
    they do remains unsure, and intervals are too wide (0.2 to 0.4). That day is apart.
    """
    squares, stated, random_bytes = np.zeros((8, 3)), np.zeros((8, 3)), np.random.default_rng(13).bytes
    state = None
    for seed, number in np.ndindex(8, 3):
        state = state if number else None
        day = a_city(100 * seed + number)
        totals = values_of(day, 1000 + 100 * seed + number)
        found, _ = run(programme(state, asked_of(day, norm, 10 * UNIT[norm], state is None)), day, totals, random_bytes)
        state = found.state
        squares[seed, number] = error(found, day, totals) ** 2
        stated[seed, number] = np.average(found.variance, weights=day.occupancy.cell_records)
        assert np.linalg.eigvalsh(state.known.block(slice(None))).min() > -1e-9
    first = 1 if norm == "l1" else 0
    assert 0.4 < squares[:, first:].mean() / stated[:, first:].mean() < 1.6
    assert 0.15 < squares[:, 0].mean() / stated[:, 0].mean() < 1.6


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("first", [True, False])
def test_recorded_answers_give_the_very_same_questions_and_estimate_without_any_values(norm: Norm, first: bool) -> None:
    day, limit = a_city(), 3 * UNIT[norm]
    state = None if first else a_state(a_city(first_name=103))
    asked = asked_of(day, norm, limit, first)
    found, recorded = run(programme(state, asked), day, values_of(day))
    assert same(answered(programme(state, asked), recorded), found)

    asking = programme(state, asked)
    question = next(asking)
    for step in recorded[:-1]:
        assert same(question, step[0])
        question = asking.send(step)
    assert same(question, recorded[-1][0])

    for wrong in (recorded[:-1], [*recorded, recorded[-1]], []):
        with pytest.raises(ValueError, match="not those of the day's questions"):
            answered(programme(state, asked), wrong)
    for place, of in ((-1, "check"), (-3, "measurement")):
        wrong = list(recorded)
        wrong[place] = (recorded[-2][0], recorded[place][1])
        with pytest.raises(ValueError, match=f"not those of a {of}"):
            answered(programme(state, asked), wrong)


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_asking_asks_each_question_once_and_returns_what_answering_again_returns(norm: Norm) -> None:
    """With the same random bytes, asking by hand is the very same."""
    day = a_city()
    asked, totals = asked_of(day, norm, UNIT[norm], True), values_of(day)
    found, recorded = ask(programme(None, asked), complete(day, totals), np.random.default_rng(5).bytes)
    assert same(answered(programme(None, asked), recorded), found)
    by_hand = run(programme(None, asked), day, totals, np.random.default_rng(5).bytes)
    assert same(by_hand[0], found)
    assert len(by_hand[1]) == len(recorded)
    for (one, answers), (other, others) in zip(by_hand[1], recorded, strict=True):
        assert same(one, other)
        assert same(answers, others)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("norm", NORMS)
def test_the_expected_deviation_is_that_of_textbook_conditioning_on_the_design(norm: Norm) -> None:
    day, n_days = a_city(), 3
    state = a_state(a_city(first_name=97))
    asked = replace(asked_of(day, norm, UNIT[norm], False), n_days=n_days)
    view = View.of(day, state.later(n_days).with_hexagons(day), covariates(day, True))
    noise = asked.noise("map") / RADIUS
    one, model = design(view, norm, noise, np.ones(60)), Textbook(view)
    part = parts(view, one.loading, one.fields, norm)
    seen = shrinkage.kept(view.state.shrink, one.length, part).share[:, None] * model.sums(view, one)
    of_sums = seen @ model.covariance @ seen.T + noise**2 * np.eye(len(seen))
    gain = np.linalg.solve(of_sums, seen @ model.covariance).T
    left = model.of_means @ (model.covariance - gain @ seen @ model.covariance) @ model.of_means.T
    residual = np.bincount(day.occupancy.cell, view.share_of_cell**2 * view.residual_variance)
    expected = np.sqrt(residual + np.maximum(np.diag(left) - residual, 0))
    before = np.diag(model.of_means @ model.covariance @ model.of_means.T)
    deviation, day_share = expected_deviation(state, asked)
    assert deviation == pytest.approx(expected, rel=1e-6)
    assert day_share == pytest.approx(1 - expected**2 / before, abs=1e-6)
    assert 0 < day_share.max() <= 1


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("first", [True, False])
def test_a_days_questions_cost_no_user_more_than_the_budget(norm: Norm, first: bool) -> None:
    """The questions as they are asked, so with their real limits, radii and noise."""
    day, limit = a_city(), 2 * UNIT[norm] + 12345
    currency: Currency = PURE if norm == "l1" else Concentrated(Decimal("1e-6"))
    budgets = np.array([limit // 50 * user for user in range(60)], dtype=object)
    state = None if first else a_state(day)
    _, recorded = run(programme(state, asked_of(day, norm, limit, first, budgets)), day, values_of(day))
    paid = sum((question.losses(currency) for question, _ in recorded), np.zeros(60, dtype=object))
    assert all(0 <= loss <= min(budget, limit) for loss, budget in zip(paid, budgets, strict=True))
    assert paid.max() > 0.99 * limit
    assert paid[25] > 0.3 * limit, "who is short of budget is still measured"
    for question, _ in recorded:
        assert question.losses(currency)[1:][budgets[1:] < limit].all(), "who is short is asked as well"


@pytest.mark.theorem("HV-E5")
@pytest.mark.parametrize("norm", NORMS)
def test_the_check_learns_how_much_pairs_differ(norm: Norm) -> None:
    found = {}
    for residual in (1.0, 40.0):
        day, state = a_city(), None
        for number in range(3):
            day = a_city(number)
            asked = asked_of(day, norm, MUCH[norm], state is None)
            estimate, recorded = run(programme(state, asked), day, values_of(day, number, residual))
            state = estimate.state
            assert isinstance(recorded[-1][0], Check)
        assert state is not None
        view = View.of(day, state, covariates(day, True))
        found[residual] = float((view.residual_variance * day.occupancy.n_records).mean())
    assert found[40.0] > 5 * found[1.0]


@pytest.mark.theorem("HV-E5")
@pytest.mark.statistical
@pytest.mark.parametrize("norm", NORMS)
def test_what_users_have_in_common_is_learned_apart_from_what_their_pairs_differ_by(norm: Norm) -> None:
    """Users are off in all cells alike by 8 points, or their pairs are, each for itself.

    In ten draws the variance that users are thought to have in common was 40 to 71 and 1.7 to 5.1 square points, the
    logs with deviations of 0.17 and 0.35: fails by chance less than once in 1e5 runs.
    """
    found, rng = {}, np.random.default_rng()
    for alike in (True, False):
        day, state = a_city(n_users=150), None
        n_records, user = day.occupancy.n_records, day.occupancy.user
        off = rng.normal(0, 80, 150)[user] if alike else rng.normal(0, 80, user.size)
        totals = values_of(day, 1, 2.0) + np.rint(off).astype(np.int64) * n_records
        for _ in range(3):
            asked = asked_of(day, norm, MUCH[norm], state is None)
            state = run(programme(state, asked), day, np.clip(totals, 0, VALUE_RANGE * n_records))[0].state
        assert state is not None
        found[alike] = float(np.average(View.of(day, state, covariates(day, True)).alike_variance, weights=n_records))
    assert 20 < found[True] < 130
    assert found[False] < 15


@pytest.mark.theorem("HV-E5")
def test_users_are_not_far_from_the_estimate_because_ticks_are_coarse() -> None:
    """Values are 0 or 1, and so are ticks: an estimate of .3 is none, and all records of a user would add up its error.

    It is 44 square points; with estimates in whole ticks it was more than 700. Noise is drawn once.
    """
    day, state, rng = a_city(n_users=150), None, np.random.default_rng(6)
    n_records = day.occupancy.n_records
    for _ in range(3):
        asked = replace(asked_of(day, "l2", MUCH["l2"], state is None), value_range=1)
        state = run(programme(state, asked), day, rng.binomial(n_records, 0.3), rng.bytes)[0].state
    assert state is not None
    found = View.of(day, state, covariates(day, True)).alike_variance
    assert np.average(found, weights=n_records) < 100


@pytest.mark.theorem("HV-E5")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("one", [0, 4, 8, 12])
def test_more_pairs_or_users_far_from_the_estimate_raise_the_variance_of_their_class_most(norm: Norm, one: int) -> None:
    """The same recorded day, but for how many of one class were far; in deviations, as far as each class is known.

    Noise is drawn once.
    """
    day = a_city()
    state = a_state(day)
    asked = asked_of(day, norm, MUCH[norm], False)
    _, recorded = run(programme(state, asked), day, values_of(day), np.random.default_rng(5).bytes)
    found = []
    for more in (-4, 0, 4):
        check, answers = recorded[-1]
        other = [answer + (more << 20) * (number == one) for number, answer in enumerate(answers)]
        last = (check, np.array(other, dtype=object))
        found.append(answered(programme(state, asked), [*recorded[:-1], last]))
    deviation = np.sqrt(np.diag(found[1].state.residual_covariance))
    for fewer, same_or_more in itertools.pairwise(found):
        rise = same_or_more.state.residual - fewer.state.residual
        assert rise[one] > 0.02
        assert (rise / deviation).argmax() == one
        if one == 12:  # what users have in common is not each pair's own
            assert (rise[:12] < rise[12] / 2).all()
        else:
            assert same_or_more.variance.sum() > fewer.variance.sum()
        assert same(fewer.mean, same_or_more.mean)
    covariance = found[1].state.residual_covariance
    before = state.later(1).residual_covariance
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert (np.diag(covariance) < np.diag(before)).all()


@pytest.mark.theorem("HV-E4")
def test_a_state_that_was_stored_is_the_very_same() -> None:
    day = a_city()
    found, _ = run(programme(None, asked_of(day, "l2", UNIT["l2"], True)), day, values_of(day))
    later = asked_of(a_city(3), "l2", UNIT["l2"], False)
    found, _ = run(programme(found.state, later), a_city(3), values_of(a_city(3)))
    state = replace(found.state, n_days=4)
    assert len(state.told) == 3
    arrays = to_arrays(state)
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    again = from_arrays(arrays)
    assert same(again, state)
    assert same(again.known, state.known)
    later = asked_of(a_city(3), "l2", UNIT["l2"], False)
    assert same(next(programme(again, later)), next(programme(state, later)))
