"""What discrete Gaussian noise alone costs, against exact curves: never more than is said, and hardly less."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import log_ndtr

from dpmath.core.conversion import rho_of_epsilon
from dpmath.core.currency import EXPONENTIAL, GAUSSIAN, LAPLACE, GaussianAlone
from dpmath.core.gaussian import LEAST_SIGMA, epsilon_of_gaussian, rho_of_gaussian

EPSILONS = ("0.01", "0.39", "1", "2", "5", "10", "40", "1000")
DELTAS = (Fraction(1, 10**4), Fraction(1, 10**6), Fraction(1, 10**12), Fraction(1, 10**30))


def delta_of(epsilon: float, rho: float) -> float:
    """Return the least delta of continuous Gaussian noise, in floating point."""
    mu = np.sqrt(2 * rho)
    here, there = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(np.exp(here) * -np.expm1(there - here))


def noise(sigma: float, width: int = 400) -> np.ndarray:
    """Return the probabilities of discrete Gaussian noise from -width to width."""
    found = np.exp(-(np.arange(-width, width + 1) ** 2) / (2 * sigma**2))
    return found / found.sum()


@pytest.mark.theorem("HV-L73")
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_rho_is_the_largest_whose_curve_stays_below_delta(epsilon: str, delta: Fraction) -> None:
    rho = rho_of_gaussian(Fraction(epsilon), delta)
    of_curve = float(rho) * 1024 / 1020
    assert delta_of(float(epsilon), of_curve) <= float(delta) * (1 + 1e-9)
    assert delta_of(float(epsilon), of_curve * (1 + 1e-6)) > float(delta)
    assert 0 <= Fraction(epsilon) - Fraction(epsilon_of_gaussian(rho, delta)) <= Fraction(1, 10**6)


@pytest.mark.theorem("HV-L73")
@pytest.mark.parametrize("rho", ["1e-9", "0.0001", "0.07", "1", "30", "4000"])
def test_an_epsilon_is_the_least_millionth_that_holds(rho: str) -> None:
    delta = Fraction(1, 10**6)
    epsilon, of_curve = epsilon_of_gaussian(Fraction(rho), delta), float(rho) * 1024 / 1020
    assert delta_of(float(epsilon), of_curve) <= float(delta) * (1 + 1e-9)
    assert epsilon == Decimal("1e-6") or delta_of(float(epsilon) - 1.01e-6, of_curve) > float(delta)


@pytest.mark.theorem("HV-L73")
@pytest.mark.parametrize("epsilon", ["0.39", "1", "2", "5", "10"])
def test_the_same_promise_allows_a_tenth_to_a_sixth_more_than_in_zcdp(epsilon: str) -> None:
    delta = Fraction(1, 10**6)
    assert 1.10 < rho_of_gaussian(Fraction(epsilon), delta) / rho_of_epsilon(Fraction(epsilon), delta) < 1.17


@pytest.mark.theorem("HV-L73")
def test_rounding_a_smaller_gaussian_by_noise_of_deviation_2_is_noise_of_the_whole_deviation() -> None:
    """The same with a deviation of 0.3 is another distribution, so the test would see it."""
    whole = np.arange(-160, 161)
    off = {}
    for own in (2.0, 0.3):
        rest = LEAST_SIGMA**2 - own**2
        at = np.arange(-6400, 6400) / 20
        density = np.exp(-(at**2) / (2 * rest)) / np.sqrt(2 * np.pi * rest) / 20
        rounds = np.exp(-((np.arange(-700, 701)[:, None] - at) ** 2) / (2 * own**2))
        found = (rounds / rounds.sum(axis=0))[np.isin(np.arange(-700, 701), whole)] @ density
        expected = noise(LEAST_SIGMA)[np.isin(np.arange(-400, 401), whole)]
        off[own] = np.max(np.abs(found / expected - 1))
    assert off[2.0] < 1e-11
    assert off[0.3] > 1e-4


@pytest.mark.theorem("HV-L73")
@pytest.mark.parametrize(("n_draws", "moved"), [(1, 8), (12, 3), (40, 5)])
def test_many_draws_together_have_no_larger_delta_than_is_said(n_draws: int, moved: int) -> None:
    """The noises of equal draws tell as much as their sum, whose exact distribution is a convolution."""
    delta, one = Fraction(1, 10**6), noise(LEAST_SIGMA)
    together = np.array([1.0])
    for _ in range(n_draws):
        together = np.convolve(together, one)
    total = np.arange(together.size) - together.size // 2
    loss = (n_draws * moved**2 + 2 * moved * total) / (2 * LEAST_SIGMA**2)

    def true_delta(epsilon: Decimal) -> float:
        return float(np.sum(together * np.maximum(0, -np.expm1(float(epsilon) - loss))))

    rho = Fraction(n_draws * moved**2, 2 * LEAST_SIGMA**2)
    assert true_delta(epsilon_of_gaussian(rho, delta)) <= float(delta)
    assert true_delta(epsilon_of_gaussian(rho * Fraction(97, 100), delta)) > float(delta), "it would see a wrong rho"


@pytest.mark.theorem("HV-L73")
def test_finer_noise_and_other_draws_have_no_such_loss() -> None:
    currency = GaussianAlone(Decimal("1e-6"))
    assert currency.of_noise(GAUSSIAN, 3, currency.finest) == (3 * currency.finest) ** 2
    with pytest.raises(ValueError, match="below 32"):
        currency.of_noise(GAUSSIAN, 3, currency.finest + 1)
    for other in (LAPLACE, EXPONENTIAL):
        assert not currency.supports(other)
    with pytest.raises(ValueError, match="no loss"):
        currency.of_noise(LAPLACE, 3, 1)
    with pytest.raises(ValueError, match="no loss"):
        currency.of_exponential(5)


def test_arguments_out_of_range_are_refused() -> None:
    for delta in (Fraction(0), Fraction(1, 10), Fraction(-1)):
        with pytest.raises(ValueError, match="delta"):
            epsilon_of_gaussian(Fraction(1), delta)
    with pytest.raises(ValueError, match="rho"):
        epsilon_of_gaussian(Fraction(-1), Fraction(1, 100))
    with pytest.raises(ValueError, match="epsilon"):
        rho_of_gaussian(Fraction(0), Fraction(1, 100))
    assert epsilon_of_gaussian(Fraction(0), Fraction(1, 100)) == 0
