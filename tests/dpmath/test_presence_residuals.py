"""How far users and records are from the map: learned from noisy shares, against draws with known variances."""

import numpy as np
import pytest

from dpmath.presence.ball import Ball
from dpmath.presence.intervals import Number, harmonic, quantiles
from dpmath.presence.looks import Check
from dpmath.presence.residuals import Residuals, few, residuals_learned
from dpmath.presence.user_cells import UserCells

RECORDS = Number(np.array([4.0]), np.array([9.0]))
OF_USER, OF_RECORD = 900.0, 2500.0
N_CELLS, RANGE, CENTRE = 40, 4000, 2000


def a_day(rng: np.random.Generator, n_users: int) -> UserCells:
    """Return a day whose values are off the centre by users and records alone."""
    user = np.repeat(np.arange(n_users), 10)
    cell = np.concatenate([rng.choice(N_CELLS, 10, replace=False) for _ in range(n_users)])
    n = np.maximum(np.rint(rng.gamma(16 / 9, 9 / 4, user.size)), 1).astype(np.int64)
    mean = CENTRE + np.sqrt(OF_USER) * rng.normal(size=user.size) + np.sqrt(OF_RECORD / n) * rng.normal(size=user.size)
    return UserCells(user, cell, n, np.rint(mean * n).astype(np.int64), N_CELLS, int(n.max()), RANGE)


def answers(day: UserCells, thought: Residuals, of_map: float) -> np.ndarray:
    """Return what the question says of a day without noise."""
    expected = np.tile(np.rint([of_map + thought.of_user, thought.of_record]).astype(np.int64), (N_CELLS, 1))
    check = Check(few(RECORDS), np.full(N_CELLS, CENTRE), expected, 1 << 10, Ball(1 << 20, 1 << 40, 4))
    return np.asarray(check.private_vectors(day).sum(axis=0)).ravel().astype(object)


@pytest.mark.theorem("HV-E27")
@pytest.mark.parametrize("wrong", [(0.4, 2.5), (2.5, 0.4), (1.0, 1.0)])
def test_both_variances_are_found_from_what_was_thought_of_them(wrong: tuple[float, float]) -> None:
    thought = Residuals.guessed(OF_USER * wrong[0], OF_RECORD * wrong[1])
    day = a_day(np.random.default_rng(3), 20_000)
    for _ in range(6):
        told = answers(day, thought, 0.0)
        thought = residuals_learned(thought, told, 1.0, RECORDS, few(RECORDS), (0.0, 0.0)).a_day_later()
    assert thought.of_user == pytest.approx(OF_USER, rel=0.15)
    assert thought.of_record == pytest.approx(OF_RECORD, rel=0.15)


@pytest.mark.theorem("HV-E27")
def test_noise_leaves_what_was_thought_and_intervals_allow_for_what_is_not_known() -> None:
    thought, day = Residuals.guessed(4 * OF_USER, 4 * OF_RECORD), a_day(np.random.default_rng(4), 200)
    told = answers(day, thought, 0.0)
    clear, lost = (residuals_learned(thought, told, one, RECORDS, few(RECORDS), (0, 0)) for one in (1.0, 1e20))
    assert (lost.of_user, lost.of_record) == pytest.approx((thought.of_user, thought.of_record), rel=1e-3)
    assert clear.of_user + clear.of_record / 4 < 0.5 * (thought.of_user + thought.of_record / 4)
    assert 1 < clear.spare(4.0) < lost.spare(4.0)
    rng, z = np.random.default_rng(5), 1.96
    some = Residuals(1.0, 1e-9, 0.3 * np.eye(2))
    true = np.exp(np.sqrt(0.3) * rng.normal(size=400_000) / 2) * rng.normal(size=400_000)
    assert np.mean(np.abs(true) < z * np.sqrt(some.spare(1.0))) == pytest.approx(0.95, abs=0.005)
    assert np.mean(np.abs(true) < z) < 0.935, "without it fewer hold"


@pytest.mark.theorem("HV-E24")
def test_the_mean_of_one_over_a_count_is_that_of_its_distribution() -> None:
    for mean, variance in ((0.7, 0.9), (5.0, 12.0), (60.0, 100.0)):
        draws = np.random.default_rng(6).gamma(mean**2 / variance, variance / mean, 400_000)
        found = harmonic(Number(np.array([mean]), np.array([variance])))
        assert found[0] == pytest.approx(1 / np.mean(1 / np.maximum(draws, 1.0)), rel=0.01)
    places = quantiles(RECORDS)
    assert np.all(np.diff(places[:, 0]) > 0)
    assert few(RECORDS) == pytest.approx(np.median(places), abs=1)


@pytest.mark.theorem("HV-E27")
def test_no_answer_moves_a_variance_without_bounds() -> None:
    """Answers that fit no two variances, for instance where those with few records are nearer to the centre."""
    rng = np.random.default_rng(8)
    for _ in range(300):
        thought = Residuals.guessed(*np.exp(rng.normal(0, 8, 2)))
        far, number = rng.integers(-(10**6), 10**6, (2, 2))
        told = np.concatenate([far, number]).astype(object)
        of_map = tuple(np.exp(rng.normal(0, 8, 2)).tolist())
        found = residuals_learned(thought, told, float(np.exp(rng.normal(0, 8))), RECORDS, few(RECORDS), of_map)
        ratio = np.array([found.of_user / thought.of_user, found.of_record / thought.of_record])
        assert np.all((ratio > 0.04) & (ratio < 25))
        assert np.all(np.linalg.eigvalsh(found.covariance) > 0)
