"""The mean shrink factor and what is learned from it, by numerical integration."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpmath.estimate import shrinkage


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("log_ratio", [-2.0, 0.0, 0.7])
@pytest.mark.parametrize("length", [0.1, 0.9, 5.0])
def test_the_mean_shrink_factor_is_that_of_log_normal_lengths(log_ratio: float, length: float) -> None:
    def weighted(step: float) -> float:
        return min(1.0, math.exp(-0.6 * step - log_ratio) / length) * math.exp(-step * step / 2)

    corner = (-log_ratio - math.log(length)) / 0.6
    inside = [corner] if -9 < corner < 9 else None
    exact = quad(weighted, -9, 9, points=inside)[0] / math.sqrt(2 * math.pi)
    assert float(shrinkage.mean_shrink(log_ratio, length)) == pytest.approx(exact, abs=0.01)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("known", [(0.0, 0.01), (0.5, 0.3), (-1.0, 1.0)])
def test_the_expected_length_has_the_target_for_its_mean_shrink_factor(known: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    length = shrinkage.expected_length(known)
    ratios = known[0] + math.sqrt(known[1]) * rng.normal(size=200_000)
    lengths = length * np.exp(ratios + 0.6 * rng.normal(size=ratios.size))
    assert np.minimum(1, 1 / lengths).mean() == pytest.approx(shrinkage.TARGET, abs=0.015)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("truth", [-0.6, 0.0, 0.9, 1.2])
def test_what_was_measured_moves_the_log_ratio_to_the_truth(truth: float) -> None:
    known, length = (0.3, 0.25), 0.9
    measured = float(shrinkage.mean_shrink(truth, length))
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
