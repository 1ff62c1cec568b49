"""What each draw costs in zCDP, against Rényi divergences that are summed over every outcome of tiny domains."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpmath.arrays.grouping import best_fit
from dpmath.arrays.sums import ArraySum
from dpmath.cells.clipped_sum import ClippedSum
from dpmath.core.accounting import LOSS_UNITS, in_loss_units
from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import GAUSSIAN, LAPLACE, PURE, Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.noise.reach import noise_quantile
from dpmath.noise.selection import ExponentialMechanism

ZCDP = Concentrated(Decimal("1e-6"))
ORDERS = [1.001, 1.1, 1.5, 2.0, 4.0, 16.0, 64.0]
Array = np.ndarray[Any, Any]


def renyi(p: Array, q: Array, order: float) -> float:
    """Return the Rényi divergence of two distributions, given by logarithms of weights that need not sum to 1."""
    p, q = p - np.logaddexp.reduce(p), q - np.logaddexp.reduce(q)
    return float(np.logaddexp.reduce(order * p - (order - 1) * q) / (order - 1))


def of_noise(noise: str, inverse_scale: int, centre: int, reach: int) -> Array:
    """Return the logarithm of the weight of every outcome of a noisy sum."""
    distance = np.abs(np.arange(-reach, reach + 1) - centre) * (inverse_scale / LOSS_UNITS)
    return -distance if noise == LAPLACE else -(distance**2) / 2


@pytest.mark.theorem("HV-L48", "HV-L49")
@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("scale", [0.3, 0.7, 1.0, 2.5, 9.0])
def test_no_two_neighbours_diverge_by_more_than_rho(noise: str, scale: float) -> None:
    """One user with one to three records in each of two cells, every total of the user, every order."""
    inverse = round(LOSS_UNITS / scale)
    occupancy = Occupancy(np.array([0, 1]), np.array([0, 0]), np.array([1, 3]), 2, 1)
    width = [2, 3]
    sums = ClippedSum(2, np.array(width, dtype=object), np.array([inverse, inverse // 2], dtype=object), noise)
    rho = float(ZCDP.rho(user_losses(occupancy, [sums], ZCDP)[0]))
    reach = math.ceil(60 * scale) + 200
    worst = dict.fromkeys(ORDERS, 0.0)
    for one in itertools.product(*(range(w + 1) for w in width)):
        for other in itertools.product(*(range(w + 1) for w in width)):
            for order in ORDERS:
                together = sum(
                    renyi(of_noise(noise, s, a, reach), of_noise(noise, s, b, reach), order)
                    for a, b, s in zip(one, other, (inverse, inverse // 2), strict=True)
                )
                worst[order] = max(worst[order], together)
    assert all(divergence <= order * rho * (1 + 1e-9) for order, divergence in worst.items())
    if noise == GAUSSIAN and scale >= 1:
        assert worst[2.0] > 0.99 * 2 * rho, "for Gaussian noise rho is what it costs, not only a bound"
    if noise == LAPLACE and scale == 9.0:
        assert worst[1.001] > 0.85 * rho


@pytest.mark.theorem("HV-L50")
@pytest.mark.parametrize("seed", range(40))
def test_an_exponential_mechanism_costs_an_eighth_of_its_epsilon_squared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, moved, rate = int(rng.integers(2, 6)), int(rng.integers(1, 3)), Fraction(int(rng.integers(1, 20)), 10)
    sizes, scores = rng.integers(1, 9, n).tolist(), rng.integers(0, 9, n)
    changed = scores + rng.integers(-moved, moved + 1, n)
    p, q = (
        np.log(ExponentialMechanism(sizes, [int(score) for score in of], rate).probabilities())
        for of in (scores, changed)
    )
    rho = float(ZCDP.rho(ZCDP.of_exponential(in_loss_units(2 * rate * moved))))
    assert rho == pytest.approx(float(2 * rate * moved) ** 2 / 8)
    for order in ORDERS:
        assert renyi(p, q, order) <= order * rho * (1 + 1e-9)


@pytest.mark.theorem("HV-L50")
def test_two_outcomes_that_swap_their_scores_nearly_reach_an_eighth() -> None:
    rate = Fraction(1, 20)
    p, q = (np.log(ExponentialMechanism([1, 1], scores, rate).probabilities()) for scores in ([0, 1], [1, 0]))
    rho = float(ZCDP.rho(ZCDP.of_exponential(in_loss_units(2 * rate))))
    assert 0.999 * rho < renyi(p, q, 1.001) / 1.001 <= rho


@pytest.mark.theorem("HV-L48", "HV-L50")
@pytest.mark.parametrize("n_draws", [1, 2])
def test_a_projected_sum_costs_its_draws_and_its_noise(n_draws: int) -> None:
    occupancy = Occupancy(np.zeros(4, dtype=np.int64), np.arange(4), np.array([1, 2, 2, 4]), 1, 4)
    length = np.array([2])
    assert best_fit(occupancy.n_records, 2).n_arrays > 1
    sums = ArraySum(occupancy, 10, length, np.ones(4, dtype=bool), Fraction(1, 2), n_draws)
    half = Fraction(1, 4)
    expected = n_draws * (half / n_draws) ** 2 / 8 + half**2 / 2
    assert {ZCDP.rho(loss) for loss in user_losses(occupancy, [sums], ZCDP)} == {expected}
    assert set(user_losses(occupancy, [sums], PURE)) == {LOSS_UNITS // 2}


@pytest.mark.theorem("HV-L51")
@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0, 300.0])
@pytest.mark.parametrize("error_rate", [0.5, 0.05, 0.001])
def test_gaussian_noise_is_beyond_its_quantile_no_oftener_than_said(sigma: float, error_rate: float) -> None:
    k = noise_quantile(GAUSSIAN, round(LOSS_UNITS / sigma), error_rate)
    values = np.arange(0, math.ceil(12 * sigma) + 2)
    weights = np.exp(-(values**2) / (2 * sigma**2))
    tail = 2 * weights[k + 1 :].sum() / (2 * weights.sum() - 1)
    assert tail <= error_rate
    assert sigma < 7 or 2 * weights[max(0, int(0.9 * k)) :].sum() / (2 * weights.sum() - 1) > error_rate
