"""The currencies that privacy losses are counted in: pure epsilon, rho of zCDP, and rho of Gaussian noise alone.

A currency says what each draw costs, how much a limit allows, and how a loss is shown. Losses themselves are plain
integers, in the currency's unit: so a sum of losses over any number of cells, days and releases is exact. Losses of
one user add up in any currency. Losses of different currencies must not be added.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNIT_BITS, LOSS_UNITS, ExactIntArray, in_loss_units
from dpmath.core.conversion import epsilon_of_rho, rho_of_epsilon
from dpmath.core.gaussian import LEAST_SIGMA, epsilon_of_gaussian, rho_of_gaussian

Exact = TypeVar("Exact", int, ExactIntArray)
LAPLACE, GAUSSIAN, EXPONENTIAL = "discrete Laplace", "discrete Gaussian", "exponential mechanism"


class Currency(Protocol):
    """A definition of privacy as a unit of account.

    Attributes:
        name: Its name in the configuration and the ledger.
        definition: The definition of privacy, in words.
        short: The same in one word or two.
        unit_bits: A loss is a whole number of 2^-unit_bits.
        finest: LOSS_UNITS over the scale of the finest noise that has a loss.
        delta: What (epsilon, delta)-DP adds to e^epsilon times a probability; None for pure epsilon.
    """

    name: ClassVar[str]
    definition: ClassVar[str]
    short: ClassVar[str]
    unit_bits: ClassVar[int]
    finest: ClassVar[int]

    @property
    def delta(self) -> Decimal | None:
        """See above."""
        ...

    def supports(self, noise: str) -> bool:
        """Return whether a kind of draw has a finite loss in this currency."""
        ...

    def of_noise(self, noise: str, sensitivity: Exact, inverse_scale: Exact) -> Exact:
        """Return what discrete Laplace or Gaussian noise on a sum of integers costs.

        Args:
            noise: ``LAPLACE`` or ``GAUSSIAN``.
            sensitivity: The most that a user can move the sum, in its own unit.
            inverse_scale: LOSS_UNITS over the scale of the noise, b or sigma, in the same unit.

        Raises:
            ValueError: That noise has no loss in this currency.
        """
        ...

    def of_exponential(self, epsilon_units: Exact) -> Exact:
        """Return what a draw of the exponential mechanism costs whose pure loss is given, in units of 2^-50."""
        ...

    def within(self, epsilon: Decimal | Fraction) -> int:
        """Return the largest loss that a limit written as epsilon allows."""
        ...

    def epsilon(self, units: int) -> Decimal:
        """Return the epsilon of a loss: exact, or rounded up."""
        ...

    def epsilon_within(self, units: int) -> Decimal:
        """Return an epsilon of at most six digits that a loss allows: ``within`` of it is not above the loss."""
        ...

    def epsilon_left(self, limit: Decimal, used: int) -> Decimal:
        """Return the epsilon that a loss leaves of a limit, at least 0: exact, or rounded down."""
        ...

    def in_words(self, units: int) -> str:
        """Return a loss as a statement of approximate DP, to three digits, rounded up."""
        ...

    def pure_within(self, units: int) -> int:
        """Return the largest pure loss, in units of 2^-50, that can cost no more than a loss of this currency."""
        ...


@dataclass(frozen=True)
class PureEpsilon:
    """Pure epsilon-differential privacy; the unit is 2^-50.

    Source:
        HV-L1.
    """

    name: ClassVar[str] = "pure"
    definition: ClassVar[str] = "pure epsilon-differential privacy"
    short: ClassVar[str] = "pure epsilon"
    unit_bits: ClassVar[int] = LOSS_UNIT_BITS
    finest: ClassVar[int] = LARGEST_INVERSE_SCALE

    @property
    def delta(self) -> None:
        """No delta: nothing is left out."""
        return

    def supports(self, noise: str) -> bool:
        """Return whether a kind of draw has an epsilon. Gaussian noise has none."""
        return noise in (LAPLACE, EXPONENTIAL)

    def of_noise(self, noise: str, sensitivity: Exact, inverse_scale: Exact) -> Exact:
        """Return sensitivity over scale; see ``Currency``."""
        if not self.supports(noise):
            raise ValueError(f"{noise} noise has no loss of {self.definition}")
        return sensitivity * inverse_scale

    def of_exponential(self, epsilon_units: Exact) -> Exact:
        """Return the same loss."""
        return epsilon_units

    def within(self, epsilon: Decimal | Fraction) -> int:
        """Return the most whole units within an epsilon."""
        return in_loss_units(Fraction(epsilon))

    def epsilon(self, units: int) -> Decimal:
        """Return the exact epsilon."""
        sign, digits, _ = Decimal(int(units) * 5**LOSS_UNIT_BITS).as_tuple()
        text = format(Decimal((sign, digits, -LOSS_UNIT_BITS)), "f")
        return Decimal(text.rstrip("0").rstrip("."))

    def epsilon_within(self, units: int) -> Decimal:
        """Return the epsilon rounded down to six digits."""
        return _rounded(Fraction(units, LOSS_UNITS), 6, ROUND_FLOOR)

    def epsilon_left(self, limit: Decimal, used: int) -> Decimal:
        """Return the exact difference, at least 0."""
        with localcontext(prec=100):
            return max(Decimal(0), limit - self.epsilon(used))

    def in_words(self, units: int) -> str:
        """Return (epsilon, 0)-DP."""
        return f"({_plain(_rounded(Fraction(int(units), LOSS_UNITS), 3, ROUND_CEILING))}, 0)-DP"

    def pure_within(self, units: int) -> int:
        """Return the same loss."""
        return units


@dataclass(frozen=True)
class Concentrated:
    """Zero-concentrated differential privacy; the unit of rho is 2^-101.

    A draw of pure loss w s in units of 2^-50 costs rho (w s)^2 / 2 in units of 2^-100, so (w s)^2 units exactly.

    Attributes:
        delta: At which a rho is shown as an epsilon, above 0 and below 1.

    Source:
        HV-L48, HV-L49, HV-L50.
    """

    delta: Decimal

    name: ClassVar[str] = "zcdp"
    definition: ClassVar[str] = "zero-concentrated differential privacy (zCDP)"
    short: ClassVar[str] = "zCDP"
    unit_bits: ClassVar[int] = 2 * LOSS_UNIT_BITS + 1
    finest: ClassVar[int] = LARGEST_INVERSE_SCALE

    def supports(self, noise: str) -> bool:
        """Return whether a kind of draw has a rho."""
        return noise in (LAPLACE, GAUSSIAN, EXPONENTIAL)

    def of_noise(self, noise: str, sensitivity: Exact, inverse_scale: Exact) -> Exact:
        """Return (sensitivity / scale)^2 / 2; see ``Currency``."""
        if not self.supports(noise):
            raise ValueError(f"{noise} noise has no loss of {self.definition}")
        return (sensitivity * inverse_scale) ** 2

    def of_exponential(self, epsilon_units: Exact) -> Exact:
        """Return epsilon^2 / 8, rounded up."""
        if not self.supports(EXPONENTIAL):
            raise ValueError(f"{EXPONENTIAL} has no loss of {self.definition}")
        return -(-(epsilon_units**2) // 4)

    def within(self, epsilon: Decimal | Fraction) -> int:
        """Return the most whole units whose tight conversion stays within an epsilon at this delta."""
        return int(self._rho_within(Fraction(epsilon), Fraction(self.delta)) * (1 << self.unit_bits))

    def rho(self, units: int) -> Fraction:
        """Return a loss as an exact number."""
        return Fraction(int(units), 1 << self.unit_bits)

    def epsilon(self, units: int) -> Decimal:
        """Return the least epsilon at this delta, rounded up to a millionth."""
        return self._epsilon_of(self.rho(units), Fraction(self.delta)).normalize()

    def epsilon_within(self, units: int) -> Decimal:
        """Return an epsilon of at most six digits that the loss allows; 0 below a millionth."""
        shown = Fraction(self.epsilon(units))
        for rounded_up_by in (Fraction(0), Fraction(1, 10**6)):  # before it is rounded down here
            epsilon = _rounded(max(shown - rounded_up_by, Fraction(0)), 6, ROUND_FLOOR)
            if epsilon and self.within(epsilon) <= units:
                return epsilon
        return Decimal(0)

    def epsilon_left(self, limit: Decimal, used: int) -> Decimal:
        """Return the epsilon of one more release that spends all of the rho that is left."""
        return self.epsilon_within(max(0, self.within(limit) - used))

    def in_words(self, units: int) -> str:
        """Return (epsilon, delta)-DP."""
        shown = _plain(_rounded(Fraction(self.epsilon(units)), 3, ROUND_CEILING))
        return f"({shown}, {format(self.delta.normalize(), 'e').replace('e-0', 'e-')})-DP"

    def pure_within(self, units: int) -> int:
        """Return the largest pure loss that any pure mechanism may have: rho is at most epsilon^2 / 2."""
        return isqrt(int(units))

    def _rho_within(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        return rho_of_epsilon(epsilon, delta)

    def _epsilon_of(self, rho: Fraction, delta: Fraction) -> Decimal:
        return epsilon_of_rho(rho, delta)


@dataclass(frozen=True)
class GaussianAlone(Concentrated):
    """What discrete Gaussian noise costs, and nothing else: the same rho, and a smaller epsilon for it.

    Source:
        HV-L73.
    """

    name: ClassVar[str] = "gaussian"
    definition: ClassVar[str] = "Gaussian differential privacy, of discrete Gaussian noise alone"
    short: ClassVar[str] = "Gaussian DP"
    finest: ClassVar[int] = LOSS_UNITS // LEAST_SIGMA

    def supports(self, noise: str) -> bool:
        """Return whether it is Gaussian noise."""
        return noise == GAUSSIAN

    def of_noise(self, noise: str, sensitivity: Exact, inverse_scale: Exact) -> Exact:
        """Return (sensitivity / scale)^2 / 2 of noise that is not too fine; see ``Currency``."""
        if np.any(np.asarray(inverse_scale) > self.finest):
            raise ValueError(f"noise of a scale below {LEAST_SIGMA} has no loss of {self.definition}")
        return super().of_noise(noise, sensitivity, inverse_scale)

    def _rho_within(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        return rho_of_gaussian(epsilon, delta)

    def _epsilon_of(self, rho: Fraction, delta: Fraction) -> Decimal:
        return epsilon_of_gaussian(rho, delta)


PURE = PureEpsilon()
_WITH_DELTA = {one.name: one for one in (Concentrated, GaussianAlone)}


def currency_of(definition: str, delta: Decimal | None) -> PureEpsilon | Concentrated:
    """Return the currency of a definition's name, "pure", "zcdp" or "gaussian".

    Raises:
        ValueError: The name is another one, or the delta is missing or superfluous.
    """
    if definition == PureEpsilon.name and delta is None:
        return PURE
    if definition in _WITH_DELTA and delta is not None:
        return _WITH_DELTA[definition](delta)
    raise ValueError(f'definition={definition} must be "pure" without a delta, or "zcdp" or "gaussian" with one')


def _rounded(number: Fraction, digits: int, rounding: str) -> Decimal:
    return Context(prec=digits, rounding=rounding).divide(Decimal(number.numerator), Decimal(number.denominator))


def _plain(number: Decimal) -> str:
    return format(number.normalize(), "f")
