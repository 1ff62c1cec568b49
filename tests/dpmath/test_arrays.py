import math
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from exact import decimal, neighbours, outcome_probabilities, point_probabilities
from support import slow

from dpmath.arrays.cell import ArrayCell, Interval, array_averaging, array_bias, array_sensitivities, clipped_array_sum
from dpmath.arrays.grouping import Grouping, best_fit, wrap_around
from dpmath.arrays.intervals import (
    concentration_radius,
    levy,
    levy_interval,
    optimized_share,
    quantile,
    quantile_interval,
)
from dpmath.core.accounting import LOSS_UNITS
from dpmath.noise.noisy_cell import noise_inverse_scale
from dpmath.noise.selection import ExponentialMechanism

Grouper = Callable[[np.ndarray, int], Grouping]
TINY = [[1, 1, 1], [2, 1], [2, 1, 1], [2, 2, 1], [3, 1], [3, 1, 1], [3, 2, 2]]
STRADDLING = [3, 2, 2, 2]
"""In arrays of 3 the third user of WrapAround has a place in each of two arrays."""


def cell_of(records: list[int], length: int, value_range: int, grouper: Grouper) -> ArrayCell:
    return ArrayCell(grouper(np.array(records), length), np.array(records), value_range)


def tiny_cells(grouper: Grouper, value_range: int) -> Iterator[tuple[list[int], ArrayCell]]:
    for records in TINY:
        for length in range(1, max(records) + 1):
            yield records, cell_of(records, length, value_range, grouper)


def totals_of(records: list[int], value_range: int) -> list[int]:
    return [value_range * m for m in records]


def largest_moves(records: list[int], cell: ArrayCell, interval: Interval) -> list[int]:
    """Return the most by which each user moves the sum of clipped means, over all pairs of neighbours."""
    largest = totals_of(records, cell.value_range)
    sums = {
        totals: int(np.clip(cell.private_means(totals), *interval).sum())
        for totals in product(*(range(most + 1) for most in largest))
    }
    moves = [0] * len(records)
    for one, other, user in neighbours(largest):
        moves[user] = max(moves[user], abs(sums[one] - sums[other]))
    return moves


@pytest.mark.theorem("HV-L42")
@pytest.mark.parametrize("value_range", [1, 2])
def test_best_fit_moves_by_no_more_than_stated_and_the_heaviest_user_by_exactly_that(value_range: int) -> None:
    for records, cell in tiny_cells(best_fit, value_range):
        moves = largest_moves(records, cell, (0, cell.largest))
        stated = array_sensitivities(cell, cell.largest)
        assert all(move <= most for move, most in zip(moves, stated, strict=True))
        assert max(moves) == max(stated) == cell.largest, "U / K of the mean; anything smaller would fail"


@pytest.mark.theorem("HV-L43")
@pytest.mark.parametrize("value_range", [1, 2])
def test_wrap_around_moves_by_exactly_what_each_user_keeps(value_range: int) -> None:
    for records, cell in tiny_cells(wrap_around, value_range):
        moves = largest_moves(records, cell, (0, cell.largest))
        assert moves == array_sensitivities(cell, cell.largest).tolist()
        assert moves == (value_range * cell.grouping.n_kept).tolist()


@pytest.mark.theorem("HV-L43")
def test_wrap_around_is_at_most_half_of_what_the_paper_states_on_random_cells(rng: np.random.Generator) -> None:
    for _ in range(2000):
        records = rng.integers(1, 30, rng.integers(1, 12)).tolist()
        cell = cell_of(records, int(rng.integers(1, max(records) + 1)), 5, wrap_around)
        mean_sensitivity = Fraction(int(max(array_sensitivities(cell, cell.largest))), cell.divisor)
        papers = Fraction(2 * 5, cell.grouping.n_arrays)
        assert 2 * mean_sensitivity <= papers


@pytest.mark.theorem("HV-L42", "HV-L43")
@pytest.mark.parametrize("grouper", [wrap_around, best_fit])
def test_clipping_bounds_the_moves_and_some_reach_the_bound(grouper: Grouper) -> None:
    """Every interval of every tiny cell. For WrapAround some user moves two arrays by the whole width each."""
    reached = {1: 0, 2: 0}
    for records, cell in [*tiny_cells(grouper, 1), (STRADDLING, cell_of(STRADDLING, 3, 1, grouper))]:
        for low in range(cell.largest + 1):
            for high in range(low, cell.largest + 1):
                moves, stated = largest_moves(records, cell, (low, high)), array_sensitivities(cell, high - low)
                assert all(move <= most for move, most in zip(moves, stated, strict=True))
                for arrays in reached:
                    reached[arrays] += high > low and max(moves) == max(stated) == arrays * (high - low)
    assert reached[1] > 20
    assert (reached[2] > 0) == (grouper is wrap_around)


@pytest.mark.theorem("HV-L43")
def test_rounding_means_to_ticks_would_break_the_bound_which_is_why_they_are_counted_finer() -> None:
    """Two arrays of two places, a user in both with one each: rounded to ticks the sum of means moves by 2 R."""
    records = [1, 2, 1]
    grouping = Grouping(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), np.array([1, 1, 1, 1]), 2, 3)
    cell = ArrayCell(grouping, np.array(records), 1)
    means = [cell.private_means([1, total, 0]) for total in (0, 2)]
    assert sum(means[1]) - sum(means[0]) == array_sensitivities(cell, 2)[1] == 2, "counted in halves of a tick: R"
    half_up = [[math.floor(Fraction(int(mean), 2) + Fraction(1, 2)) for mean in one] for one in means]
    assert [sum(one) for one in half_up] == [1, 2]
    both = [[math.floor(Fraction(int(m), 2) + Fraction(1, 2)) for m in cell.private_means([0, t, 0])] for t in (0, 2)]
    assert sum(both[1]) - sum(both[0]) == 2 > cell.value_range


@pytest.mark.theorem("HV-L42", "HV-L43")
@pytest.mark.parametrize("grouper", [wrap_around, best_fit])
def test_ten_times_the_range_gives_ten_times_the_sensitivity_and_more_samples_none(grouper: Grouper) -> None:
    once, wide = (cell_of([5, 3, 2, 2], 3, r, grouper) for r in (4, 40))
    longer = cell_of([50, 30, 20, 20], 30, 4, grouper)
    shares = [
        [Fraction(int(s), cell.divisor * cell.value_range) for s in array_sensitivities(cell, cell.largest)]
        for cell in (wide, longer)
    ]
    assert shares[0] == shares[1]
    if grouper is wrap_around:
        expected = 10 * array_sensitivities(once, once.largest)
        assert array_sensitivities(wide, wide.largest).tolist() == expected.tolist()


@pytest.mark.theorem("HV-L46")
@pytest.mark.parametrize("grouper", [wrap_around, best_fit])
def test_no_dataset_is_further_from_its_mean_than_stated_and_one_is_as_far_but_for_rounding(grouper: Grouper) -> None:
    for records, cell in tiny_cells(grouper, 3):
        largest = totals_of(records, 3)
        stated, n = array_bias(cell), sum(records)
        off = max(
            abs(Fraction(int(cell.private_means(totals).sum()), cell.divisor) - Fraction(sum(totals), n))
            for totals in product(*(range(most + 1) for most in largest))
        )
        rounding = stated - array_bias(ArrayCell(cell.grouping, cell.records, 6)) / 2
        assert stated - 2 * rounding <= off <= stated


def intervals_of_levy(cell: ArrayCell, totals: tuple[int, ...], epsilon: Fraction) -> dict[Interval, Decimal]:
    drawn = levy_interval(cell, cell.private_means(totals), epsilon, 0.9)
    chances: dict[Interval, Decimal] = {}
    for chosen, p in enumerate(outcome_probabilities(drawn.mechanism)):
        interval = drawn.around(chosen)
        chances[interval] = chances.get(interval, Decimal(0)) + p
    return chances


def intervals_of_quantile(cell: ArrayCell, totals: tuple[int, ...], epsilon: Fraction) -> dict[Interval, Decimal]:
    drawn = quantile_interval(cell, cell.private_means(totals), epsilon, Fraction(1, 3))
    low, high = (point_probabilities(end) for end in drawn.ends)
    chances: dict[Interval, Decimal] = {}
    for (a, p), (b, q) in product(enumerate(low), enumerate(high)):
        interval = (min(a, b), max(a, b))
        chances[interval] = chances.get(interval, Decimal(0)) + p * q
    return chances


def worst_losses(cell: ArrayCell, epsilon: Fraction, intervals: Callable) -> tuple[Decimal, Decimal]:
    """Return the largest loss of the interval alone, and of interval and noisy sum together, over all neighbours.

    The ratio of two discrete Laplace probabilities of inverse scale n is largest beyond both sums, and there it
    is exp(|difference of the sums| n / LOSS_UNITS).
    """
    largest = totals_of(cell.records.tolist(), cell.value_range)
    chances, sums = {}, {}
    for totals in product(*(range(most + 1) for most in largest)):
        chances[totals] = intervals(cell, totals, epsilon / 2)
        means = cell.private_means(totals)
        sums[totals] = {interval: int(np.clip(means, *interval).sum()) for interval in chances[totals]}
    alone = together = Decimal(0)
    for one, other, _ in neighbours(largest):
        for interval, p in chances[one].items():
            loss = (p / chances[other][interval]).ln()
            sensitivity = int(max(array_sensitivities(cell, interval[1] - interval[0])))
            inverse_scale = noise_inverse_scale(sensitivity, epsilon / 2)
            moved = abs(sums[one][interval] - sums[other][interval])
            alone = max(alone, loss)
            together = max(together, loss + decimal(Fraction(moved * inverse_scale, LOSS_UNITS)))
    return alone, together


@pytest.mark.theorem("STI-A3", "STI-S3.4", "STI-S3.5", "HV-L41")
@pytest.mark.parametrize("intervals", [intervals_of_levy, intervals_of_quantile])
@pytest.mark.parametrize("grouper", [wrap_around, best_fit])
@pytest.mark.parametrize(
    ("records", "length", "value_range"), [([1, 1, 1], 1, 3), ([2, 2, 1, 1], 2, 1), ([3, 2], 3, 2), (STRADDLING, 3, 1)]
)
@pytest.mark.parametrize("epsilon", [Fraction(1), slow(Fraction(30))])
def test_interval_and_noisy_sum_together_lose_no_more_than_epsilon(
    records: list[int], length: int, value_range: int, grouper: Grouper, intervals: Callable, epsilon: Fraction
) -> None:
    alone, together = worst_losses(cell_of(records, length, value_range, grouper), epsilon, intervals)
    assert alone <= decimal(epsilon / 2)
    assert decimal(epsilon / 2) * Decimal("0.99") < together <= decimal(epsilon)


@pytest.mark.theorem("STI-A3", "STI-S3.4", "STI-S3.5")
@pytest.mark.parametrize(
    ("intervals", "cell", "share"),
    [
        (intervals_of_levy, cell_of([8, 8], 8, 1, best_fit), "0.9"),
        (intervals_of_quantile, cell_of([1, 1, 1], 1, 3, best_fit), "0.7"),
    ],
)
def test_less_than_epsilon_would_be_too_little_to_charge(intervals: Callable, cell: ArrayCell, share: str) -> None:
    epsilon = Fraction(60)
    alone, together = worst_losses(cell, epsilon, intervals)
    assert Decimal(share) * decimal(epsilon) < together <= decimal(epsilon)
    assert alone <= decimal(epsilon / 2)


@pytest.mark.theorem("STI-A3", "STI-S3.3", "STI-S3.4", "STI-S3.5", "HV-L41", "HV-L47")
@pytest.mark.parametrize("grouper", [wrap_around, best_fit])
@pytest.mark.parametrize(("name", "share"), [("array_averaging", 0), ("levy", 2), ("quantile", 4)])
def test_what_is_released_was_drawn_at_the_epsilon_asked_for(
    name: str, share: int, grouper: Grouper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rates of the draws that make the interval and the scale of the noise are as asked for, not more, not less."""
    rates: list[Fraction] = []
    for module in ("dpmath.arrays.intervals", "dpmath.noise.private_quantiles"):
        monkeypatch.setattr(
            f"{module}.ExponentialMechanism",
            lambda sizes, scores, rate: rates.append(rate) or ExponentialMechanism(sizes, scores, rate),
        )
    cell, epsilon = cell_of([5, 4, 4, 3, 1, 1], 5, 100, grouper), Fraction(7, 3)
    mechanism = {"array_averaging": array_averaging, "levy": levy, "quantile": quantile}[name]
    for _ in range(20):
        rates.clear()
        released = mechanism(cell, [400, 100, 7, 300, 0, 99], epsilon, os.urandom)
        most_arrays = cell.grouping.most_arrays_of_a_user
        assert rates == [epsilon / max(share, 1) / (2 * most_arrays)] * (share // 2)
        assert sum(2 * rate * most_arrays for rate in rates) == (epsilon / 2 if share else 0)
        sensitivity = int(max(array_sensitivities(cell, released.interval[1] - released.interval[0])))
        allowed = (epsilon / 2 if share else epsilon) * LOSS_UNITS
        if sensitivity:
            assert released.inverse_scale * sensitivity <= allowed < (released.inverse_scale + 1) * sensitivity


@pytest.mark.theorem("STI-A3")
def test_the_papers_rate_would_lose_more_than_half_of_epsilon_where_a_user_is_in_two_arrays() -> None:
    """Algorithm 3 has exp(-epsilon c / 4) whatever the grouping; here that is the rate of twice the epsilon."""
    cell, epsilon = cell_of([9, 6, 6, 6], 9, 1, wrap_around), Fraction(80)
    assert cell.grouping.most_arrays_of_a_user == 2
    chances = {
        extremes: outcome_probabilities(levy_interval(cell, cell.private_means(extremes), epsilon, 0.9).mechanism)
        for extremes in product((0, 9), (0, 6), (0, 6), (0, 6))
    }
    losses = [
        max((p / q).ln() for p, q in zip(chances[one], chances[other], strict=True))
        for one, other in product(chances, repeat=2)
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1
    ]
    assert epsilon / 2 < max(losses) <= epsilon


@pytest.mark.theorem("STI-A3")
def test_levy_chooses_bins_by_the_papers_costs() -> None:
    cell = cell_of([1] * 9, 1, 900, best_fit)
    means = np.array([0, 10, 250, 300, 310, 330, 600, 899, 900], dtype=object)
    gamma = 2 * 9 / math.exp(2 * 0.3**2)  # tau = 0.3 U
    with pytest.raises(ValueError, match="gamma"):
        concentration_radius(cell, gamma)
    drawn = levy_interval(cell_of([8] * 9, 8, 900, best_fit), 8 * means, Fraction(1), 0.5)
    bins = -(-drawn.largest // drawn.tau)
    chosen = [min(8 * int(mean) // drawn.tau, bins - 1) for mean in means]
    costs = [max(sum(c < x for c in chosen), sum(c > x for c in chosen)) for x in range(bins)]
    weights = [math.exp(-cost / 2) for cost in costs]
    assert drawn.mechanism.probabilities() == pytest.approx([one / sum(weights) for one in weights])
    assert [drawn.around(x) for x in range(bins)] == [
        (max(0, (x - 1) * drawn.tau), min((x + 2) * drawn.tau, drawn.largest)) for x in range(bins)
    ]


@pytest.mark.theorem("STI-E7")
def test_the_radius_is_the_papers_and_falls_with_the_square_root_of_the_samples() -> None:
    cell, longer = (cell_of([m] * 6, m, 65, best_fit) for m in (100, 1000))
    tau = 65 * math.sqrt(math.log(2 * 6 / 0.2) / 200)
    assert concentration_radius(cell, 0.2) == math.ceil(100 * tau)
    assert concentration_radius(longer, 0.2) / 1000 == pytest.approx(tau / math.sqrt(10), rel=1e-3)


@pytest.mark.theorem("STI-S3.5")
def test_the_optimized_share_is_the_rank_of_optimal_clipping_and_never_past_the_middle() -> None:
    assert optimized_share(100, Fraction(1, 2)) == Fraction(4, 100)
    assert optimized_share(100, Fraction(3, 2)) == Fraction(2, 100)
    assert optimized_share(5, Fraction(1, 2)) == Fraction(1, 2)


MECHANISMS = {"array-averaging": array_averaging, "levy": levy, "quantile": quantile}


@pytest.mark.theorem("STI-S3.3", "STI-S3.4", "STI-S3.5")
@pytest.mark.parametrize("grouper", [wrap_around, best_fit])
@pytest.mark.parametrize("name", MECHANISMS)
def test_with_very_little_noise_the_mean_of_the_array_means_is_released(name: str, grouper: Grouper) -> None:
    records = [40, 30, 30, 20, 10, 10, 5, 5]
    cell = cell_of(records, 20, 100, grouper)
    totals = [m * (48 + user % 3) for user, m in enumerate(records)]
    released = MECHANISMS[name](cell, totals, Fraction(10**5), os.urandom)
    assert float(released.mean) == pytest.approx(49, abs=1.01)
    assert released.inverse_scale > 0
    assert 0 <= released.interval[0] <= released.interval[1] <= cell.largest


@pytest.mark.theorem("STI-S3.4")
def test_an_interval_of_one_point_releases_a_constant_without_noise() -> None:
    cell = cell_of([2, 1], 2, 5, best_fit)
    released = clipped_array_sum(cell, cell.private_means([9, 1]), (4, 4), Fraction(1), os.urandom)
    assert (released.noisy_sum, released.inverse_scale, released.mean) == (8, 0, 2)


@pytest.mark.theorem("STI-S3.3", "HV-L46")
def test_bad_arguments_are_refused() -> None:
    cell = cell_of([2, 1], 2, 5, best_fit)
    means = cell.private_means([10, 5])
    for totals in ([11, 0], [-1, 0], [1], [1, 1, 1]):
        with pytest.raises(ValueError, match="private_totals"):
            array_averaging(cell, totals, Fraction(1), os.urandom)
    for interval in ((-1, 3), (3, 2), (0, 11)):
        with pytest.raises(ValueError, match="interval"):
            clipped_array_sum(cell, means, interval, Fraction(1), os.urandom)
    for mechanism in MECHANISMS.values():
        with pytest.raises(ValueError, match="epsilon"):
            mechanism(cell, [1, 1], Fraction(0), os.urandom)
    with pytest.raises(ValueError, match="gamma"):
        levy(cell, [1, 1], Fraction(1), os.urandom, 1.0)
    with pytest.raises(ValueError, match="outside"):
        quantile(cell, [1, 1], Fraction(1), os.urandom, Fraction(2, 3))
    with pytest.raises(ValueError, match="width"):
        array_sensitivities(cell, -1)
    with pytest.raises(ValueError, match="n_arrays"):
        optimized_share(0, Fraction(1))
    with pytest.raises(ValueError, match="value_range"):
        ArrayCell(cell.grouping, cell.records, 0)
    with pytest.raises(ValueError, match="records"):
        ArrayCell(cell.grouping, np.array([1, 1]), 5)
