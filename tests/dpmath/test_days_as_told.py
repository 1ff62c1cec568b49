"""How much days differ: what later days' sums tell of it, and what becomes of the map if they tell it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from city_days import (
    UNIT,
    VALUE_RANGE,
    Textbook,
    a_city,
    a_random_design,
    a_state,
    asked_of,
    error,
    run,
    same,
    share_held,
    told,
    true_means,
    unmeasured,
)

from dpmath.estimate.areas import HALF_WIDTH
from dpmath.estimate.covariates import covariates
from dpmath.estimate.day import Day
from dpmath.estimate.likelihood import NOTHING, ON_FIRST_DAY, Ladders
from dpmath.estimate.measurement import Norm
from dpmath.estimate.posterior import Estimate, estimated
from dpmath.estimate.programme import programme
from dpmath.estimate.state import State
from dpmath.estimate.view import View


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(
    ("error", "factor"),
    [
        ((-1.0, 0.81), 1.0),
        ((-1.0, 0.49), 2**-0.3),
        ((-0.2, 0.0), 1.0),
        ((0.2, 0.0), 1.0),
        ((1.0, 0.26), 1.0),
        ((1.0, 0.24), 2.0),
    ],
)
def test_what_days_differ_by_falls_to_the_largest_that_may_be_and_rises_where_that_is_clear(
    error: tuple[float, float], factor: float
) -> None:
    state = replace(told(unmeasured(9.0, (2.0, 4.0))), day_factor=0.5, day_error=error)
    found = state.with_days_as_told()
    assert found.of_the_day == pytest.approx(state.of_the_day * factor)
    assert found.day_error == pytest.approx((error[0] - np.log2(factor), error[1]))
    assert same(replace(found, day_factor=0.5, day_error=error), state), "what lasts stays"
    assert found.later(3).day_error == pytest.approx((found.day_error[0], min(2.0, error[1] + 0.03)))
    assert found.later(10_000).day_error[1] == 2.0


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("error", "factor", "left"), [((3.0, 0.25), 1.0, 1.0), ((-6.0, 0.25), 0.125, -0.75)])
def test_days_never_differ_more_than_was_first_supposed_nor_by_less_than_an_eighth(
    error: tuple[float, float], factor: float, left: float
) -> None:
    """What is told beyond that is forgotten, so that a change is seen soon."""
    state = replace(told(unmeasured(9.0, (1.0, 1.0))), day_factor=0.5, day_error=error).with_days_as_told()
    assert (state.day_factor, state.day_error) == (factor, (left, error[1]))
    assert same(state.with_days_as_told(), state)


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("of_scale", "shift"), [((1.0, 0.25), 1.0), ((-2.0, 0.25), -1.5)])
@pytest.mark.parametrize(("variance", "kept"), [(2.0, 0.0), (0.5, 0.75), (0.0, 1.0)])
def test_what_is_told_of_days_stays_where_the_scale_changes(
    of_scale: tuple[float, float], shift: float, variance: float, kept: float
) -> None:
    """Before anything is told, days differ by a share of the scale; once all is told, by what they are."""
    state = replace(told(unmeasured(9.0, (1.0, 1.0))), scale_error=of_scale, day_error=(0.3, variance)).rescaled()
    assert state.scale == pytest.approx(9 * 2 ** (shift / 2))
    assert state.day_error == pytest.approx((0.3 - kept * shift, variance))


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
@pytest.mark.theorem("HV-E7")
def test_a_city_that_becomes_lively_after_quiet_months_is_followed_within_weeks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In pure epsilon 1, by the error against that of days that were never learned to be alike. Noise is drawn once."""
    off = _become_lively()
    monkeypatch.setattr(State, "with_days_as_told", lambda state: state)
    off_before = _become_lively()
    monkeypatch.undo()
    monkeypatch.setattr("dpmath.estimate.state._DAY_FACTORS", (1e-6, 1.0))
    off_without_least = _become_lively()
    assert off < 1.2 * off_before
    assert off_without_least > 1.3 * off_before


def _become_lively() -> float:
    """Return the mean error of days 97 to 116 of cities whose days differ smoothly over places from day 90 on."""

    def differs(day: Day, rng: np.random.Generator, number: int) -> np.ndarray:
        x, y = day.position[day.hexagon, :2].T
        surface = 12 * (rng.normal() * np.cos(x) + rng.normal() * np.sin(y) + rng.normal()) / 3**0.5
        return np.asarray(surface if number >= 90 else 0 * surface)

    days = (one for seed in range(16) for one in _released(seed, 117, "l1", UNIT["l1"], differs))
    return float(np.mean([error(found, day, totals) for number, found, day, totals in days if number >= 97]))


def _released(
    seed: int, n_days: int, norm: Norm, limit: int, differs: Callable[[Day, np.random.Generator, int], np.ndarray]
) -> Iterator[tuple[int, Estimate, Day, np.ndarray]]:
    """Yield number, estimate, day and totals of each day of a city whose cells differ on a day as the function says."""
    rng, state = np.random.default_rng(seed), None
    of_hexagons = rng.normal(0, 12, 10)
    for number in range(n_days):
        day = a_city(1000 * seed + number)
        cell, n_records = day.occupancy.cell, day.occupancy.n_records
        of_cells = 50 + of_hexagons[day.hexagon] + 8 * np.cos(day.slot) + differs(day, rng, number)
        points = np.clip(of_cells[cell] + rng.normal(size=cell.size) * 8 / np.sqrt(n_records), 0, 100)
        totals = np.rint(points * VALUE_RANGE / 100 * n_records).astype(np.int64)
        found, _ = run(programme(state, asked_of(day, norm, limit, state is None)), day, totals, rng.bytes)
        state = found.state
        yield number, found, day, totals


@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize("true_error", [-4.0, 4.0])
@pytest.mark.parametrize("chosen", [NOTHING, {"day": (16.0,)}])
def test_what_later_sums_tell_of_days_is_bayes_rule_on_dense_matrices(true_error: float, chosen: Ladders) -> None:
    """By integration over the error and the day's own factor, whose log has deviation 1.5, whichever was chosen."""
    rng = np.random.default_rng(12)
    day, before = a_city(), (-0.2, 2.0)
    state = a_state(day)
    known = replace(state, covariance=state.covariance / 100, day_factor=0.9, day_error=before)
    view = View.of(day, known, covariates(day, True))
    noise, n_queries = 0.05, 40
    one = a_random_design(view, n_queries, rng)
    model = Textbook(view)
    seen, days = model.sums(view, one), np.zeros_like(model.covariance)
    block = slice(model.n_states, 2 * model.n_states)
    days[block, block] = model.covariance[block, block]
    of_day, all_else = (seen @ part @ seen.T for part in (days, model.covariance - days))

    def whole(error: float) -> np.ndarray:
        return np.asarray(2.0**error * of_day + all_else + noise**2 * np.eye(n_queries))

    sums = rng.multivariate_normal(np.zeros(n_queries), whole(true_error))
    found = estimated(view, one, sums, noise, 0.1, chosen).state.day_error
    both = np.linspace(-14, 14, 561)  # of all days, and of this day's own factor
    fit = [-0.5 * sums @ np.linalg.solve(whole(error), sums) for error in both]
    fit -= 0.5 * np.linalg.slogdet([whole(error) for error in both]).logabsdet
    of_all = np.linspace(-9, 9, 361)[:, None]
    own = (both - of_all) * math.log(2) / 1.5
    weight = np.exp(fit - np.max(fit) - 0.5 * own**2 - 0.5 * (of_all - before[0]) ** 2 / before[1]).sum(axis=1)
    weight /= weight.sum()
    mean = float(weight @ of_all[:, 0])
    deviation = math.sqrt(weight @ (of_all[:, 0] - mean) ** 2)
    assert found[0] == pytest.approx(mean, abs=0.02 * deviation)
    assert found[1] ** 0.5 == pytest.approx(deviation, rel=0.02)
    assert (found[0] > before[0]) == (true_error > 0)
    assert estimated(view, one, sums, noise, 0.1, ON_FIRST_DAY).state.day_error == before


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
@pytest.mark.theorem("HV-E7")
@pytest.mark.parametrize(("of_city", "most"), [(0.0, 0.97), (20.0, 1.0)])
def test_intervals_are_narrower_where_days_turn_out_to_be_alike_and_no_worse_where_only_the_mean_differs(
    of_city: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the interval score, which counts misses, too. A variance that could rise made it a fifth worse there."""
    held, score = _learned(of_city)
    monkeypatch.setattr(State, "with_days_as_told", lambda state: state)
    held_before, score_before = _learned(of_city)
    assert held > min(held_before, 0.95) - 0.001
    assert score <= most * score_before


def _learned(of_city: float) -> tuple[float, float]:
    """Return how many intervals of cities that differ so much a day hold on days 40 to 89, and their mean score."""

    def differs(_: Day, rng: np.random.Generator, __: int) -> np.ndarray:
        return np.asarray(of_city * rng.normal())

    held, scores = [], []
    days = (one for seed in range(12) for one in _released(seed, 90, "l2", UNIT["l2"] // 4, differs))
    for number, found, day, totals in days:
        if number >= 40:
            half, off = HALF_WIDTH * np.sqrt(found.variance), abs(found.mean - true_means(day, totals))
            held.append(share_held(found, day, totals))
            scores.append(np.mean(2 * half + 40 * np.maximum(off - half, 0)))
    return float(np.mean(held)), float(np.mean(scores))
