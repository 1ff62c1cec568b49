"""Sums of whole numbers within public limits: one user moves them by no more than the limits, and pays for that."""

import itertools
import math
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import PURE, Concentrated
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.estimate.measurement import Norm

ZCDP = Concentrated(Decimal("1e-6"))
NORMS: list[Norm] = ["l1", "l2"]
NO_NOISE = 1 << 62
"""The inverse scale of 2^-12 ticks: noise is 0 but with a probability below exp(-4000)."""
pytestmark = pytest.mark.theorem("HV-L53")


def whole(numbers: object) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def sums_by_definition(limit: np.ndarray, numbers: np.ndarray) -> list[int]:
    sums = [0] * limit.shape[1]
    for limits, own in zip(limit.tolist(), numbers.tolist(), strict=True):
        for query, (most, number) in enumerate(zip(limits, own, strict=True)):
            sums[query] += max(0, min(most, number))
    return sums


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(30))
def test_the_sums_are_those_of_the_definition(norm: Norm, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(0, 6)), int(rng.integers(1, 5)))
    limit = rng.choice([0, 1, 7, 1 << 20, 1 << 50], shape)
    numbers = rng.choice([-(1 << 62), -1, 0, 1, 5, 1 << 19, (1 << 49) + 1, 1 << 62], shape)
    assert BoundedSums(limit, NO_NOISE, norm).noisy(numbers, os.urandom).tolist() == sums_by_definition(limit, numbers)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("limits", [[0], [3], [2, 0], [3, 4], [1, 1, 1], [2, 3, 1]])
def test_one_user_moves_the_sums_by_no_more_than_what_is_paid_for(norm: Norm, limits: list[int]) -> None:
    """All numbers of a user, also outside of the limits, beside another user's; the noise is of scale 1."""
    limit = whole([limits, [5] * len(limits)])
    sums = BoundedSums(limit, NO_NOISE, norm)
    own = itertools.product(*(range(-1, most + 2) for most in limits))
    found = whole([sums.noisy(whole([numbers, [2] * len(limits)]), os.urandom).tolist() for numbers in own])
    moved = np.abs(found[:, None] - found[None])
    loss = BoundedSums(limit, LOSS_UNITS, norm).losses(PURE if norm == "l1" else ZCDP)[0]
    if norm == "l1":
        assert moved.sum(axis=2).max() == Fraction(loss, 1 << 50) == sum(limits)
    else:
        longest = math.isqrt(2 * loss // (1 << 101))  # rho = longest^2 / 2
        assert loss == longest**2 << 100
        assert (longest - 1) ** 2 < (moved**2).sum(axis=2).max() <= longest**2 or longest == moved.max() == 0


@pytest.mark.parametrize("seed", range(10))
def test_losses_are_those_of_the_limits_length_rounded_up(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    limit = rng.choice([0, 1, 2, 3, 1000, 1 << 20, (1 << 62) + 1], (8, int(rng.integers(1, 6))))
    inverse_scale = int(rng.choice([1, 12345, LOSS_UNITS, 1 << 62]))
    share = Fraction(inverse_scale, LOSS_UNITS)
    for loss, own in zip(BoundedSums(limit, inverse_scale, "l1").losses(PURE), limit.tolist(), strict=True):
        assert Fraction(loss, 1 << 50) == sum(own) * share
    for loss, own in zip(BoundedSums(limit, inverse_scale, "l2").losses(ZCDP), limit.tolist(), strict=True):
        square = sum(one * one for one in own)
        length = next(n for n in itertools.count(math.isqrt(square)) if n * n >= square)
        assert Fraction(loss, 1 << 101) == (length * share) ** 2 / 2
    with pytest.raises(ValueError, match="Gaussian noise has no loss"):
        BoundedSums(limit, inverse_scale, "l2").losses(PURE)


def test_a_user_whose_limits_are_0_is_not_read_and_pays_nothing() -> None:
    sums = BoundedSums(whole([[0, 0], [9, 9]]), NO_NOISE, "l1")
    for number in (-5, 0, 1 << 60):
        assert sums.noisy(whole([[number, number], [4, 5]]), os.urandom).tolist() == [4, 5]
    assert sums.losses(PURE)[0] == 0


@pytest.mark.statistical
@pytest.mark.parametrize("norm", NORMS)
def test_the_sums_get_the_noise_of_the_norm_each_its_own(norm: Norm) -> None:
    """Of 40,000 draws, mean and standard deviation are as far off as this less than once in 1e9 runs."""
    n, scale = 40_000, 50
    sums = BoundedSums(np.full((1, n), 6), LOSS_UNITS // scale, norm)
    noisy = sums.noisy(np.full((1, n), 6), os.urandom).astype(float)
    expected = scale * (math.sqrt(2) if norm == "l1" else 1)
    assert noisy.mean() == pytest.approx(6, abs=6.2 * expected / math.sqrt(n))
    assert noisy.std() == pytest.approx(expected, rel=0.07 if norm == "l1" else 0.05)


def test_bad_shapes_and_numbers_are_refused() -> None:
    for limit, inverse_scale in ((whole([1]), 5), (whole([[-1]]), 5), (whole([[1]]), 0)):
        with pytest.raises(ValueError, match="must be"):
            BoundedSums(limit, inverse_scale, "l2")
    sums = BoundedSums(whole([[1, 2]]), 5, "l2")
    for numbers in (whole([[1]]), whole([1, 2]), whole([[1, 2], [1, 2]])):
        with pytest.raises(ValueError, match="private_numbers must be of shape"):
            sums.noisy(numbers, os.urandom)


def test_sums_beyond_64_bits_are_exact() -> None:
    limit = np.full((5, 1), (1 << 63) - 1)
    assert BoundedSums(limit, NO_NOISE, "l1").noisy(limit, os.urandom).tolist() == [5 * ((1 << 63) - 1)]
