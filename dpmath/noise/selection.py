"""The exponential mechanism drawn exactly: integers only, from random bytes that the caller supplies."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.noise.sampling import RandomBytes

_FIRST_BITS = 128


class ExponentialMechanism:
    """Outcomes with P(outcome i) proportional to sizes[i] exp(-rate scores[i]), the lowest scores most likely.

    An outcome is a run of sizes[i] equally likely points, such as the ticks of an interval. A draw reads a
    uniform number bit by bit and compares it with bounds of the cumulative weights, both refined until only
    one outcome is left; no floating-point number takes part. If no change of one user moves the score of any
    point by more than s, a draw costs a privacy loss of at most 2 rate s.

    Args:
        sizes: Points of each outcome, >= 0 and not all 0; one of size 0 is never drawn.
        scores: Score of each outcome's points, of any sign, in the same order.
        rate: Loss of likelihood per unit of score, > 0.

    Raises:
        ValueError: An argument is outside its range, or the lengths differ.

    Source:
        HV-L40, HV-L41 (McSherry and Talwar 2007).
    """

    def __init__(self, sizes: Sequence[int], scores: Sequence[int | Fraction], rate: Fraction) -> None:
        _check.positive(rate=rate)
        if len(sizes) != len(scores):
            raise ValueError(f"sizes and scores must be equally many, not {len(sizes)} and {len(scores)}")
        if min(sizes, default=0) < 0 or not any(sizes):
            raise ValueError("sizes must be at least 0, and one above 0")
        self.sizes = [int(size) for size in sizes]
        self._present = [i for i, size in enumerate(self.sizes) if size]
        scale = math.lcm(*(Fraction(scores[i]).denominator for i in self._present))
        scaled = [int(scores[i] * scale) for i in self._present]
        best = min(scaled)
        self._ranks = [score - best for score in scaled]
        self._rate = Fraction(rate) / scale
        self._cumulative: dict[int, tuple[list[int], list[int]]] = {}

    def draw(self, random_bytes: RandomBytes) -> tuple[int, int]:
        """Return an outcome, and which of its points, counted from 0.

        Args:
            random_bytes: Returns that many independent uniform bytes.

        Returns:
            (i, j) with 0 <= j < sizes[i].
        """
        bits = _FIRST_BITS
        word = _random_word(bits, random_bytes)
        while (outcome := self.decided(word, bits)) is None:
            word = (word << bits) | _random_word(bits, random_bytes)
            bits *= 2
        return outcome, _uniform_below(self.sizes[outcome], random_bytes)

    def decided(self, word: int, bits: int) -> int | None:
        """Return the one outcome of all uniform numbers in [word, word + 1) / 2^bits; None if they may differ.

        Args:
            word: The first bits of a uniform number, from 0 to 2^bits - 1.
            bits: How many bits, >= 1. The bounds of the weights have as many.
        """
        low, high = self._cumulative_bounds(bits)
        largest_place = -((-(word + 1) * high[-1]) >> bits)
        at = min(bisect_left(low, largest_place), len(low) - 1)
        if at and high[at - 1] << bits > word * low[-1]:
            return None
        return self._present[at]

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of each outcome in floating point, for analysis and never for a draw."""
        logarithms = np.full(len(self.sizes), -np.inf)
        logarithms[self._present] = [
            math.log(self.sizes[i]) - float(self._rate * rank)
            for i, rank in zip(self._present, self._ranks, strict=True)
        ]
        weights = np.exp(logarithms - logarithms.max())
        return weights / weights.sum()

    def _cumulative_bounds(self, bits: int) -> tuple[list[int], list[int]]:
        """Return integers below and above 2^bits times each cumulative weight, the best score weighing 1 a point."""
        if bits not in self._cumulative:
            weights = _exponentials(sorted(set(self._ranks)), self._rate, bits)
            sizes = [self.sizes[i] for i in self._present]
            pairs = list(zip(sizes, self._ranks, strict=True))
            low = list(accumulate(size * weights[rank][0] for size, rank in pairs))
            high = list(accumulate(size * weights[rank][1] for size, rank in pairs))
            self._cumulative[bits] = low, high
        return self._cumulative[bits]


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
        low, high = _product((low, high), (low, high), guarded)
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


def _product(one: tuple[int, int], other: tuple[int, int], bits: int) -> tuple[int, int]:
    """Return bounds of the product of two numbers given by bounds, all in units of 2^-bits."""
    return one[0] * other[0] >> bits, -(-one[1] * other[1] >> bits)


def _exponentials(ranks: list[int], rate: Fraction, bits: int) -> dict[int, tuple[int, int]]:
    """Return bounds of 2^bits exp(-rate rank) for ranks in ascending order, each from the one before."""
    steps: dict[int, tuple[int, int]] = {}
    bounds, last, found = (1 << bits, 1 << bits), 0, {}
    for rank in ranks:
        gap = rank - last
        if gap not in steps:
            steps[gap] = exponential_bounds(rate * gap, bits)
        bounds, last = _product(bounds, steps[gap], bits), rank
        found[rank] = bounds
    return found


def _random_word(bits: int, random_bytes: RandomBytes) -> int:
    """Return a uniform integer below 2^bits, for a multiple of 8 bits."""
    return int.from_bytes(random_bytes(bits // 8), "little")


def _uniform_below(n: int, random_bytes: RandomBytes) -> int:
    """Return a uniform integer from 0 to n - 1: words that are too large are drawn again."""
    n_bytes = -(-(n - 1).bit_length() // 8)
    excess = 8 * n_bytes - (n - 1).bit_length()
    while (word := _random_word(8 * n_bytes, random_bytes) >> excess) >= n:
        pass
    return word
