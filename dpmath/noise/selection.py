"""The exponential mechanism drawn exactly: integers only, from random bytes that the caller supplies."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.noise.exact import RandomBytes, exponential_bounds, product, random_word, uniform_below

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
        word = random_word(bits, random_bytes)
        while (outcome := self.decided(word, bits)) is None:
            word = (word << bits) | random_word(bits, random_bytes)
            bits *= 2
        return outcome, uniform_below(self.sizes[outcome], random_bytes)

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


def _exponentials(ranks: list[int], rate: Fraction, bits: int) -> dict[int, tuple[int, int]]:
    """Return bounds of 2^bits exp(-rate rank) for ranks in ascending order, each from the one before."""
    steps: dict[int, tuple[int, int]] = {}
    bounds, last, found = (1 << bits, 1 << bits), 0, {}
    for rank in ranks:
        gap = rank - last
        if gap not in steps:
            steps[gap] = exponential_bounds(rate * gap, bits)
        bounds, last = product(bounds, steps[gap], bits), rank
        found[rank] = bounds
    return found
