import os
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from exact import decimal, neighbours, point_probabilities, softmax

from dpmath.noise.private_quantiles import private_quantile

RATE = Fraction(1, 2)


@pytest.mark.theorem("STI-S3.5", "HV-L44")
@pytest.mark.parametrize("rank", [0, 1, Fraction(3, 10), Fraction(5, 2), 3])
def test_every_point_has_the_probability_of_its_own_rank(rank: Fraction) -> None:
    for values in product(range(4), repeat=3):
        scores = [abs(sum(value < point for value in values) - Fraction(rank)) for point in range(4)]
        expected = softmax([1] * 4, scores, RATE)
        found = point_probabilities(private_quantile(values, 3, rank, RATE))
        assert found == pytest.approx(expected, rel=decimal(Fraction(1, 10**60)))


@pytest.mark.theorem("HV-L41", "HV-L44")
@pytest.mark.parametrize("rank", [1, Fraction(3, 2), 2])
def test_no_neighbour_changes_a_probability_by_more_than_twice_the_rate(rank: Fraction) -> None:
    """All datasets of three values up to 3; a bound of half of it would fail."""
    worst = max(
        max((p / q).ln() for p, q in zip(one, other, strict=True))
        for values, changed, _ in neighbours([3, 3, 3])
        for one, other in [[point_probabilities(private_quantile(v, 3, rank, RATE)) for v in (values, changed)]]
    )
    assert RATE < worst <= decimal(2 * RATE)


@pytest.mark.theorem("STI-S3.5")
def test_twice_the_values_at_half_the_rate_give_the_same_mechanism() -> None:
    values = [1, 4, 4, 7]
    once = point_probabilities(private_quantile(values, 9, 1, RATE))
    twice = point_probabilities(private_quantile(values * 2, 9, 2, RATE / 2))
    assert once == pytest.approx(twice, rel=decimal(Fraction(1, 10**60)))


@pytest.mark.theorem("STI-S3.5")
def test_a_high_rate_draws_between_the_two_values_of_the_rank() -> None:
    drawn = private_quantile([10, 20, 30, 40], 50, 2, Fraction(100))
    counts = Counter(drawn.draw(os.urandom) for _ in range(500))
    assert min(counts) >= 21
    assert max(counts) <= 30
    assert len(counts) == 10


@pytest.mark.theorem("STI-S3.5")
@pytest.mark.parametrize(
    ("values", "largest", "rank", "rate", "name"),
    [
        ([], 3, 0, RATE, "n_values"),
        ([0], 0, 0, RATE, "largest"),
        ([4], 3, 0, RATE, "every value"),
        ([-1], 3, 0, RATE, "every value"),
        ([1], 3, 2, RATE, "rank"),
        ([1], 3, -1, RATE, "rank"),
        ([1], 3, 1, Fraction(0), "rate"),
    ],
)
def test_bad_arguments_are_refused(values: list[int], largest: int, rank: int, rate: Fraction, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        private_quantile(values, largest, rank, rate)
