"""A privacy loss as a value: how it composes, how it is written, and how it compares with a limit.

There is one currency today, pure epsilon. Another one would be another class with the same methods.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Self, TypeVar

from dpmath.core.accounting import LOSS_UNIT_BITS, LOSS_UNITS, ExactIntArray, in_loss_units

Exact = TypeVar("Exact", int, ExactIntArray)


@dataclass(frozen=True, order=True)
class PureLoss:
    """A loss of pure epsilon-differential privacy: a whole number of 2^-50, so that sums stay exact.

    Losses of many users are kept as plain integers, in ``units``. A value is made to show or compare one.

    Attributes:
        units: How many times 2^-50.

    Source:
        HV-L1.
    """

    units: int

    definition: ClassVar[str] = "pure epsilon-differential privacy"
    noises: ClassVar[frozenset[str]] = frozenset({"discrete Laplace", "exponential mechanism"})
    """The draws whose loss is a finite epsilon. Gaussian noise has none."""

    @classmethod
    def supports(cls, noise: str) -> bool:
        """Return whether a kind of draw has a loss in this currency."""
        return noise in cls.noises

    @classmethod
    def of_laplace(cls, sensitivity: Exact, inverse_scale: Exact) -> Exact:
        """Return the units that discrete Laplace noise costs. Plans ask here; ``verify`` computes it again.

        Args:
            sensitivity: The most that a user can move the sum, in its own unit.
            inverse_scale: LOSS_UNITS over the scale of the noise, in the same unit.
        """
        return sensitivity * inverse_scale

    @classmethod
    def within(cls, epsilon: Decimal | Fraction) -> Self:
        """Return the largest loss that is at most an epsilon: what a limit allows."""
        return cls(in_loss_units(Fraction(epsilon)))

    def __add__(self, other: Self) -> Self:
        """Compose two losses of one user."""
        return type(self)(self.units + other.units)

    def left_of(self, limit: Self) -> Self:
        """Return what a limit leaves after this loss, at least 0."""
        return type(self)(max(0, limit.units - self.units))

    def as_fraction(self) -> Fraction:
        """Return the epsilon."""
        return Fraction(int(self.units), LOSS_UNITS)

    def __str__(self) -> str:
        """Return the epsilon as an exact decimal number."""
        sign, digits, _ = Decimal(int(self.units) * 5**LOSS_UNIT_BITS).as_tuple()
        exact = Decimal((sign, digits, -LOSS_UNIT_BITS))
        return format(exact, "f").rstrip("0").rstrip(".")
