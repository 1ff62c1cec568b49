from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.privacy_loss import PureLoss

units = st.integers(0, 1 << 90)


@pytest.mark.theorem("HV-L1")
@given(one=units, other=units)
def test_losses_of_one_user_add_up_exactly_and_are_written_exactly(one: int, other: int) -> None:
    both = PureLoss(one) + PureLoss(other)
    assert both.as_fraction() == Fraction(one, LOSS_UNITS) + Fraction(other, LOSS_UNITS)
    assert Fraction(Decimal(str(both))) == both.as_fraction()
    assert "E" not in str(both)
    assert (PureLoss(one) < PureLoss(other)) == (one < other)


@given(epsilon=st.decimals("0.000001", 1_000_000, places=9))
def test_a_limit_allows_no_unit_more_than_its_epsilon(epsilon: Decimal) -> None:
    allowed = PureLoss.within(epsilon)
    assert allowed.as_fraction() <= Fraction(epsilon) < PureLoss(allowed.units + 1).as_fraction()


@given(used=units, limit=units)
def test_a_limit_leaves_what_was_not_used_and_never_less_than_nothing(used: int, limit: int) -> None:
    left = PureLoss(used).left_of(PureLoss(limit))
    assert left.units == (limit - used if used < limit else 0)


@pytest.mark.theorem("HV-L1")
def test_laplace_noise_costs_the_sensitivity_over_the_scale() -> None:
    sensitivities, inverse_scale = np.array([0, 1, 300], dtype=object), LOSS_UNITS // 100
    scales = np.full(3, inverse_scale, dtype=object)
    assert PureLoss.of_laplace(sensitivities, scales).tolist() == [0, inverse_scale, 300 * inverse_scale]
    assert PureLoss(PureLoss.of_laplace(100, LOSS_UNITS // 100)).as_fraction() <= 1


def test_gaussian_noise_has_no_pure_loss() -> None:
    assert PureLoss.supports("discrete Laplace")
    assert not PureLoss.supports("discrete Gaussian")
