"""What conversions of losses share: fractions as decimals, and an epsilon as it is shown."""

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

_MILLIONTH = Decimal("1e-6")


def decimal_of(number: Fraction) -> Decimal:
    """Return a fraction in the precision of the context that is in force."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def in_millionths(epsilon: Decimal) -> Decimal:
    """Return an epsilon rounded up to a millionth, at least one."""
    return max(epsilon, _MILLIONTH).quantize(_MILLIONTH, ROUND_CEILING)
