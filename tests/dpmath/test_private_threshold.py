import os
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from exact import decimal, neighbours, point_probabilities

from dpmath.cells.thresholds import clipped_errors, clipping_thresholds
from dpmath.core.accounting import LOSS_UNITS
from dpmath.noise.noisy_cell import noise_inverse_scale
from dpmath.papers.private_threshold import private_threshold, privately_thresholded_sum, threshold_error

pytestmark = pytest.mark.theorem("BUCs-S4.1")


def worst_losses(records: list[int], value_range: int, epsilon: Fraction) -> tuple[Decimal, Decimal]:
    """Return the largest loss by the threshold alone, and by threshold and noisy sum, over all neighbours."""
    largest = [value_range * m for m in records]
    chances = {
        totals: point_probabilities(private_threshold(np.array(records), totals, value_range, epsilon))
        for totals in product(*(range(most + 1) for most in largest))
    }
    alone = together = Decimal(0)
    for one, other, _ in neighbours(largest):
        for threshold, (p, q) in enumerate(zip(chances[one], chances[other], strict=True)):
            sums = [sum(min(total, threshold) for total in totals) for totals in (one, other)]
            noise = abs(sums[0] - sums[1]) * noise_inverse_scale(threshold, epsilon / 2)
            alone = max(alone, (p / q).ln())
            together = max(together, (p / q).ln() + decimal(Fraction(noise, LOSS_UNITS)))
    return alone, together


@pytest.mark.theorem("HV-L41", "HV-L45")
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(30)])
@pytest.mark.parametrize("records", [[1, 1, 1], [2, 1, 1], [3, 1]])
def test_threshold_and_noisy_sum_together_lose_no_more_than_epsilon(records: list[int], epsilon: Fraction) -> None:
    alone, together = worst_losses(records, 2, epsilon)
    assert alone <= decimal(epsilon / 2)
    assert decimal(epsilon / 2) < together <= decimal(epsilon)


@pytest.mark.theorem("HV-L45")
def test_three_fifths_of_epsilon_would_be_too_little_to_charge() -> None:
    alone, together = worst_losses([1, 1, 1, 1, 1], 2, Fraction(2))
    assert alone <= 1
    assert Decimal("1.2") < together <= 2


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_a_large_epsilon_finds_the_total_of_its_rank(rank: int) -> None:
    totals = np.array([900, 700, 500, 300, 100])
    weights = private_threshold(np.array([9, 7, 5, 3, 1]), totals.tolist(), 100, Fraction(2, rank)).mechanism
    best = int(np.argmin(weights._ranks))
    assert (totals > sorted([0, *totals])[best]).sum() == rank


def test_fewer_users_than_the_rank_aim_at_the_smallest_total() -> None:
    drawn = private_threshold(np.array([2, 1]), [150, 80], 100, Fraction(1, 10))
    assert drawn.mechanism._ranks == [0, 1, 2]


def test_totals_above_the_threshold_are_clipped_and_the_noise_is_for_the_threshold() -> None:
    records, totals = np.array([9, 7, 5, 3, 1]), [900, 700, 500, 300, 100]
    for _ in range(50):
        released = privately_thresholded_sum(records, totals, 100, Fraction(10**6), os.urandom)
        low, high = released.interval
        assert low == 0
        assert abs(released.noisy_sum - sum(min(total, high) for total in totals)) <= 2
        assert released.divisor == 25


@pytest.mark.statistical
def test_the_stated_error_is_that_of_draws() -> None:
    """Of 20,000 thresholds, each of whose errors is within [0, E]; 6.2 standard errors are passed once in 1e9 runs."""
    records, epsilon = np.array([8, 4, 4, 2, 2, 2, 1, 1, 1]), Fraction(3, 2)
    totals = 65 * records
    drawn = private_threshold(records, totals.tolist(), 65, epsilon)
    thresholds = np.array([drawn.draw(os.urandom) for _ in range(20_000)])
    errors = np.maximum(totals[None, :] - thresholds[:, None], 0).sum(axis=1) + 2 * thresholds / float(epsilon)
    errors = errors / records.sum()
    margin = 6.2 * errors.std() / np.sqrt(errors.size)
    stated = threshold_error(records, 65, epsilon)
    assert errors.mean() == pytest.approx(stated, abs=margin)
    assert errors.mean() != pytest.approx(stated * 1.05, abs=margin)


def test_optimal_clipping_has_a_smaller_error_for_every_epsilon_of_the_papers_range() -> None:
    """Figure 1 of BUCs: the geometric collection for M = 6."""
    from support import occupancy_of

    records = np.repeat(2 ** np.arange(6, -1, -1), 2 ** np.arange(7))
    occupancy, kept = occupancy_of([records.tolist()]), np.ones(records.size, dtype=bool)
    for epsilon in (0.25, 0.5, 1.0, 1.5, 2.0):
        thresholds = clipping_thresholds(occupancy, kept, epsilon)
        optimal = 65 * clipped_errors(occupancy, kept, thresholds, epsilon)[0]
        assert threshold_error(records, 65, Fraction(epsilon)) > 1.5 * optimal


def test_bad_arguments_are_refused() -> None:
    records = np.array([2, 1])
    for totals in ([5, 0], [-1, 0], [1]):
        with pytest.raises(ValueError, match="private_totals"):
            privately_thresholded_sum(records, totals, 2, Fraction(1), os.urandom)
    with pytest.raises(ValueError, match="epsilon"):
        private_threshold(records, [0, 0], 2, Fraction(0))
    with pytest.raises(ValueError, match="epsilon"):
        threshold_error(records, 2, Fraction(0))
    with pytest.raises(ValueError, match="value_range"):
        private_threshold(records, [0, 0], 0, Fraction(1))
