"""What balls keep of vectors, and what the room of vectors tells of it, by numerical integration."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from dpmath.estimate import shrinkage

SPREAD = 0.4


def mean_of(number: Callable[[float], float], log_ratio: float, length: float) -> float:
    """Return the mean of a function of the length, with lengths log-normal."""
    corners = [(math.log(at / length) - log_ratio) / SPREAD for at in (2 / 3, 1, 2)]

    def weighted(step: float) -> float:
        return number(length * math.exp(log_ratio + SPREAD * step)) * math.exp(-step * step / 2)

    inside = [one for one in corners if -9 < one < 9]
    return float(quad(weighted, -9, 9, points=inside or None)[0] / math.sqrt(2 * math.pi))


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("log_ratio", [-2.0, 0.0, 0.7])
@pytest.mark.parametrize("length", [0.1, 0.9, 5.0])
def test_means_over_users_are_those_of_log_normal_lengths(log_ratio: float, length: float) -> None:
    shrink = mean_of(lambda one: min(1.0, 1 / one), log_ratio, length)
    assert float(shrinkage.mean_shrink(log_ratio, length)) == pytest.approx(shrink, abs=0.01)
    room = mean_of(lambda one: min(max(1 / one, 0.5), 1.5) - 0.5, log_ratio, length)
    assert float(shrinkage.mean_room(log_ratio, length)) == pytest.approx(room, abs=0.01)
    share = mean_of(lambda one: min(1.0, one), log_ratio, length) / mean_of(float, log_ratio, length)
    assert shrinkage.kept((log_ratio, 1e-12), length).share == pytest.approx(share, abs=0.01)
    assert shrinkage.kept((log_ratio, 1e-12), length).deviation < 1e-6


@pytest.mark.theorem("HV-E6")
def test_of_sums_of_vectors_the_balls_keep_less_than_the_mean_shrink_factor() -> None:
    """Vectors of 20,000 users whose directions have not to do with their lengths, cut to the ball and added up."""
    rng, length = np.random.default_rng(5), 1.1
    lengths = length * np.exp(SPREAD * rng.normal(size=20_000))
    vectors = lengths[:, None] * rng.normal([3, 0, -3], size=(lengths.size, 3)) / 5
    shrink = np.minimum(1, 1 / lengths)
    whole, cut = vectors.sum(axis=0), (shrink[:, None] * vectors).sum(axis=0)
    kept = shrinkage.kept((0.0, 1e-12), length).share
    assert (cut @ whole) / (whole @ whole) == pytest.approx(kept, abs=0.01)
    assert float(shrinkage.mean_shrink(0.0, length)) > kept + 0.05


@pytest.mark.theorem("HV-E6")
def test_how_well_the_kept_share_is_known_is_how_much_it_varies_with_the_lengths() -> None:
    rng, known, length = np.random.default_rng(6), (0.2, 0.15), 0.9
    ratios = known[0] + math.sqrt(known[1]) * rng.normal(size=2_000)
    logs = [math.log(shrinkage.kept((float(ratio), 1e-12), length).share) for ratio in ratios]
    found = shrinkage.kept(known, length)
    assert found.deviation == pytest.approx(float(np.std(logs)), rel=0.07)
    assert found.error == pytest.approx(math.hypot(0.5 / found.share - 0.5, found.deviation))


@pytest.mark.theorem("HV-E6")
def test_what_is_known_of_lengths_falls_back_to_the_prior() -> None:
    known = (0.8, 0.01)
    assert shrinkage.later(shrinkage.later(known, 2), 3) == pytest.approx(shrinkage.later(known, 5))
    assert shrinkage.later(known, 1)[1] > known[1]
    assert shrinkage.later(known, 1000) == pytest.approx((0.0, 0.2))
    assert shrinkage.of_other_questions(known) == pytest.approx((0.4, 0.2025))


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("known", [(0.0, 0.01), (0.5, 0.3), (-1.0, 1.0)])
def test_the_expected_length_has_the_target_for_its_mean_shrink_factor(known: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    length = shrinkage.expected_length(known)
    ratios = known[0] + math.sqrt(known[1]) * rng.normal(size=200_000)
    lengths = length * np.exp(ratios + SPREAD * rng.normal(size=ratios.size))
    assert np.minimum(1, 1 / lengths).mean() == pytest.approx(shrinkage.TARGET, abs=0.015)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("truth", [-0.6, 0.0, 0.9, 1.2])
def test_what_was_measured_moves_the_log_ratio_to_the_truth(truth: float) -> None:
    known, length = (0.3, 0.25), 0.9
    measured = float(shrinkage.mean_room(truth, length))
    off, before = abs(known[0] - truth), known[1]
    for variance in (1.0, 0.03, 0.003, 0.0003):
        mean, left = shrinkage.updated(known, measured, variance, length)
        assert abs(mean - truth) < off
        assert left < before
        off, before = abs(mean - truth), left
    assert off < 0.12
    assert shrinkage.updated(known, measured, 1e9, length) == pytest.approx(known, abs=1e-3)
    mean, least = shrinkage.updated(known, measured, 1e-12, length)
    assert least == pytest.approx(0.025**2 / 12), "no step of the grid is known better than that"
    assert shrinkage.updated((mean, least), measured, 1e-12, length) == pytest.approx((mean, least))
