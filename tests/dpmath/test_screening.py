"""Screening: one user moves the count by one and pays for that, and a verdict is wrong less than once in a million."""

import itertools
import math
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNITS
from dpmath.core.currency import GAUSSIAN, LAPLACE, PURE, Concentrated, Currency
from dpmath.estimate.screening import ERROR_RATE, Screening, screening_within

ZCDP = Concentrated(Decimal("1e-6"))
CURRENCIES: list[Currency] = [PURE, ZCDP]
pytestmark = pytest.mark.theorem("HV-L54")


def log_mass(screening: Screening, value: int) -> float:
    """Return the log of the noise's probability of a whole number, up to a constant."""
    rate = screening.inverse_scale / LOSS_UNITS
    return -rate * abs(value) if screening.noise == LAPLACE else -((rate * value) ** 2) / 2


def worst_divergence(screening: Screening, moved: int, order: float) -> float:
    """Return the Renyi divergence of an order, or the largest log ratio, of counts that are so far apart."""
    values = range(-4000, 4001)
    one, other = (np.array([log_mass(screening, value - shift) for value in values]) for shift in (0, moved))
    one, other = one - np.logaddexp.reduce(one), other - np.logaddexp.reduce(other)
    if math.isinf(order):
        return float(np.abs(one - other).max())
    return float(np.logaddexp.reduce(order * one - (order - 1) * other)) / (order - 1)


def noiseless(n_holds: list[int]) -> int:
    """Return a count with a noise that is 0 but with a probability below exp(-4000)."""
    return Screening(LARGEST_INVERSE_SCALE, LAPLACE).noisy_count(np.array(n_holds, dtype=np.int64), os.urandom)


@pytest.mark.parametrize("n_users", range(1, 5))
@pytest.mark.parametrize("currency", CURRENCIES)
def test_no_change_of_one_user_is_likelier_by_more_than_the_charge(n_users: int, currency: Currency) -> None:
    """Every pattern of up to four users, and every change of one of them."""
    screening = screening_within(currency.within(Decimal(1)), currency)
    for pattern in itertools.product((0, 1), repeat=n_users):
        for user in range(n_users):
            neighbour = [1 - bit if one == user else bit for one, bit in enumerate(pattern)]
            moved = abs(noiseless(list(pattern)) - noiseless(neighbour))
            loss = screening.loss(currency)
            assert is_within(screening, moved, loss, currency)
            assert not is_within(
                screening, moved, currency.of_noise(screening.noise, 1, screening.inverse_scale // 2), currency
            )


def is_within(screening: Screening, moved: int, loss: int, currency: Currency) -> bool:
    """Return whether counts so far apart differ by no more than a loss, up to rounding."""
    share = loss / 2**currency.unit_bits
    if currency.name == "pure":
        return worst_divergence(screening, moved, math.inf) <= share * (1 + 1e-9)
    return all(worst_divergence(screening, moved, order) <= order * share * (1 + 1e-9) for order in (1.5, 2, 8))


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("epsilon", ["0.000001", "0.02", "2", "40"])
def test_the_noise_is_the_least_that_a_limit_pays_for(epsilon: str, currency: Currency) -> None:
    limit = currency.within(Decimal(epsilon))
    screening = screening_within(limit, currency)
    assert screening.noise == (LAPLACE if currency.name == "pure" else GAUSSIAN)
    assert screening.loss(currency) <= limit
    assert Screening(screening.inverse_scale + 1, screening.noise).loss(currency) > limit


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", "2"])
def test_the_noise_passes_the_margin_at_most_once_in_a_million(epsilon: str, currency: Currency) -> None:
    screening = screening_within(currency.within(Decimal(epsilon)), currency)
    masses = {value: math.exp(log_mass(screening, value)) for value in range(-40_000, 40_001)}
    beyond = sum(mass for value, mass in masses.items() if value > screening.margin)
    assert beyond / sum(masses.values()) <= ERROR_RATE
    nearer = sum(mass for value, mass in masses.items() if value > 0.9 * screening.margin)
    assert nearer / sum(masses.values()) > ERROR_RATE, "a smaller margin would not do"


@pytest.mark.parametrize("n_asked", [1, 2, 9, 10, 11, 1000, 1001])
def test_a_count_is_surely_above_half_where_it_stays_so_without_the_margin(n_asked: int) -> None:
    screening = Screening(LOSS_UNITS, LAPLACE)
    for count in range(-5, n_asked + 50):
        above = Fraction(count - screening.margin) > Fraction(n_asked, 2)
        assert screening.is_surely_above_half(count, n_asked) == above
    half_of_all = n_asked - screening.margin > Fraction(n_asked, 2)
    assert screening.can_tell(n_asked) == half_of_all


def test_numbers_other_than_0_and_1_count_as_the_nearer_one() -> None:
    assert noiseless([0, 1, 1, 0]) == 2
    assert noiseless([-7, 5, 1 << 40, 0]) == 2
    assert noiseless([]) == 0


def test_bad_scales_and_noises_are_refused() -> None:
    for scale in (0, -1, LARGEST_INVERSE_SCALE + 1):
        with pytest.raises(ValueError, match="inverse_scale"):
            Screening(scale, LAPLACE)
    with pytest.raises(ValueError, match="noise=uniform must be"):
        Screening(1, "uniform")
    for currency in CURRENCIES:
        with pytest.raises(ValueError, match="inverse_scale"):
            screening_within(0, currency)
    with pytest.raises(ValueError, match="Gaussian noise has no loss"):
        Screening(1, GAUSSIAN).loss(PURE)
