from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest

from dpmath.arrays.lengths import (
    interval_length,
    median_length,
    minimax_length,
    surrogate_error,
    surrogate_length,
    worst_case_error,
)

EPSILONS = [Fraction(1, 20), Fraction(1, 3), Fraction(1), Fraction(3)]


def all_records(n_users: int = 4, most: int = 7) -> Iterator[np.ndarray]:
    """Yield all numbers of records of one to ``n_users`` users, up to the order of users."""
    for n in range(1, n_users + 1):
        for records in combinations_with_replacement(range(1, most + 1), n):
            yield np.array(records)


def lengths(records: np.ndarray) -> range:
    return range(int(records.min()), int(records.max()) + 1)


def kept(records: np.ndarray, length: int) -> int:
    return sum(min(m, length) for m in records.tolist())


@pytest.mark.theorem("STI-L3.1", "STI-L3.2")
def test_arrays_never_need_more_noise_than_the_baseline_and_the_median_gains_half_of_the_most() -> None:
    for records in all_records():
        n, most = int(records.sum()), int(records.max())
        gains = [Fraction(most * kept(records, m), n * m) for m in lengths(records)]
        assert min(gains) >= 1
        assert max(gains) == gains[0] == Fraction(most * records.size, n)
        length = median_length(records)
        assert 2 * Fraction(most * kept(records, length), n * length) >= max(gains)


@pytest.mark.theorem("STI-L3.2")
def test_the_median_does_not_always_gain_three_fifths_of_the_most() -> None:
    records = np.array([1] * 40 + [100] * 41)
    length = median_length(records)
    gain, most = (Fraction(100 * kept(records, m), int(records.sum()) * m) for m in (length, 1))
    assert Fraction(1, 2) <= gain / most < Fraction(3, 5)


@pytest.mark.theorem("STI-L3.2")
def test_the_median_has_half_of_the_users_rounded_up_at_or_above_it() -> None:
    for records in all_records():
        length, half = median_length(records), -(-records.size // 2)
        assert (records >= length).sum() >= half > (records > length).sum()


@pytest.mark.theorem("STI-E9")
def test_no_length_is_better_for_clipped_means_and_a_smaller_one_is_worse() -> None:
    for records in all_records():
        chosen = interval_length(records)
        squares = {m: Fraction(kept(records, m) ** 2, m) for m in lengths(records)}
        assert squares[chosen] == max(squares.values())
        assert all(squares[m] < squares[chosen] for m in squares if m < chosen)


def farthest(records: np.ndarray, length: int) -> Fraction:
    """Return max |mean of the kept - mean of all| over all datasets of zeros and ones."""
    worst, n = Fraction(0), int(records.sum())
    for ones in product(*(range(m + 1) for m in records.tolist())):
        for first in (True, False):
            pairs = zip(ones, records.tolist(), strict=True)
            at = [min(k, length) if first else max(k - (m - min(m, length)), 0) for k, m in pairs]
            worst = max(worst, abs(Fraction(sum(at), kept(records, length)) - Fraction(sum(ones), n)))
    return worst


@pytest.mark.theorem("STI-L5.1", "STI-E15")
def test_the_worst_dataset_is_as_far_from_its_mean_as_stated() -> None:
    """All numbers of ones, at a user's kept places first or last: a smaller bound would fail everywhere."""
    for records in all_records(3, 4):
        for length in lengths(records):
            noise = Fraction(length, kept(records, length)) / 2
            assert worst_case_error(records, length, Fraction(2)) - noise == farthest(records, length)


@pytest.mark.theorem("STI-L5.2", "STI-L5.3")
def test_minimax_is_least_over_all_lengths_and_grows_with_epsilon() -> None:
    for records in all_records():
        chosen = [minimax_length(records, epsilon) for epsilon in EPSILONS]
        assert chosen == sorted(chosen)
        for epsilon, length in zip(EPSILONS, chosen, strict=True):
            errors = {m: worst_case_error(records, m, epsilon) for m in lengths(records)}
            assert errors[length] == min(errors.values())
            assert all(errors[m] > errors[length] for m in errors if m < length)


@pytest.mark.theorem("STI-L5.4")
def test_very_small_and_very_large_epsilons_take_the_least_and_the_largest_number_of_records() -> None:
    for records in all_records():
        n, least, n_users = int(records.sum()), int(records.min()), records.size
        assert minimax_length(records, Fraction(least, n_users * n)) == least
        assert minimax_length(records, Fraction(n, n_users * least) ** 2) == records.max()


@pytest.mark.theorem("STI-L5.4")
def test_an_epsilon_half_as_large_again_or_as_small_would_be_too_much_to_claim() -> None:
    assert minimax_length(np.array([7, 8, 8, 8]), Fraction(3, 2) * Fraction(7, 4 * 31)) > 7
    assert minimax_length(np.array([5, 5, 5, 6]), Fraction(2, 3) * Fraction(21, 4 * 5) ** 2) < 6


@pytest.mark.theorem("STI-L6.1")
def test_the_noise_part_is_concave_between_numbers_of_records() -> None:
    records = np.array([2, 9, 9])
    parts = [Fraction(m, kept(records, m)) for m in range(2, 10)]
    assert all(a + c < 2 * b for a, b, c in zip(parts, parts[1:], parts[2:], strict=False))


@pytest.mark.theorem("STI-E19", "STI-L6.2")
def test_no_length_has_a_smaller_surrogate_and_it_is_convex() -> None:
    for records in all_records(5, 6):
        values = [surrogate_error(records, m) for m in lengths(records)]
        assert surrogate_length(records) == lengths(records)[values.index(min(values))]
        steps = [after - before for before, after in pairwise(values)]
        mean_between = int(records.sum()) % records.size != 0
        assert steps == sorted(steps) or mean_between, "convex in whole m, unless the slope changes between two"


def printed_procedure(records: np.ndarray) -> int:
    """Return the length that the paper's steps (i) and (ii) give."""
    descending, q = np.sort(records)[::-1], Fraction(int(records.sum()), int(records.max()))
    if q.denominator == 1 and descending[int(q) - 1] >= Fraction(int(records.sum()), records.size):
        return int(descending[int(q) - 1])
    return min((int(records.min()), int(records.max())), key=lambda m: surrogate_error(records, m))


@pytest.mark.theorem("STI-L6.2")
def test_the_printed_procedure_misses_corners_where_no_slope_is_zero() -> None:
    records = np.array([1, 3])
    assert (surrogate_length(records), surrogate_error(records, 2)) == (2, Fraction(11, 12))
    assert (printed_procedure(records), surrogate_error(records, 3)) == (3, 1)


@pytest.mark.theorem("STI-L4.1", "STI-L4.2")
def test_lengths_scale_with_the_samples_and_not_with_the_users() -> None:
    for records in all_records(3, 5):
        for length in (median_length, interval_length):
            assert length(10 * records) == 10 * length(records)
        assert interval_length(np.repeat(records, 3)) == interval_length(records)


@pytest.mark.theorem("STI-E9", "STI-E15", "STI-E19")
def test_bad_arguments_are_refused() -> None:
    good, empty, bad = np.array([2, 1]), np.array([], dtype=np.int64), np.array([2, 0])
    for length in (median_length, interval_length, surrogate_length):
        with pytest.raises(ValueError, match="n_users"):
            length(empty)
        with pytest.raises(ValueError, match="records"):
            length(bad)
    for epsilon in (Fraction(0), Fraction(-1)):
        with pytest.raises(ValueError, match="epsilon"):
            minimax_length(good, epsilon)
    for error in (lambda m: worst_case_error(good, m, Fraction(1)), lambda m: surrogate_error(good, m)):
        with pytest.raises(ValueError, match="array_length"):
            error(0)
