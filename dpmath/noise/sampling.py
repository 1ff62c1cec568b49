"""Exact discrete Laplace and Gaussian noise: integers only, from random bytes that the caller supplies."""

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNIT_BITS, LOSS_UNITS, ExactIntArray, exact_integers
from dpmath.core.currency import GAUSSIAN, LAPLACE
from dpmath.noise.exact import RandomBytes

_LARGEST_WHOLE_PART = (1 << 62) >> LOSS_UNIT_BITS


def discrete_laplace(inverse_scale: ExactIntArray, random_bytes: RandomBytes) -> NDArray[np.int64]:
    """Return one exact draw of discrete Laplace noise per element.

    Element i is Z with P(Z = z) proportional to exp(-|z| inverse_scale[i] / LOSS_UNITS). Every step compares
    integers that were drawn uniformly; no floating-point number takes part.

    Args:
        inverse_scale: LOSS_UNITS over each scale, integers from 1 to 2^62, shape (n,).
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The draws, shape (n,).

    Raises:
        ValueError: An inverse scale is outside its range.
        OverflowError: A draw does not fit 64 bits; its probability is below exp(-4000).

    Source:
        CKS-A2 (Canonne, Kamath, Steinke 2020, Algorithm 2), for a scale whose numerator is a power of two.
    """
    scale = _checked(inverse_scale)
    draws = np.zeros(scale.size, dtype=np.int64)
    waiting = np.arange(scale.size)
    while waiting.size:
        magnitude = _exponential_steps(waiting.size, random_bytes) // scale[waiting]
        negative = _random_words(waiting.size, random_bytes) & np.uint64(1) == 1
        draws[waiting] = np.where(negative, -magnitude, magnitude)
        waiting = waiting[negative & (magnitude == 0)]
    return draws


def discrete_gaussian(inverse_scale: ExactIntArray, random_bytes: RandomBytes) -> NDArray[np.int64]:
    """Return one exact draw of discrete Gaussian noise per element.

    Element i is Z with P(Z = z) proportional to exp(-z^2 / (2 sigma^2)), sigma = LOSS_UNITS / inverse_scale[i]. A draw
    y of discrete Laplace noise of scale sigma is kept with probability exp(-(|y| - sigma)^2 / (2 sigma^2)), and drawn
    again otherwise. With integers, the exponent is (|y| inverse_scale - 2^50)^2 / 2^101. About three draws in four are
    kept for a large sigma, three in five for a small one.

    Args:
        inverse_scale: LOSS_UNITS over each sigma, integers from 1 to 2^62, shape (n,).
        random_bytes: Returns that many independent uniform bytes.

    Returns:
        The draws, shape (n,).

    Raises:
        ValueError: An inverse scale is outside its range.
        OverflowError: A draw does not fit 64 bits; its probability is below exp(-4000).

    Source:
        CKS-A3 (Canonne, Kamath, Steinke 2020, Algorithm 3, with sigma itself as the scale of the proposal).
    """
    scale = _checked(inverse_scale)
    draws = np.zeros(scale.size, dtype=np.int64)
    waiting = np.arange(scale.size)
    while waiting.size:
        proposal = discrete_laplace(inverse_scale[waiting], random_bytes)
        kept = _bernoulli_exp_of_half_square(np.abs(proposal) * scale[waiting] - LOSS_UNITS, random_bytes)
        draws[waiting[kept]] = proposal[kept]
        waiting = waiting[~kept]
    return draws


NOISES = {LAPLACE: discrete_laplace, GAUSSIAN: discrete_gaussian}
"""The sampler of each noise."""


def _checked(inverse_scale: ExactIntArray) -> NDArray[np.int64]:
    if inverse_scale.size and not 1 <= inverse_scale.min() <= inverse_scale.max() <= LARGEST_INVERSE_SCALE:
        raise ValueError("inverse_scale must be from 1 to 2^62 in every element")
    return inverse_scale.astype(np.int64)


def _bernoulli_exp_of_half_square(number: NDArray[np.int64], random_bytes: RandomBytes) -> NDArray[np.bool_]:
    """Return True with probability exp(-x^2 / 2), x = number / LOSS_UNITS, for numbers below 2^62 in absolute value.

    The exponent number^2 / 2^101 is a whole number, plus a digit of 2^-50, plus a digit of 2^-101. The answer is True
    if each of the three parts says True.
    """
    square = exact_integers(number) ** 2
    whole = np.minimum(square >> 2 * LOSS_UNIT_BITS + 1, 1 << 40).astype(np.int64)  # exp(-2^40) never happens
    digit = (square >> LOSS_UNIT_BITS + 1 & LOSS_UNITS - 1).astype(np.int64)
    last = (square & 2 * LOSS_UNITS - 1).astype(np.int64)
    true = np.ones(number.size, dtype=bool)
    going = np.flatnonzero(whole)
    while going.size:
        one = _bernoulli_exp(np.full(going.size, LOSS_UNITS), random_bytes)
        true[going[~one]] = False
        whole[going] -= 1
        going = going[one & (whole[going] > 0)]
    true &= _bernoulli_exp(digit, random_bytes)
    true &= _bernoulli_exp(last, random_bytes, n_more_bits=LOSS_UNIT_BITS + 1)
    return true


def _exponential_steps(n: int, random_bytes: RandomBytes) -> NDArray[np.int64]:
    """Return X >= 0 with P(X = x) proportional to exp(-x / LOSS_UNITS), shape (n,)."""
    low = np.zeros(n, dtype=np.int64)
    waiting = np.arange(n)
    while waiting.size:
        low[waiting] = _random_loss_units(waiting.size, random_bytes)
        waiting = waiting[~_bernoulli_exp(low[waiting], random_bytes)]
    high = np.zeros(n, dtype=np.int64)
    going = np.arange(n)
    while going.size:
        going = going[_bernoulli_exp(np.full(going.size, LOSS_UNITS), random_bytes)]
        high[going] += 1
    if high.max(initial=0) >= _LARGEST_WHOLE_PART:
        raise OverflowError("a noise draw does not fit 64 bits")
    return low + (high << LOSS_UNIT_BITS)


def _bernoulli_exp(exponent: NDArray[np.int64], random_bytes: RandomBytes, n_more_bits: int = 0) -> NDArray[np.bool_]:
    """Return True with probability exp(-exponent / (LOSS_UNITS 2^n_more_bits)).

    Args:
        exponent: From 0 to LOSS_UNITS, or below 2^n_more_bits if more bits are given, shape (n,).
        random_bytes: Returns that many independent uniform bytes.
        n_more_bits: Bits of a uniform number that are drawn only if its first bits are all 0, 0 or 51.
    """
    k = 1
    odd = np.zeros(exponent.size, dtype=bool)
    going = np.arange(exponent.size)
    while going.size:
        odd[going] = k % 2 == 1
        uniform = _random_loss_units(going.size, random_bytes)
        if n_more_bits:  # below the exponent only if the first bits are 0, and the others are below it
            going = going[uniform == 0]
            uniform = (_random_words(going.size, random_bytes) >> np.uint64(64 - n_more_bits)).astype(np.int64)
        going = going[uniform < exponent[going]]
        going = going[_one_in(k, going.size, random_bytes)]
        k += 1
    return odd


def _one_in(k: int, n: int, random_bytes: RandomBytes) -> NDArray[np.bool_]:
    """Return True with probability exactly 1/k, shape (n,): words beyond a multiple of k are drawn again."""
    _check.at_least(1, k=k)
    limit = np.uint64((1 << 64) // k * k - 1)
    words = _random_words(n, random_bytes)
    while (again := np.flatnonzero(words > limit)).size:
        words[again] = _random_words(again.size, random_bytes)
    return words % np.uint64(k) == 0


def _random_loss_units(n: int, random_bytes: RandomBytes) -> NDArray[np.int64]:
    """Return uniform integers from 0 to LOSS_UNITS - 1, shape (n,)."""
    return (_random_words(n, random_bytes) >> np.uint64(64 - LOSS_UNIT_BITS)).astype(np.int64)


def _random_words(n: int, random_bytes: RandomBytes) -> NDArray[np.uint64]:
    return np.frombuffer(random_bytes(8 * n), dtype="<u8").astype(np.uint64)
