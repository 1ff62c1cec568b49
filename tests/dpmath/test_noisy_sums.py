import os
from fractions import Fraction

import numpy as np
import pytest
from exact import neighbours

from dpmath.core.accounting import LARGEST_INVERSE_SCALE, LOSS_UNITS
from dpmath.noise.noisy_cell import baseline, baseline_error, noise_inverse_scale, noisy_cell_sum


@pytest.mark.theorem("STI-S3.2", "HV-L47")
def test_the_loss_is_at_most_epsilon_and_the_next_smaller_noise_would_lose_more() -> None:
    for records in ([1, 1], [3, 1], [2, 2, 1]):
        largest = [2 * m for m in records]
        moved = max(abs(sum(one) - sum(other)) for one, other, _ in neighbours(largest))
        released = baseline(np.array(records), largest, 2, Fraction(7, 10), os.urandom)
        loss = Fraction(moved * released.inverse_scale, LOSS_UNITS)
        assert loss <= Fraction(7, 10) < Fraction(moved * (released.inverse_scale + 1), LOSS_UNITS)


@pytest.mark.theorem("STI-S3.2")
@pytest.mark.statistical
def test_the_error_of_the_baseline_is_its_noise() -> None:
    """|Z| has about its mean as standard deviation: 6.2 / sqrt(N) of it is passed once in 1e9 runs."""
    records, n = np.array([5, 2, 1]), 4_000
    totals, epsilon = [300, 100, 7], Fraction(1)
    off = [abs(baseline(records, totals, 100, epsilon, os.urandom).mean - Fraction(407, 8)) for _ in range(n)]
    measured, stated = float(sum(off) / n), float(100 * baseline_error(records, epsilon))
    assert stated == 100 * 5 / 8
    assert measured == pytest.approx(stated, rel=6.2 / np.sqrt(n))
    assert measured != pytest.approx(stated * 1.25, rel=6.2 / np.sqrt(n))


@pytest.mark.theorem("STI-S3.2")
def test_ten_times_the_samples_change_no_error_and_ten_times_the_users_a_tenth() -> None:
    records, epsilon = np.array([5, 2, 1]), Fraction(1, 2)
    assert baseline_error(10 * records, epsilon) == baseline_error(records, epsilon)
    assert baseline_error(np.repeat(records, 10), epsilon) == baseline_error(records, epsilon) / 10


@pytest.mark.theorem("HV-L47")
def test_a_constant_needs_no_noise_and_very_fine_noise_is_as_fine_as_can_be_drawn() -> None:
    assert noise_inverse_scale(0, Fraction(1)) == 0
    assert noise_inverse_scale(1, Fraction(10**9)) == LARGEST_INVERSE_SCALE
    assert noisy_cell_sum(9, 2, (3, 3), 0, Fraction(1), os.urandom).mean == Fraction(9, 2)


@pytest.mark.theorem("STI-S3.2")
def test_bad_arguments_are_refused() -> None:
    records = np.array([2, 1])
    for totals in ([5, 0], [-1, 0], [1]):
        with pytest.raises(ValueError, match="private_totals"):
            baseline(records, totals, 2, Fraction(1), os.urandom)
    with pytest.raises(ValueError, match="value_range"):
        baseline(records, [0, 0], 0, Fraction(1), os.urandom)
    for epsilon in (Fraction(0), Fraction(1, 2**60)):
        with pytest.raises(ValueError, match="epsilon"):
            baseline(records, [0, 0], 2, epsilon, os.urandom)
    with pytest.raises(ValueError, match="epsilon"):
        baseline_error(records, Fraction(0))
    with pytest.raises(ValueError, match="records"):
        baseline_error(np.array([0, 1]), Fraction(1))
    with pytest.raises(ValueError, match="sensitivity"):
        noise_inverse_scale(-1, Fraction(1))
    with pytest.raises(ValueError, match="divisor"):
        noisy_cell_sum(1, 0, (0, 1), 1, Fraction(1), os.urandom)
