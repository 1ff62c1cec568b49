import itertools
import os

import numpy as np
import pytest
from scipy.stats import chi2, norm

from dpmath.core.accounting import LOSS_UNITS
from dpmath.noise.sampling import discrete_gaussian

pytestmark = [pytest.mark.theorem("CKS-A3"), pytest.mark.statistical]

FALSE_ALARM = 1e-9
N_DRAWS = 120_000
N_OF_RARE = 400_000
"""Where the sigma is so small that a draw is 0 but for one in a thousand."""
LADDER = [0.25, 0.5, 1.0, 3.0, 20.0, 1000.0, 2.0**20, 2.0**30]


def draws_of(sigma: float) -> np.ndarray:
    n_draws = N_OF_RARE if sigma < 0.5 else N_DRAWS
    return discrete_gaussian(np.full(n_draws, round(LOSS_UNITS / sigma), dtype=object), os.urandom)


def chi_squared_p_value(draws: np.ndarray, sigma: float) -> float:
    """Return the p-value of draws against the discrete Gaussian of a sigma, in bins of enough probability."""
    observed, expected = _in_bins(draws, sigma)
    enough = expected >= 10
    smallest = int(np.argmin(np.where(enough, expected, np.inf)))
    for counts in (
        observed,
        expected,
    ):  # a bin of its own, seldom reached, would be far off as soon as one draw is in it
        counts[smallest] += counts[~enough].sum()
    observed, expected = observed[enough], expected[enough]
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), df=expected.size - 1))


def _in_bins(draws: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    if sigma <= 20:
        reach = int(sigma * 9) + 2
        values = np.arange(-reach, reach + 1)
        weights = np.exp(-(values**2) / (2 * sigma**2))
        observed = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)
        return observed, weights / weights.sum() * draws.size
    # so wide that it equals the continuous one to within 1 / (24 sigma^2), far below what the draws can show
    edges = np.floor(norm.ppf(np.linspace(0, 1, 101)[1:-1]) * sigma) + 0.5
    observed = np.bincount(np.searchsorted(edges, draws), minlength=100)
    return observed, np.diff(norm.cdf(edges / sigma), prepend=0, append=1) * draws.size


@pytest.mark.parametrize("sigma", LADDER)
def test_the_noise_is_discrete_gaussian_of_its_sigma_and_of_none_five_per_cent_off(sigma: float) -> None:
    """A right sampler fails once in 1e9 runs."""
    draws = draws_of(sigma)
    assert chi_squared_p_value(draws, sigma) > FALSE_ALARM
    assert chi_squared_p_value(draws, sigma * 0.95) < FALSE_ALARM
    assert chi_squared_p_value(draws, sigma * 1.05) < FALSE_ALARM


def test_each_element_has_its_own_sigma() -> None:
    inverse = np.array([LOSS_UNITS, LOSS_UNITS // 5] * (N_DRAWS // 2), dtype=object)
    draws = discrete_gaussian(inverse, os.urandom)
    assert chi_squared_p_value(draws[0::2], 1.0) > FALSE_ALARM
    assert chi_squared_p_value(draws[1::2], 5.0) > FALSE_ALARM


def test_neighbouring_draws_are_not_related() -> None:
    """The correlation of N independent pairs is beyond 6.2 standard errors once in 1e9 runs."""
    draws = draws_of(4.0).astype(float)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 6.2 / np.sqrt(N_DRAWS)


def test_a_draw_takes_no_more_random_bytes_however_large_sigma_is() -> None:
    taken = []
    for sigma in [*LADDER, 2.0**50]:
        n_bytes = 0

        def counted(n: int) -> bytes:
            nonlocal n_bytes
            n_bytes += n
            return os.urandom(n)

        discrete_gaussian(np.full(20_000, max(1, round(LOSS_UNITS / sigma)), dtype=object), counted)
        taken.append(n_bytes / 20_000)
    assert max(taken) < 600
    assert all(later <= 1.1 * earlier for earlier, later in itertools.pairwise(taken))


def test_draws_are_a_function_of_the_bytes_alone() -> None:
    def replay(seed: int) -> np.ndarray:
        return discrete_gaussian(np.full(1000, LOSS_UNITS // 7, dtype=object), np.random.default_rng(seed).bytes)

    assert (replay(1) == replay(1)).all()
    assert (replay(1) != replay(2)).any()


@pytest.mark.parametrize("inverse_scale", [0, -1, (1 << 62) + 1])
def test_sigmas_outside_the_range_are_refused(inverse_scale: int) -> None:
    with pytest.raises(ValueError, match="inverse_scale"):
        discrete_gaussian(np.array([inverse_scale], dtype=object), os.urandom)
