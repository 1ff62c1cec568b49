import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcribed import mean, printed_variance_sensitivity, variance

from dpmath.papers.sensitivity import mean_sensitivity, variance_sensitivity, variance_shares

COUNTS = [(m, n) for n in range(1, 8) for m in range(n + 1)]


def neighbours(n_changed: int, n_total: int, upper: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every pair of datasets of whole values that differ in the first ``n_changed`` records."""
    values = range(upper + 1)
    for rest in itertools.combinations_with_replacement(values, n_total - n_changed):
        for one, other in itertools.product(itertools.combinations_with_replacement(values, n_changed), repeat=2):
            yield one + rest, other + rest


@pytest.mark.theorem("CPL-E5", "CPL-E9")
@pytest.mark.parametrize(("n_changed", "n_total"), COUNTS)
def test_the_means_of_neighbours_differ_by_at_most_that_and_some_by_exactly_that(n_changed: int, n_total: int) -> None:
    most = max(abs(mean(one) - mean(other)) for one, other in neighbours(n_changed, n_total, 2))
    assert most == mean_sensitivity(n_changed, n_total, 2)


@pytest.mark.theorem("CPL-P3.1", "CPL-L3.3", "HV-L20")
@pytest.mark.parametrize(("n_changed", "n_total"), COUNTS)
def test_the_variances_of_neighbours_differ_by_at_most_that_and_some_by_exactly_that(
    n_changed: int, n_total: int
) -> None:
    """Any bound below it fails here, because it is reached."""
    most = max(abs(variance(one) - variance(other)) for one, other in neighbours(n_changed, n_total, 2))
    assert most == variance_sensitivity(n_changed, n_total, 2)


@pytest.mark.theorem("CPL-P3.1", "CPL-L3.3")
def test_it_is_what_the_paper_prints_in_three_cases() -> None:
    for total in range(1, 60):
        for largest in range(1, total + 1):
            assert variance_sensitivity(largest, total, 3) == 9 * printed_variance_sensitivity(largest, total)


@pytest.mark.theorem("CPL-P3.1")
def test_equation_12_takes_a_case_where_it_does_not_hold() -> None:
    """It has m (N - m) / N^2 whatever m is, which is too little where one user has most of the records."""
    for total in range(2, 30):
        for largest in range(1, total + 1):
            in_12 = Fraction(largest * (total - largest), total**2)
            assert (in_12 < variance_sensitivity(largest, total, 1)) == (largest > -(-total // 2))


@pytest.mark.theorem("CPL-P3.1")
def test_one_record_a_user_gives_the_item_level_sensitivity() -> None:
    """Corollary III.1."""
    assert all(variance_sensitivity(1, n, 5) == 25 * Fraction(n - 1, n**2) for n in range(2, 50))


@pytest.mark.theorem("HV-L20", "CPL-E5")
@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 9))
def test_they_grow_with_the_user_and_scale_with_the_range(one: int, other: int, factor: int) -> None:
    less, n_total = sorted((one, other))
    assert variance_sensitivity(less - 1, n_total, 7) <= variance_sensitivity(less, n_total, 7) <= Fraction(49, 4)
    assert variance_sensitivity(less, n_total, factor) == factor**2 * variance_sensitivity(less, n_total, 1)
    assert mean_sensitivity(less, n_total, factor) == factor * mean_sensitivity(less, n_total, 1)
    assert mean_sensitivity(factor * less, factor * n_total, 1) == mean_sensitivity(less, n_total, 1)


@pytest.mark.theorem("CPL-P3.1", "HV-L20")
def test_arrays_of_counts_give_the_same_shares() -> None:
    counts = np.array([(m, n) for n in [*range(1, 40), 10**9 + 7] for m in {0, 1, n // 2, (n + 1) // 2, n - 1, n}])
    exact = [float(variance_sensitivity(int(m), int(n), 1)) for m, n in counts]
    assert variance_shares(counts[:, 0], counts[:, 1]) == pytest.approx(exact, rel=1e-14, abs=0)


@pytest.mark.parametrize("sensitivity", [mean_sensitivity, variance_sensitivity])
@pytest.mark.parametrize(
    ("arguments", "name"),
    [((-1, 3, 1), "n_changed"), ((4, 3, 1), "n_total"), ((0, 0, 1), "n_total"), ((1, 3, 0), "upper")],
)
def test_bad_arguments_are_refused(sensitivity: Any, arguments: tuple[int, int, int], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        sensitivity(*arguments)
