import math
from fractions import Fraction

import pytest

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.bias import rounding_errors, variance_error
from dpmath.core.currency import LAPLACE
from dpmath.noise.reach import noise_quantile


def tail(scale: float, k: int) -> float:
    """Return P(|Z| > k) by adding up the probabilities."""
    p = math.exp(-1 / scale)
    return 1 - sum((1 - p) / (1 + p) * p ** abs(z) for z in range(-k, k + 1))


@pytest.mark.theorem("HV-L3")
@pytest.mark.parametrize("scale", [0.3, 1, 4.5, 60])
@pytest.mark.parametrize("error_rate", [0.5, 0.05, 0.001])
def test_the_quantile_is_the_least_that_keeps_the_rate(scale: float, error_rate: float) -> None:
    k = noise_quantile(LAPLACE, round(LOSS_UNITS / scale), error_rate)
    assert tail(scale, k) <= error_rate * (1 + 1e-9)
    assert k == 0 or tail(scale, k - 1) > error_rate * (1 - 1e-9)


@pytest.mark.theorem("HV-L3")
def test_half_the_scale_gives_about_half_the_quantile() -> None:
    wide, narrow = (noise_quantile(LAPLACE, LOSS_UNITS // scale, 0.05) for scale in (2000, 1000))
    assert wide == pytest.approx(2 * narrow, abs=2)


@pytest.mark.theorem("HV-L3")
@pytest.mark.parametrize(("inverse_scale", "rate"), [(0, 0.05), (1, 0.0), (1, 1.0)])
def test_bad_arguments_are_refused(inverse_scale: int, rate: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        noise_quantile(LAPLACE, inverse_scale, rate)


@pytest.mark.theorem("HV-L4")
def test_no_pair_of_wrong_means_moves_the_variance_by_more_than_the_bound_and_some_come_near() -> None:
    value_range = 10
    worst_share = Fraction(0)
    for mean in range(0, 11):
        for second in range(0, 101, 5):
            for error_mean, error_square in ((1, 0), (0, 5), (2, 10)):
                bound = variance_error(Fraction(error_square), Fraction(error_mean), value_range)
                for sign in (-1, 1):
                    noisy_mean = min(max(mean + sign * error_mean, 0), value_range)
                    noisy_second = min(max(second - sign * error_square, 0), value_range**2)
                    true = Fraction(second, 4) - (mean - Fraction(value_range, 2)) ** 2
                    off = abs(Fraction(noisy_second, 4) - (noisy_mean - Fraction(value_range, 2)) ** 2 - true)
                    assert off <= bound
                    worst_share = max(worst_share, off / bound)
    assert worst_share > Fraction(4, 5), "a much smaller bound would fail"


@pytest.mark.theorem("HV-L7")
def test_rounding_moves_mean_and_variance_by_at_most_the_bounds_and_nearly_by_them() -> None:
    from itertools import product
    from statistics import fmean, pvariance

    mean_bound, variance_bound = (float(one) for one in rounding_errors(2))
    moved = []
    for values in product([step / 8 for step in range(17)], repeat=3):
        rounded = [math.floor(value + 0.5) for value in values]
        moved.append((abs(fmean(values) - fmean(rounded)), abs(pvariance(values) - pvariance(rounded))))
    assert max(mean for mean, _ in moved) == mean_bound
    assert 0.3 * variance_bound < max(variance for _, variance in moved) <= variance_bound
