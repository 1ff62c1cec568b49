import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcribed import corrected_variance_bias, mean, variance

from dpmath.papers.clip_user import dropped_mean_bias, dropped_variance_bias
from dpmath.papers.sensitivity import variance_sensitivity

COUNTS = [(kept, n) for n in range(1, 9) for kept in range(1, n + 1)]


def largest_change(statistic: Any, n_kept: int, n_total: int, upper: int) -> Fraction:
    """Return the most that dropping all but ``n_kept`` records changes, over every dataset of whole values."""
    values = range(upper + 1)
    kept = list(itertools.combinations_with_replacement(values, n_kept))
    dropped = list(itertools.combinations_with_replacement(values, n_total - n_kept))
    return max(abs(statistic(one + other) - statistic(one)) for one, other in itertools.product(kept, dropped))


@pytest.mark.theorem("CPL-T4.1")
@pytest.mark.parametrize(("n_kept", "n_total"), COUNTS)
def test_dropping_moves_a_mean_by_at_most_that_and_for_some_data_by_exactly_that(n_kept: int, n_total: int) -> None:
    assert largest_change(mean, n_kept, n_total, 2) == dropped_mean_bias(n_kept, n_total, 2)


@pytest.mark.theorem("CPL-T4.2", "HV-L20")
@pytest.mark.parametrize(("n_kept", "n_total"), COUNTS)
def test_dropping_moves_a_variance_by_at_most_that_and_for_some_data_by_exactly_that(n_kept: int, n_total: int) -> None:
    """Any bound below it fails here, because it is reached."""
    assert largest_change(variance, n_kept, n_total, 2) == dropped_variance_bias(n_kept, n_total, 2)


@pytest.mark.theorem("CPL-T4.2")
def test_it_is_the_papers_formula_with_its_two_cases_exchanged() -> None:
    for n_total in range(1, 60):
        for n_kept in range(1, n_total + 1):
            assert dropped_variance_bias(n_kept, n_total, 3) == 9 * corrected_variance_bias(n_kept, n_total)


@pytest.mark.theorem("CPL-T4.2")
def test_the_cases_as_printed_are_wrong_in_both_directions() -> None:
    """With four of five kept the printed bias is too large, with one of four it is too small."""
    printed_few, printed_many = Fraction(1 * 2, 9), Fraction(1, 4) * (1 - Fraction(1, 25))
    assert largest_change(variance, 4, 5, 1) < printed_many
    assert largest_change(variance, 1, 4, 1) > Fraction(1 * 3, 16)
    assert largest_change(variance, 1, 3, 1) == printed_few, "the cases meet where half is kept"


@pytest.mark.theorem("CPL-T4.1", "CPL-T4.2", "HV-L20")
@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 9))
def test_they_shrink_with_what_is_kept_and_scale_with_the_range(one: int, other: int, factor: int) -> None:
    n_kept, n_total = sorted((one, other))
    for bias, power in ((dropped_mean_bias, 1), (dropped_variance_bias, 2)):
        assert bias(n_total, n_total, 1) == 0
        assert bias(n_kept, n_total, factor) == factor**power * bias(n_kept, n_total, 1)
        assert bias(min(n_kept + 1, n_total), n_total, 1) <= bias(n_kept, n_total, 1)


@pytest.mark.theorem("HV-L20")
def test_dropping_records_does_to_a_variance_what_changing_them_does() -> None:
    assert all(dropped_variance_bias(k, n, 5) == variance_sensitivity(n - k, n, 5) for k, n in COUNTS)


@pytest.mark.parametrize("bias", [dropped_mean_bias, dropped_variance_bias])
@pytest.mark.parametrize(("arguments", "name"), [((0, 3, 1), "n_kept"), ((4, 3, 1), "n_total"), ((1, 3, 0), "upper")])
def test_bad_arguments_are_refused(bias: Any, arguments: tuple[int, int, int], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        bias(*arguments)
