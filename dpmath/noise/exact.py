"""Exact draws one at a time, with the standard library alone: so a device without numpy can randomise what it sends."""

import math
from collections.abc import Callable
from fractions import Fraction

from dpmath.core import _check

RandomBytes = Callable[[int], bytes]
"""Returns that many independent uniform bytes."""


def happens(probability: Fraction, random_bytes: RandomBytes) -> bool:
    """Return True with exactly a rational probability.

    Args:
        probability: From 0 to 1.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        Whether a uniform integer below the denominator is below the numerator.

    Raises:
        ValueError: The probability is outside its range.

    Source:
        HV-L60.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"probability={probability} must be from 0 to 1")
    return uniform_below(probability.denominator, random_bytes) < probability.numerator


def one_discrete_laplace(rate: Fraction, random_bytes: RandomBytes) -> int:
    """Return one exact draw Z with P(Z = z) proportional to exp(-rate |z|).

    ``sampling.discrete_laplace`` draws many at once, for scales that are 2^50 over a whole number. Here the rate is any
    rational number, and every step compares one uniform integer with another.

    Args:
        rate: One over the scale, > 0.
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The draw.

    Raises:
        ValueError: The rate is not above 0.

    Source:
        CKS-A2.
    """
    _check.positive(rate=rate)
    rate = Fraction(rate)
    while True:
        magnitude = _exponential_steps(rate.denominator, random_bytes) // rate.numerator
        is_negative = happens(Fraction(1, 2), random_bytes)
        if magnitude or not is_negative:  # 0 has no sign, so it is counted once
            return -magnitude if is_negative else magnitude


def _exponential_steps(n: int, random_bytes: RandomBytes) -> int:
    """Return X >= 0 with P(X = x) proportional to exp(-x / n)."""
    while not _happens_exp(Fraction(low := uniform_below(n, random_bytes), n), random_bytes):
        pass
    high = 0
    while _happens_exp(Fraction(1), random_bytes):
        high += 1
    return low + n * high


def _happens_exp(exponent: Fraction, random_bytes: RandomBytes) -> bool:
    """Return True with probability exp(-exponent), for an exponent from 0 to 1."""
    k = 1
    while happens(exponent / k, random_bytes):
        k += 1
    return k % 2 == 1


def random_word(bits: int, random_bytes: RandomBytes) -> int:
    """Return a uniform integer below 2^bits, for a multiple of 8 bits.

    Source:
        HV-L60.
    """
    return int.from_bytes(random_bytes(bits // 8), "little")


def uniform_below(n: int, random_bytes: RandomBytes) -> int:
    """Return a uniform integer from 0 to n - 1: words that are too large are drawn again.

    Source:
        HV-L60.
    """
    n_bytes = -(-(n - 1).bit_length() // 8)
    excess = 8 * n_bytes - (n - 1).bit_length()
    while (word := random_word(8 * n_bytes, random_bytes) >> excess) >= n:
        pass
    return word


def exponential_bounds(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers that 2^bits exp(-exponent) lies between, from below and from above, inclusive.

    Args:
        exponent: The exponent, rational, >= 0.
        bits: Bits after the point, >= 1.

    Returns:
        (low, high), a few units apart at most, and equal if the exponent is 0.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L40.
    """
    _check.at_least(1, bits=bits)
    if exponent < 0:
        raise ValueError(f"exponent={exponent} must be at least 0")
    if exponent == 0:
        return 1 << bits, 1 << bits
    halvings = max(math.ceil(exponent).bit_length(), 1)
    guarded = bits + 2 * halvings + 8
    low, high = _series(Fraction(exponent) / (1 << halvings), guarded)
    for _ in range(halvings):
        low, high = product((low, high), (low, high), guarded)
    return low >> (guarded - bits), -(-high >> (guarded - bits))


def _series(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return bounds of 2^bits exp(-exponent) for an exponent in (0, 1], whose series alternates and decreases."""
    low = high = term_low = term_high = 1 << bits
    k = 0
    while term_high > 1:
        k += 1
        divisor = k * exponent.denominator
        term_low = term_low * exponent.numerator // divisor
        term_high = -(-term_high * exponent.numerator // divisor)
        low, high = (low - term_high, high - term_low) if k % 2 else (low + term_low, high + term_high)
    return max(low - 1, 0), min(high + 1, 1 << bits)


def product(one: tuple[int, int], other: tuple[int, int], bits: int) -> tuple[int, int]:
    """Return bounds of the product of two numbers given by bounds, all in units of 2^-bits.

    Source:
        HV-L40.
    """
    return one[0] * other[0] >> bits, -(-one[1] * other[1] >> bits)
