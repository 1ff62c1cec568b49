import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from exact import decimal, softmax
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from dpmath.noise.exact import exponential_bounds
from dpmath.noise.selection import ExponentialMechanism

FALSE_ALARM = 1e-9
N_DRAWS = 200_000
RATES = st.fractions(min_value=Fraction(1, 50), max_value=5, max_denominator=50)
SIZES = st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any)

exactly = pytest.mark.theorem("HV-L40")


def _any_size(outcomes: list[tuple[int, int]]) -> bool:
    return any(size for size, _ in outcomes)


@exactly
@settings(max_examples=300)
@given(st.fractions(min_value=0, max_value=300, max_denominator=10**6), st.integers(1, 200))
def test_the_bounds_hold_the_exponential_and_any_tighter_ones_do_not(exponent: Fraction, bits: int) -> None:
    low, high = exponential_bounds(exponent, bits)
    true = (-decimal(exponent)).exp() * 2**bits
    assert low <= true <= high
    assert high - low <= 2
    assert exponent == 0 or low + 2 > true > high - 2


@exactly
@pytest.mark.parametrize(("exponent", "bits", "name"), [(Fraction(-1), 8, "exponent"), (Fraction(1), 0, "bits")])
def test_bounds_refuse_bad_arguments(exponent: Fraction, bits: int, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        exponential_bounds(exponent, bits)


def words_of(mechanism: ExponentialMechanism, bits: int) -> tuple[list[int], int]:
    """Return how many of all first words decide for each outcome, and how many decide for none."""
    counts, undecided = [0] * len(mechanism.sizes), 0
    for word in range(1 << bits):
        outcome = mechanism.decided(word, bits)
        if outcome is None:
            undecided += 1
        else:
            counts[outcome] += 1
    return counts, undecided


@exactly
@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 6)), min_size=1, max_size=7).filter(_any_size), RATES)
@example([(1, 1), (1, 1)], Fraction(1, 50))
@example([(1, score) for score in (2, 3, 1, 6, -3, 0, 5)], Fraction(1, 3))
def test_of_all_words_each_outcome_gets_its_exact_share(outcomes: list[tuple[int, int]], rate: Fraction) -> None:
    """Few words are undecided: random search found at most 4.2 for each point and outcome, and 8 are allowed."""
    sizes, scores = ([one[part] for one in outcomes] for part in (0, 1))
    counts, undecided = words_of(ExponentialMechanism(sizes, scores, rate), 10)
    assert undecided <= 8 * (sum(sizes) + len(sizes))
    rounding = Decimal("1e-60")
    for count, p in zip(counts, softmax(sizes, scores, rate), strict=True):
        assert count - rounding <= p * 1024 <= count + undecided + rounding


@exactly
def test_the_enumeration_tells_a_rate_that_is_a_hundredth_off() -> None:
    sizes, scores = [3, 0, 1, 8], [2, 0, 1, 3]
    counts, undecided = words_of(ExponentialMechanism(sizes, scores, Fraction(101, 100)), 14)
    right = softmax(sizes, scores, Fraction(1))
    assert any(not count <= p * 2**14 <= count + undecided for count, p in zip(counts, right, strict=True))


@exactly
@settings(max_examples=60)
@given(SIZES, RATES, st.integers(0, 255), st.integers(0, 255))
def test_more_bits_never_change_what_fewer_decided(sizes: list[int], rate: Fraction, word: int, more: int) -> None:
    mechanism = ExponentialMechanism(sizes, list(range(len(sizes))), rate)
    decided, later = mechanism.decided(word, 8), mechanism.decided((word << 8) | more, 16)
    assert decided is None or decided == later


@exactly
@settings(max_examples=60)
@given(SIZES, RATES, st.integers(-50, 50), st.integers(1, 9), st.integers(0, 2**128 - 1))
def test_scores_may_be_moved_and_scaled_with_the_rate(
    sizes: list[int], rate: Fraction, moved: int, scale: int, word: int
) -> None:
    scores = [Fraction(i * i, 3) for i in range(len(sizes))]
    other = ExponentialMechanism(sizes, [scale * score + moved for score in scores], rate / scale)
    assert ExponentialMechanism(sizes, scores, rate).decided(word, 128) == other.decided(word, 128)


@exactly
@pytest.mark.parametrize("n", [2, 100])
def test_equal_weights_are_decided_at_once_and_split_the_words_evenly(n: int) -> None:
    counts, undecided = words_of(ExponentialMechanism([5] * n, [1] * n, Fraction(1)), 12)
    assert undecided == (0 if n == 2 else n - 1 - 3), "only the cuts at multiples of 1/4 fall between words"
    assert max(counts) - min(counts) <= 1


def p_value(counts: np.ndarray, probabilities: list[Decimal]) -> float:
    expected = np.array([float(p) for p in probabilities]) * counts.sum()
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), df=counts.size - 1))


@exactly
@pytest.mark.statistical
def test_draws_have_the_rate_and_no_other() -> None:
    """A right sampler fails once in 1e9 runs; rates 5 % too small and too large are told apart."""
    sizes, scores, rate = [1, 4, 2, 7, 1, 3], [0, 1, 2, 3, 4, 5], Fraction(1, 2)
    mechanism = ExponentialMechanism(sizes, scores, rate)
    counts = np.bincount([mechanism.draw(os.urandom)[0] for _ in range(N_DRAWS)], minlength=6)
    assert p_value(counts, softmax(sizes, scores, rate)) > FALSE_ALARM
    for wrong in (rate * Fraction(95, 100), rate * Fraction(105, 100)):
        assert p_value(counts, softmax(sizes, scores, wrong)) < FALSE_ALARM


@exactly
@pytest.mark.statistical
@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_the_points_of_an_outcome_are_equally_likely(size: int) -> None:
    """Fails once in 1e9 runs; points that took a word modulo the size would be told apart for 300."""
    mechanism = ExponentialMechanism([size], [0], Fraction(1))
    draws = np.array([mechanism.draw(os.urandom)[1] for _ in range(N_DRAWS)])
    counts = np.bincount(draws, minlength=size)
    assert counts.size == size
    if size > 1:
        assert p_value(counts, [Decimal(1) / size] * size) > FALSE_ALARM
    if size == 300:
        modulo = np.bincount(np.random.default_rng(1).integers(0, 512, N_DRAWS) % size, minlength=size)
        assert p_value(modulo, [Decimal(1) / size] * size) < FALSE_ALARM


@exactly
def test_a_rare_best_score_is_found_among_very_many_points() -> None:
    mechanism = ExponentialMechanism([10**30, 1, 10**30], [90, 0, 91], Fraction(10))
    assert {mechanism.draw(os.urandom) for _ in range(50)} == {(1, 0)}


@exactly
def test_a_hundred_thousand_scores_are_drawn_from() -> None:
    scores = [abs(Fraction(i) - Fraction(200_001, 3)) for i in range(100_000)]
    mechanism = ExponentialMechanism([10**6] * 100_000, scores, Fraction(1))
    outcomes = [mechanism.draw(os.urandom)[0] for _ in range(100)]
    assert all(abs(i - 66_667) < 60 for i in outcomes)


@exactly
def test_draws_are_a_function_of_the_bytes_alone() -> None:
    def replay(seed: int) -> list[tuple[int, int]]:
        rng = np.random.default_rng(seed)
        mechanism = ExponentialMechanism([100, 200, 50], [2, 1, 0], Fraction(1, 3))
        return [mechanism.draw(rng.bytes) for _ in range(50)]

    assert replay(1) == replay(1) != replay(2)


@exactly
def test_probabilities_for_analysis_are_those_of_the_draws() -> None:
    sizes, scores, rate = [3, 0, 1, 8], [2, 0, 1, Fraction(7, 2)], Fraction(3, 5)
    floats = ExponentialMechanism(sizes, scores, rate).probabilities()
    assert floats == pytest.approx([float(p) for p in softmax(sizes, scores, rate)], rel=1e-12)


@exactly
@pytest.mark.parametrize(
    ("sizes", "scores", "rate", "name"),
    [
        ([], [], Fraction(1), "sizes"),
        ([0, 0], [1, 2], Fraction(1), "sizes"),
        ([1, -1], [1, 2], Fraction(1), "sizes"),
        ([1, 1], [1], Fraction(1), "equally many"),
        ([1], [1], Fraction(0), "rate"),
        ([1], [1], Fraction(-1), "rate"),
    ],
)
def test_bad_arguments_are_refused(sizes: list[int], scores: list[int], rate: Fraction, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ExponentialMechanism(sizes, scores, rate)
