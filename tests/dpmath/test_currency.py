import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting.privacy_loss_distribution import PrivacyLossDistribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.conversion import epsilon_of_rho, rho_of_epsilon
from dpmath.core.currency import (
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    PURE,
    Concentrated,
    Currency,
    GaussianAlone,
    currency_of,
)

units = st.integers(0, 1 << 90)
ZCDP = Concentrated(Decimal("1e-6"))
RHOS = [10.0**power for power in range(-9, 5)] + [0.00422, 0.08815, 0.46306, 32.17]
DELTAS = ["1e-4", "1e-6", "1e-9", "1e-15"]


@pytest.mark.theorem("HV-L1")
@given(one=units, other=units)
def test_pure_losses_are_shown_exactly_so_their_epsilons_add_up(one: int, other: int) -> None:
    shown = PURE.epsilon(one + other)
    assert Fraction(shown) == Fraction(PURE.epsilon(one)) + Fraction(PURE.epsilon(other))
    assert Fraction(shown) == Fraction(one + other, LOSS_UNITS)


@given(epsilon=st.decimals("0.000001", 1_000_000, places=9))
def test_a_pure_limit_allows_no_unit_more_than_its_epsilon(epsilon: Decimal) -> None:
    allowed = PURE.within(epsilon)
    assert Fraction(PURE.epsilon(allowed)) <= Fraction(epsilon) < Fraction(PURE.epsilon(allowed + 1))


@pytest.mark.theorem("CKS-P12")
@settings(max_examples=50)
@given(epsilon=st.decimals("0.000001", 1_000_000, places=6), delta=st.sampled_from(DELTAS))
def test_a_zcdp_limit_stays_within_its_epsilon_and_wastes_nothing(epsilon: Decimal, delta: str) -> None:
    currency = Concentrated(Decimal(delta))
    allowed = currency.within(epsilon)
    assert allowed > 0
    assert currency.epsilon(allowed) <= epsilon
    assert currency.epsilon(allowed + allowed // 1000 + 1) >= epsilon


@pytest.mark.theorem("CKS-P12")
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_of_rho_agrees_with_two_references_and_is_never_below_them(rho: float, delta: str) -> None:
    ours = float(epsilon_of_rho(Fraction(rho), Fraction(delta)))
    for reference in (_least_epsilon(rho, float(delta)), _epsilon_by_bisection(rho, float(delta))):
        assert reference * (1 - 1e-9) <= ours <= reference * (1 + 1e-9) + 1.1e-6
    assert ours > _least_epsilon(0.99 * rho, float(delta)), "a loss that is too small by a hundredth is seen"


def _least_epsilon(rho: float, delta: float) -> float:
    """Return the least epsilon over all orders by a bounded search, from the formula as CKS print it."""

    def epsilon(log_gap: float) -> float:
        gap = math.exp(log_gap)
        cost = -math.log(delta) - math.log(gap) + (1 + gap) * (math.log(gap) - math.log1p(gap))
        return (1 + gap) * rho + cost / gap

    found: Any = minimize_scalar(epsilon, bounds=(-12, 35), method="bounded", options={"xatol": 1e-12})
    return max(0.0, float(found.fun))


def _epsilon_by_bisection(rho: float, delta: float) -> float:
    """Return the epsilon at which the best delta is the one given, by the algorithm that CKS published."""

    def best_delta(epsilon: float) -> float:
        low, high = 1e-12, (epsilon + 1) / rho + 2
        for _ in range(300):  # where the logarithm of delta has its least value over alpha - 1
            gap = (low + high) / 2
            rising = (2 * gap + 1) * rho - epsilon + math.log(gap) - math.log1p(gap) > 0
            low, high = (low, gap) if rising else (gap, high)
        gap = high
        log_delta = gap * ((1 + gap) * rho - epsilon) - (1 + gap) * math.log1p(1 / gap) - math.log(gap)
        return min(1.0, math.exp(log_delta))

    low, high = 0.0, rho + 2 * math.sqrt(rho * math.log(1 / delta))
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if best_delta(middle) <= delta else (middle, high)
    return high


@pytest.mark.theorem("HV-L48", "HV-L49")
@pytest.mark.parametrize("seed", range(6))
def test_composed_losses_bound_what_an_accountant_computes_and_half_of_them_do_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [LAPLACE, GAUSSIAN] if seed % 2 else [GAUSSIAN]
    whole, rho = PrivacyLossDistribution.identity(1e-3), 0
    for _ in range(12):
        noise, inverse_scale = str(rng.choice(kinds)), int(LOSS_UNITS * rng.uniform(0.05, 0.4))
        scale = LOSS_UNITS / inverse_scale
        of_noise = {
            LAPLACE: PrivacyLossDistribution.from_laplace_mechanism,
            GAUSSIAN: PrivacyLossDistribution.from_gaussian_mechanism,
        }[noise]
        whole = whole.compose(of_noise(scale, value_discretization_interval=1e-3))
        rho += ZCDP.of_noise(noise, 1, inverse_scale)
    for delta in (1e-4, 1e-6, 1e-8):
        exact = whole.get_epsilon_for_delta(delta)
        ours = float(Concentrated(Decimal(str(delta))).epsilon(rho))
        assert exact <= ours
        assert kinds == [LAPLACE, GAUSSIAN] or float(Concentrated(Decimal(str(delta))).epsilon(rho // 2)) < exact


@pytest.mark.theorem("HV-L1")
@pytest.mark.parametrize("seed", range(3))
def test_pure_losses_of_laplace_noise_are_what_an_accountant_computes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole, total = PrivacyLossDistribution.identity(1e-4), 0
    for inverse_scale in (int(LOSS_UNITS * share) for share in rng.uniform(0.05, 0.4, 8)):
        scale = LOSS_UNITS / inverse_scale
        whole = whole.compose(PrivacyLossDistribution.from_laplace_mechanism(scale, value_discretization_interval=1e-4))
        total += PURE.of_noise(LAPLACE, 1, inverse_scale)
    # with probability 2^-8 every draw loses its most, so a small delta leaves out nearly nothing of the sum
    assert whole.get_epsilon_for_delta(1e-10) == pytest.approx(float(PURE.epsilon(total)), abs=1e-3)


@pytest.mark.theorem("CKS-P12")
@pytest.mark.parametrize(("epsilon", "rho"), [(2, 0.08815), (1, 0.02436), (5, 0.46306), (10, 1.53928)])
def test_known_budgets_have_the_rho_that_others_computed(epsilon: int, rho: float) -> None:
    assert float(rho_of_epsilon(Fraction(epsilon), Fraction(1, 10**6))) == pytest.approx(rho, rel=2e-4)


@pytest.mark.theorem("CKS-P12")
def test_a_year_of_two_a_day_is_73_and_not_730() -> None:
    day = ZCDP.within(Decimal(2))
    assert ZCDP.in_words(365 * day) == "(72.7, 1e-6)-DP"
    assert PURE.in_words(365 * PURE.within(Decimal(2))) == "(730, 0)-DP"


def test_conversions_refuse_what_is_no_loss_or_no_probability() -> None:
    for delta in (Fraction(0), Fraction(1)):
        with pytest.raises(ValueError, match="delta"):
            epsilon_of_rho(Fraction(1), delta)
        with pytest.raises(ValueError, match="delta"):
            rho_of_epsilon(Fraction(1), delta)
    with pytest.raises(ValueError, match="rho"):
        epsilon_of_rho(Fraction(-1), Fraction(1, 2))
    with pytest.raises(ValueError, match="epsilon"):
        rho_of_epsilon(Fraction(0), Fraction(1, 2))
    for definition, delta in (("pure", Decimal(1)), ("zcdp", None), ("renyi", None)):
        with pytest.raises(ValueError, match="definition"):
            currency_of(definition, delta)


@pytest.mark.theorem("HV-L48", "HV-L49", "HV-L50")
def test_each_draw_costs_what_its_theorem_says() -> None:
    sensitivities, inverse_scale = np.array([0, 1, 300], dtype=object), LOSS_UNITS // 100
    scales = np.full(3, inverse_scale, dtype=object)
    assert PURE.of_noise(LAPLACE, sensitivities, scales).tolist() == [0, inverse_scale, 300 * inverse_scale]
    share = Fraction(inverse_scale, LOSS_UNITS)
    for noise in (LAPLACE, GAUSSIAN):
        rhos = [ZCDP.rho(loss) for loss in ZCDP.of_noise(noise, sensitivities, scales)]
        assert rhos == [0, share**2 / 2, (300 * share) ** 2 / 2]
    assert ZCDP.rho(ZCDP.of_exponential(2 * LOSS_UNITS)) == Fraction(1, 2)
    assert ZCDP.of_exponential(1) == 1, "rounded up"
    assert PURE.of_exponential(7) == 7


def test_gaussian_noise_has_no_pure_loss() -> None:
    assert [PURE.supports(noise) for noise in (LAPLACE, EXPONENTIAL, GAUSSIAN)] == [True, True, False]
    assert [ZCDP.supports(noise) for noise in (LAPLACE, EXPONENTIAL, GAUSSIAN)] == [True, True, True]
    for currency, noise in ((PURE, GAUSSIAN), (ZCDP, "uniform")):
        with pytest.raises(ValueError, match=f"{noise} noise has no loss of"):
            currency.of_noise(noise, 1, 1)


@given(limit=st.decimals("0.000001", 1000, places=6), share=st.fractions(0, 2))
@settings(max_examples=50)
@pytest.mark.parametrize("currency", [PURE, ZCDP, GaussianAlone(Decimal("1e-6"))])
def test_what_is_left_can_be_spent_and_no_more(currency: Currency, limit: Decimal, share: Fraction) -> None:
    used = int(currency.within(limit) * share)
    left = currency.epsilon_left(limit, used)
    assert left >= 0
    if share >= 1:
        assert left <= Decimal("1e-14")
    else:
        assert currency.within(left) + used <= currency.within(limit) if left else True


@given(loss=st.integers(0, 1 << 110))
def test_the_pure_loss_within_a_rho_costs_at_most_that_rho(loss: int) -> None:
    pure = ZCDP.pure_within(loss)
    assert ZCDP.of_noise(LAPLACE, pure, 1) <= loss < ZCDP.of_noise(LAPLACE, pure + 1, 1)
    assert PURE.pure_within(loss) == loss
