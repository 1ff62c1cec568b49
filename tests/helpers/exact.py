"""Exact probabilities for the tests: decimals of many digits, from a library that shares no code with dpmath."""

from collections.abc import Iterator, Sequence
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import product

getcontext().prec = 80

from dpmath.noise.private_quantiles import PrivateQuantile  # noqa: E402
from dpmath.noise.selection import ExponentialMechanism  # noqa: E402


def decimal(number: Fraction | int) -> Decimal:
    number = Fraction(number)
    return Decimal(number.numerator) / Decimal(number.denominator)


def softmax(sizes: Sequence[int], scores: Sequence[Fraction | int], rate: Fraction) -> list[Decimal]:
    """Return the probabilities that the exponential mechanism must have."""
    weights = [size * (decimal(-rate) * decimal(score)).exp() for size, score in zip(sizes, scores, strict=True)]
    return [weight / sum(weights) for weight in weights]


def outcome_probabilities(mechanism: ExponentialMechanism) -> list[Decimal]:
    """Return the probabilities of a mechanism's outcomes, from its arguments."""
    scores = dict(zip(mechanism._present, mechanism._ranks, strict=True))
    return softmax(mechanism.sizes, [scores.get(i, 0) for i in range(len(mechanism.sizes))], mechanism._rate)


def point_probabilities(quantile: PrivateQuantile) -> list[Decimal]:
    """Return the probability of each point 0, 1, ..., largest."""
    runs = zip(quantile.mechanism.sizes, outcome_probabilities(quantile.mechanism), strict=True)
    return [p / size for size, p in runs for _ in range(size)]


def neighbours(largest: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Yield all pairs of datasets, user i's from 0 to largest[i], that differ in one user, and that user."""
    for one in product(*(range(most + 1) for most in largest)):
        for user, most in enumerate(largest):
            for value in range(most + 1):
                if value != one[user]:
                    yield one, (*one[:user], value, *one[user + 1 :]), user
