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
    corners = [(math.log(at / length) - log_ratio) / SPREAD for at in (4 / 5, 1, 4)]

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
    room = mean_of(lambda one: min(max(1 / one, 0.25), 1.25) - 0.25, log_ratio, length)
    assert float(shrinkage.mean_room(log_ratio, length)) == pytest.approx(room, abs=0.01)
    inside = mean_of(lambda one: float(one <= 1), log_ratio, length)
    kept = shrinkage.kept((log_ratio, 1e-12), length, 0.75)
    assert kept.share == pytest.approx(max(shrink - 0.75 * (shrink - inside), 0.1), abs=0.01)
    assert kept.deviation < 1e-5, "lengths are known to within a millionth"


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("n_queries", [1, 2, 30])
def test_of_what_moves_all_vectors_alike_the_balls_keep_the_stated_share(norm: int, n_queries: int) -> None:
    """Vectors of 400,000 users, of which the first component is larger, cut to the ball: before and after a small move.

    The mean shrink factor is something else where vectors have few components, and the share of the vectors' lengths
    that is kept where they have many.
    """
    rng, length, sizes = np.random.default_rng(5), 1.1, np.append(1.5, np.ones(n_queries - 1))
    vectors = sizes * rng.choice([-1, 1], size=(400_000, n_queries)) * (1 + 0.1 * rng.random((400_000, n_queries)))
    vectors *= length * np.exp(SPREAD * rng.normal(size=400_000))[:, None] / np.linalg.norm(vectors, norm, 1)[:, None]

    def sums(moved: np.ndarray) -> np.ndarray:
        return _cut(vectors + moved, norm).mean(axis=0)

    parts = sizes**norm / (sizes**norm).sum()
    kept = [shrinkage.kept((0.0, 1e-12), length, part).share for part in parts]
    for query in {0, n_queries - 1}:
        move = 0.02 * (np.arange(n_queries) == query)
        share = (sums(move) - sums(-move))[query] / 0.04
        assert share == pytest.approx(kept[query], abs=0.03)
    whole, cut = (np.linalg.norm(one, norm, axis=1).mean() for one in (vectors, _cut(vectors, norm)))
    shrink = float(shrinkage.mean_shrink(0.0, length))
    assert abs(kept[0] - (shrink if n_queries == 1 else cut / whole)) > 0.04


def _cut(vectors: np.ndarray, norm: int) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, norm, axis=1), 1)[:, None]


@pytest.mark.theorem("HV-E6")
def test_how_well_the_kept_share_is_known_is_how_much_it_varies_with_the_lengths() -> None:
    rng, known, length, part = np.random.default_rng(6), (0.2, 0.15), 0.9, 0.8
    ratios = known[0] + math.sqrt(known[1]) * rng.normal(size=2_000)
    logs = [math.log(shrinkage.kept((float(ratio), 1e-12), length, part).share) for ratio in ratios]
    found = shrinkage.kept(known, length, part)
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
def test_possible_lengths_have_the_mean_shrink_factors_that_are_said(known: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    lengths, shrinks = shrinkage.possible_lengths(known)
    assert lengths[-1] == lengths.max() > 10 * lengths.min()
    assert shrinks[-1] == pytest.approx(shrinkage.LEAST_SHRINK, abs=0.01)
    ratios = known[0] + math.sqrt(known[1]) * rng.normal(size=200_000)
    spread = np.exp(ratios + SPREAD * rng.normal(size=ratios.size))
    for length, shrink in zip(lengths, shrinks, strict=True):
        assert np.minimum(1, 1 / (length * spread)).mean() == pytest.approx(shrink, abs=0.015)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("truth", [-0.3, 0.0, 0.9, 1.2])
def test_what_was_measured_moves_the_log_ratio_to_the_truth(truth: float) -> None:
    known, length = (0.3, 0.25), 0.9
    measured = float(shrinkage.mean_room(truth, length))
    mean, left = shrinkage.updated(known, measured, 0.0003, length)
    assert mean == pytest.approx(truth, abs=0.12)
    assert left < known[1]
    assert abs(mean - truth) < abs(known[0] - truth)
    mean, least = shrinkage.updated(known, measured, 1e-12, length)
    assert least == pytest.approx(0.025**2 / 12), "no step of the grid is known better than that"
    again = shrinkage.updated((mean, least), measured, 1e-12, length)
    assert again == pytest.approx((mean, least))


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("known", [(0.3, 0.02), (0.0, 0.25), (-1.0, 0.05)])
@pytest.mark.parametrize("variance", [1e-3, 0.05, 1e9])
def test_what_is_known_after_a_measurement_is_bayes_rule(known: tuple[float, float], variance: float) -> None:
    """The log ratio is normal before; by integration."""
    length, measured = 0.9, 0.55

    def weight(ratio: float) -> float:
        off = measured - mean_of(lambda one: min(max(1 / one, 0.25), 1.25) - 0.25, ratio, length)
        return float(np.exp(-0.5 * (ratio - known[0]) ** 2 / known[1] - 0.5 * off**2 / variance))

    ratios = np.linspace(-4, 4, 641)
    weights = np.array([weight(ratio) for ratio in ratios])
    weights /= weights.sum()
    mean = float(weights @ ratios)
    found = shrinkage.updated(known, measured, variance, length)
    assert found == pytest.approx((mean, float(weights @ (ratios - mean) ** 2)), rel=0.05, abs=0.02)
