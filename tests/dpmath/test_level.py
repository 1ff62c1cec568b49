"""How far a day is off as a whole, from users' deviations that are cut: against numerical integration and search."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from city_days import UNIT, Textbook, a_city, a_short_view, a_view, users_of_pairs
from law_days import asked_with_laws, private_of
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from dpmath.estimate.asking import ask
from dpmath.estimate.day import Day
from dpmath.estimate.level import Answer, Users, level, mean_before, mean_cut
from dpmath.estimate.programme import programme
from dpmath.estimate.view import View

SHIFTS = [-3.0, -1.0, -0.2, 0.0, 0.7, 1.5]
DEVIATIONS = [0.02, 0.3, 0.5]


def cut(mean: float, deviation: float) -> float:
    """Return the mean of cut normal numbers by quadrature."""
    corners = sorted(float(np.clip((end - mean) / deviation, -9, 9)) for end in (-1, 1))
    return quad(lambda z: np.clip(mean + deviation * z, -1, 1) * norm.pdf(z), -9, 9, points=corners, limit=200)[0]


@pytest.mark.theorem("HV-E28")
@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_the_mean_of_cut_numbers_is_that_of_quadrature_and_so_is_its_slope(deviation: float) -> None:
    found, slope = mean_cut(np.array(SHIFTS), deviation)
    assert found == pytest.approx([cut(mean, deviation) for mean in SHIFTS], abs=1e-7)
    apart = [cut(mean + 1e-3, deviation) - cut(mean - 1e-3, deviation) for mean in SHIFTS]
    assert slope == pytest.approx(np.array(apart) / 2e-3, abs=2e-3 / deviation)


@pytest.mark.theorem("HV-E28")
@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_the_mean_is_found_from_the_cut_one_until_nine_of_ten_are_cut(deviation: float) -> None:
    most = 1 + deviation * float(norm.ppf(0.9))
    for answer in (0.0, 0.1, 0.6, cut(most, deviation)):
        mean, slope = mean_before(answer, deviation)
        assert mean == pytest.approx(brentq(lambda m, answer=answer: cut(m, deviation) - answer, -9, 9), abs=2e-3)
        assert slope == pytest.approx(mean_cut(mean, deviation)[1], abs=2e-3)
    assert mean_before(1.0, deviation)[0] == mean_before(7.0, deviation)[0] == pytest.approx(most)


@pytest.mark.theorem("HV-E28")
def test_an_answer_tells_the_mean_and_how_well() -> None:
    """From what it was made: nothing is cut, some are, nearly all are, or noise is more than there is to tell."""
    users = Users.of(a_view(a_city()), np.ones(60))
    for mean, deviation in ((0.01, 0.1), (0.5, 0.1), (0.8, 0.4), (-0.8, 0.4)):
        one = Answer(cut(mean, deviation), users, deviation, 1e-3).reading(0.0)
        assert cut(mean, deviation) / one.share == pytest.approx(mean, rel=1e-2)
        slope = float(mean_cut(mean, deviation)[1])
        assert one.noise / one.share == pytest.approx(1 / slope, rel=1e-2)
    assert Answer(0.5, users, 0.1, 1e-3).reading(0.0).error < 1e-3
    assert Answer(0.7, users, 0.4, 1e-3).reading(0.0).error > 0.01
    beyond = Answer(2.0, users, 0.2, 0.1).reading(0.0)
    mean = 2.0 / beyond.share
    assert mean == pytest.approx(1 + 0.2 * norm.ppf(0.9))
    assert 0.1 * beyond.noise / beyond.share == pytest.approx(mean / 4)
    silent = Answer(60.0, users, 0.2, 50.0).reading(0.0)  # nobody has a budget
    assert 50 * silent.noise / silent.share >= 49, "nothing is told"


def a_day_off(users: Users, points: float, limit: float, noise: float) -> Answer:
    """Return what is read of a day that is off by so much, asked with a limit, both in points."""
    length = users.usual / limit
    return Answer(cut(points / limit, length), users, length, noise)


@pytest.mark.theorem("HV-E28")
@pytest.mark.parametrize("side", [-1, 1])
def test_a_day_unlike_all_others_is_known_by_answers_that_no_usual_day_gives(side: int) -> None:
    """Days differ by a point. One is off by 30, asked with a limit of 10 points and then with one of 50."""
    users = replace(Users.of(a_view(a_city()), np.ones(60)), usual=2.0, alone=0.01, shifts=np.linspace(0, 2.5, 64))
    usual = a_day_off(users, side * 1.0, 10.0, 0.05).unlike_others(None)
    assert abs(usual) < 0.002, "as likely as before, or less"
    odd = a_day_off(users, side * 30.0, 10.0, 0.05).unlike_others(None)
    assert odd * side > 0.99
    known = a_day_off(users, side * 30.0, 10.0, 0.05).reading(odd)
    mean = 10 / known.share
    deviation = 10 * 0.05 * known.noise / known.share
    room = users.above if side > 0 else users.below
    assert 10 < mean < room, "it is anywhere beyond the limit"
    assert deviation == pytest.approx((room - 10) / np.sqrt(12), rel=0.15)
    view = a_view(a_city())
    wide, narrow = (1 / level(view, users, np.ones(60), 2.0, chance).length for chance in (odd, usual))
    assert wide > 3 * narrow, "the next question is about all of that"
    told = a_day_off(users, side * 30.0, 50.0, 0.02)
    again = told.reading(told.unlike_others(odd))
    assert 50 * abs(told.mean) / again.share == pytest.approx(30, abs=0.5)
    assert 50 * 0.02 * again.noise / again.share == pytest.approx(1.0, rel=0.1)


@pytest.mark.theorem("HV-E28")
@pytest.mark.statistical
@pytest.mark.parametrize("spread", [0, 1])
@pytest.mark.parametrize("moved", [-25, 40])
def test_the_map_of_a_day_unlike_all_others_is_right(spread: int, moved: int) -> None:
    """Records differ little, so days are supposed to; then all values move. Noise is drawn once."""
    rng, day, state = np.random.default_rng(1), a_city(1), None
    for middle in (50, 50 + moved):
        records = [(middle + spread * rng.integers(-1, 2, n)).tolist() for n in day.occupancy.n_records.tolist()]
        private = private_of(day.occupancy, records)
        found, _ = ask(programme(state, asked_with_laws(day, 20 * UNIT["l2"], state)), private, rng.bytes)
        state = found.state
        off = found.mean - np.bincount(day.occupancy.cell, private.totals) / day.occupancy.cell_records / 10
        assert (np.abs(off) < 5 * np.sqrt(found.variance) + 0.1).all()
        assert np.sqrt(found.variance).max() < 2


@pytest.mark.theorem("HV-E2", "HV-E28")
@pytest.mark.parametrize("make", [a_view, a_short_view])
def test_the_level_is_asked_by_users_means(make: Callable[[Day], View]) -> None:
    """A user is off by the mean over records, as a share of the limit; less noise leaves room for more."""
    view, reach = make(a_city()), np.where(np.arange(60) % 3, 1.0, 0.25)
    of_users = users_of_pairs(view.day) * view.day.occupancy.n_records
    of_users /= of_users.sum(axis=1, keepdims=True)
    deviation = np.sqrt(np.diag(of_users @ Textbook(view).pairs @ of_users.T))
    limits = []
    for noise in (30.0, 2.0, 1e-9):
        one = level(view, Users.of(view, reach), reach, noise, None)
        assert (one.loading == np.ones((view.strata.cell.size, 1))).all()
        weights = users_of_pairs(view.day) @ one.weight / reach
        assert weights == pytest.approx(np.full(60, weights[0])), "who is short of budget counts for less"
        assert users_of_pairs(view.day) * one.weight == pytest.approx(of_users * reach[:, None] * weights[0])
        limits.append(1 / weights[0])
        usual = one.length * limits[-1]
        assert 0.5 * deviation.mean() < usual < 2 * deviation.mean()
        assert limits[-1] >= 2 * usual * 0.999
        assert limits[-1] >= min(0.5 * usual * reach.sum() / noise, 100) * 0.999, "noise of half of it does no harm"
    assert limits[0] <= limits[1] < limits[2] == pytest.approx(100), "the whole range: nothing is cut"


@pytest.mark.theorem("HV-E28")
@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("noise", [0.5, 8.0, 40.0])
def test_no_limit_is_better_for_days_that_may_differ_much(factor: float, noise: float) -> None:
    """By simulation: of days drawn from the law, asked with limits half and double as high, as they would be read."""
    view, rng = a_view(a_city()), np.random.default_rng(7)
    view = replace(view, today=replace(view.today, prior=view.today.prior * factor))
    one = level(view, Users.of(view, np.ones(60)), np.ones(60), noise, 0.0)
    of_users = users_of_pairs(view.day)
    limit = 1 / float((of_users @ one.weight)[0])
    of_users = of_users * view.day.occupancy.n_records
    share = (of_users / of_users.sum(axis=1, keepdims=True)).mean(axis=0)
    common = np.sqrt(share @ _common(view) @ share)
    shifts = common * np.exp(0.75 * rng.normal(size=40_000)) * rng.normal(size=40_000)
    unknown = np.exp(np.sqrt(view.state.residual_covariance.mean()) / 2)

    def off(times: float) -> float:
        told, slope = mean_cut(shifts / limit / times, one.length / times)
        other, _ = mean_cut(shifts / limit / times, one.length / times * unknown)
        error = (limit * times) ** 2 * ((noise / 60) ** 2 + (other - told) ** 2) / np.maximum(slope, 1e-9) ** 2
        return float(np.mean(np.sqrt(error * shifts**2 / (error + shifts**2))))

    assert off(1.0) < 1.03 * off(2.0) or limit == pytest.approx(100)
    assert off(1.0) < 1.03 * off(0.5) or one.length == pytest.approx(0.5), "it is at least twice what users differ by"


def _common(view: View) -> np.ndarray:
    """Return the covariance of pairs by the coefficients alone, shape (P, P)."""
    of_pairs = Textbook(view).of_pairs[:, : view.today.mean.size]
    return np.asarray(of_pairs @ view.today.block(slice(None)) @ of_pairs.T)
