import os

import numpy as np
import pytest
from scipy.stats import chi2

from dpmath.core.accounting import LOSS_UNITS
from dpmath.noise.sampling import discrete_laplace

pytestmark = [pytest.mark.theorem("CKS-A2"), pytest.mark.statistical]

FALSE_ALARM = 1e-9
N_DRAWS = 400_000


def chi_squared_p_value(draws: np.ndarray, scale: float) -> float:
    """Return the p-value of draws against discrete Laplace of a scale, over values of enough probability."""
    reach = int(scale * 6) + 1
    p = np.exp(-1 / scale)
    inner = (1 - p) / (1 + p) * p ** np.abs(np.arange(-reach, reach + 1))
    tail = p ** (reach + 1) / (1 + p)
    expected = np.concatenate([[tail], inner, [tail]]) * draws.size
    observed = np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, df=expected.size - 1))


def draws_of(scale: float) -> np.ndarray:
    inverse = np.full(N_DRAWS, round(LOSS_UNITS / scale), dtype=object)
    return discrete_laplace(inverse, os.urandom)


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.0, 10.0])
def test_the_noise_is_discrete_laplace_of_its_scale_and_of_no_other(scale: float) -> None:
    """A right sampler fails once in 1e9 runs; scales 10 % too small and too large are told apart."""
    draws = draws_of(scale)
    assert chi_squared_p_value(draws, scale) > FALSE_ALARM
    assert chi_squared_p_value(draws, scale * 0.9) < FALSE_ALARM
    assert chi_squared_p_value(draws, scale * 1.1) < FALSE_ALARM


def test_each_element_has_its_own_scale() -> None:
    inverse = np.array([LOSS_UNITS * 2, LOSS_UNITS // 5] * (N_DRAWS // 2), dtype=object)
    draws = discrete_laplace(inverse, os.urandom)
    assert chi_squared_p_value(draws[0::2], 0.5) > FALSE_ALARM
    assert chi_squared_p_value(draws[1::2], 5.0) > FALSE_ALARM


def test_neighbouring_draws_are_not_related() -> None:
    """The correlation of N independent pairs is beyond 6.2 standard errors once in 1e9 runs."""
    draws = draws_of(4.0).astype(float)
    correlation = np.corrcoef(draws[:-1], draws[1:])[0, 1]
    assert abs(correlation) < 6.2 / np.sqrt(N_DRAWS)


def test_large_scales_keep_their_mean_absolute_value() -> None:
    """|Z| is about exponential, so its mean is within 6.2 / sqrt(N) of the scale but once in 1e9 runs."""
    draws = np.abs(draws_of(1e9).astype(float))
    assert draws.mean() == pytest.approx(1e9, rel=6.2 / np.sqrt(N_DRAWS))


def test_draws_are_a_function_of_the_bytes_alone() -> None:
    def replay(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return discrete_laplace(np.full(1000, LOSS_UNITS // 7, dtype=object), rng.bytes)

    assert (replay(1) == replay(1)).all()
    assert (replay(1) != replay(2)).any()


@pytest.mark.parametrize("inverse_scale", [0, -1, (1 << 62) + 1])
def test_scales_outside_the_range_are_refused(inverse_scale: int) -> None:
    with pytest.raises(ValueError, match="inverse_scale"):
        discrete_laplace(np.array([inverse_scale], dtype=object), os.urandom)


def test_no_cells_need_no_bytes() -> None:
    assert discrete_laplace(np.array([], dtype=object), os.urandom).size == 0
