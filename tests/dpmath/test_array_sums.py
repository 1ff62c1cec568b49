"""A day's cells by array averaging, against every change of every user's values in tiny cells."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support import occupancy_of, random_occupancy

from dpmath.arrays.cell import array_sensitivities
from dpmath.arrays.choice import array_averaging_sums, projected_array_sums
from dpmath.arrays.sums import ArraySum
from dpmath.core.accounting import LOSS_UNITS, ExactIntArray, in_loss_units
from dpmath.core.occupancy import Occupancy

TINY = [[1, 2, 1, 2], [3, 1, 0, 1], [1, 0, 2, 2]]
R = 4


def losses_of(occupancy: Occupancy, sums: list[ArraySum]) -> ExactIntArray:
    losses = np.zeros(occupancy.n_users, dtype=object)
    for one in sums:
        np.add.at(losses, occupancy.user, one.losses(one.occupancy))
    return losses


def means_by_totals(one: ArraySum, cell: int) -> dict[tuple[int, ...], int]:
    """Return the sum of the array means for every dataset of a cell, by the totals of the users that are taken."""
    arrays = one.cells[cell]
    largest = [R * int(m) for m in arrays.records]
    return {
        totals: int(arrays.private_means(totals).sum()) for totals in product(*(range(most + 1) for most in largest))
    }


@pytest.mark.theorem("HV-L43")
@pytest.mark.parametrize("optimal", [False, True])
def test_every_users_loss_is_the_most_that_a_change_of_its_values_can_show(optimal: bool) -> None:
    """Over all pairs of neighbours: the largest move in each cell over its noise, added up, is the loss charged."""
    occupancy = occupancy_of(TINY)
    (one,) = array_averaging_sums(occupancy, [R], Fraction(30), Fraction(4, 5), None, optimal)
    assert one.published.sum() >= 2
    moved = np.zeros(occupancy.n_users, dtype=object)
    for cell in one.cells:
        sums = means_by_totals(one, cell)
        for place, pair in enumerate(one.taken_pairs(cell)):
            groups: dict[tuple[int, ...], list[int]] = {}
            for totals, value in sums.items():
                groups.setdefault((*totals[:place], *totals[place + 1 :]), []).append(value)
            most = max(max(values) - min(values) for values in groups.values())
            moved[occupancy.user[pair]] += most * one.inverse_scale[cell]
    assert (moved == losses_of(occupancy, [one])).all()
    assert 0 < max(moved) <= 30 * LOSS_UNITS


@pytest.mark.theorem("HV-L46")
@pytest.mark.parametrize("budgets", [None, [99, 1, 99, 99]])
def test_no_dataset_is_further_off_than_promised_whoever_was_left_out(budgets: list[int] | None) -> None:
    occupancy = occupancy_of(TINY)
    left = None if budgets is None else np.array([one * LOSS_UNITS for one in budgets], dtype=object)
    (one,) = array_averaging_sums(occupancy, [R], Fraction(60), Fraction(4, 5), left)
    assert one.published.any()
    for cell, arrays in one.cells.items():
        pairs = np.arange(*occupancy.cell_start[cell : cell + 2])
        taken = {int(pair): place for place, pair in enumerate(one.taken_pairs(cell))}
        sums, off = means_by_totals(one, cell), Fraction(0)
        for totals in product(*(range(R * int(m) + 1) for m in occupancy.n_records[pairs])):
            mine = tuple(total for pair, total in zip(pairs.tolist(), totals, strict=True) if pair in taken)
            true = Fraction(sum(totals), int(occupancy.cell_records[cell]))
            off = max(off, abs(Fraction(sums[mine], arrays.divisor) - true))
        promised = one.errors(one.occupancy)[cell]
        assert promised is not None
        noise = Fraction(LOSS_UNITS, int(one.inverse_scale[cell] * arrays.divisor))
        assert off + noise <= promised <= Fraction(4, 5) * R
    if left is not None:
        assert (losses_of(occupancy, [one]) <= left).all()


@pytest.mark.theorem("STI-S3.3")
def test_the_best_length_promises_no_more_than_the_median_and_carries_no_fewer_cells(rng: np.random.Generator) -> None:
    better = 0
    for _ in range(10):
        occupancy = random_occupancy(rng, 6, 30, most=20)
        for target in (Fraction(2, 5), None):
            (median,), (best,) = (
                array_averaging_sums(occupancy, [1000], Fraction(12), target, None, optimal)
                for optimal in (False, True)
            )
            assert best.published.sum() >= median.published.sum()
            if target is None and (best.published == median.published).all():
                pairs = zip(best.errors(best.occupancy), median.errors(median.occupancy), strict=True)
                errors = [(one, other) for one, other in pairs if one is not None and other is not None]
                assert all(one <= other for one, other in errors)
                better += sum(one < other for one, other in errors)
    assert better > 10


@pytest.mark.theorem("STI-S3.3")
def test_ten_times_the_samples_of_every_user_give_the_same_cells_and_losses(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 6, 30)
    more = Occupancy(occupancy.cell, occupancy.user, 10 * occupancy.n_records, 6, 30)
    (one,), (ten,) = (array_averaging_sums(o, [1000], Fraction(6), Fraction(2, 5)) for o in (occupancy, more))
    assert one.published.any()
    assert (one.published == ten.published).all()
    assert (10 * one.array_length == ten.array_length).all()
    loss, tenfold = (max(losses_of(occupancy, [sums])) / LOSS_UNITS for sums in (one, ten))
    assert loss == pytest.approx(tenfold, rel=0.02)


@pytest.mark.theorem("CPL-T2.3")
@pytest.mark.parametrize("n_sums", [1, 2])
def test_all_sums_of_all_cells_together_cost_nobody_more_than_asked(rng: np.random.Generator, n_sums: int) -> None:
    for budgets in (None, np.array([LOSS_UNITS * (user % 3) // 2 for user in range(40)], dtype=object)):
        occupancy = random_occupancy(rng, 10, 40, most=20)
        sums = array_averaging_sums(occupancy, [100, 10_000][:n_sums], Fraction(7, 3), None, budgets)
        losses = losses_of(occupancy, sums)
        assert max(losses) <= Fraction(7, 3) * LOSS_UNITS
        assert all((one.published == sums[0].published).all() for one in sums)
        if budgets is not None:
            assert (losses <= budgets).all()
        else:
            assert max(losses) > LOSS_UNITS


@pytest.mark.theorem("STI-S3.4")
def test_projected_cells_cost_everyone_in_them_their_whole_epsilon_and_nobody_more_than_the_days(
    rng: np.random.Generator,
) -> None:
    for budgets in (None, np.array([LOSS_UNITS * (user % 3) for user in range(60)], dtype=object)):
        occupancy = random_occupancy(rng, 10, 60, most=20)
        (one,) = projected_array_sums(occupancy, 100, Fraction(3), Fraction(7, 10), budgets)
        losses = losses_of(occupancy, [one])
        assert set(losses) <= {n * in_loss_units(Fraction(7, 10)) for n in range(5)}
        assert one.published.any()
        if budgets is None:
            assert max(losses) == 4 * in_loss_units(Fraction(7, 10)), "a fifth would cost 3.5"
        else:
            assert (losses <= budgets).all()
        assert all(error == 100 for error in one.errors(one.occupancy) if error is not None)


@pytest.mark.theorem("HV-L47")
@pytest.mark.parametrize(("projected", "share"), [(False, 1), (True, 2)])
def test_noise_is_for_what_the_interval_leaves_of_epsilon(projected: bool, share: int) -> None:
    occupancy = occupancy_of(TINY)
    taken, epsilon = np.ones(10, dtype=bool), Fraction(3, 2)
    one = ArraySum(occupancy, R, np.array([2, 1, 2]), taken, epsilon, projected)
    for number, cell in one.cells.items():
        sensitivity = max(array_sensitivities(cell, cell.largest))
        assert one.inverse_scale[number] == LOSS_UNITS * 3 // (2 * share * sensitivity)


@pytest.mark.theorem("CPL-T2.3")
def test_who_cannot_pay_for_both_sums_of_a_cell_pays_for_none() -> None:
    occupancy = occupancy_of([[3] * 10])
    for allowed, is_published in ((Fraction(3, 2), False), (Fraction(2), True)):
        budgets = np.full(10, int(allowed * LOSS_UNITS), dtype=object)
        sums = array_averaging_sums(occupancy, [100, 10_000], Fraction(2), None, budgets)
        assert all(bool(one.published.any()) == is_published for one in sums)


@pytest.mark.theorem("STI-S3.4")
def test_a_cell_with_too_few_who_can_pay_is_withheld_and_costs_nothing() -> None:
    """24 users; with one or two left the noise alone would be as wide as half the range."""
    occupancy = occupancy_of([[2] * 24, [1] * 24])
    for n_left, is_published in ((24, True), (12, True), (2, False), (0, False)):
        budgets = np.array([LOSS_UNITS * (2 if user < n_left else 0) for user in range(24)], dtype=object)
        for (one,) in (
            projected_array_sums(occupancy, 100, Fraction(2), Fraction(1), budgets),
            array_averaging_sums(occupancy, [100], Fraction(2), None, budgets),
        ):
            assert bool(one.published.all()) == bool(one.published.any())
            assert one.taken.any() == one.published.any()
        (one,) = projected_array_sums(occupancy, 100, Fraction(2), Fraction(1), budgets)
        assert bool(one.published.any()) == is_published


def test_lengths_whose_noise_could_not_be_drawn_are_passed_over() -> None:
    """A range of 1e12 squared half ticks and little epsilon: long arrays need noise wider than 2^50."""
    occupancy = occupancy_of([[50 if user % 3 else 10 for user in range(1500)]])
    for optimal in (False, True):
        array_averaging_sums(occupancy, [10**6, 10**12], Fraction(3, 100), None, None, optimal)
    array_averaging_sums(occupancy, [10**4], Fraction(3, 100), Fraction(10**14), None, True)


def test_bad_arguments_are_refused() -> None:
    occupancy = occupancy_of(TINY)
    with pytest.raises(ValueError, match="epsilon"):
        array_averaging_sums(occupancy, [R], Fraction(0), None)
    with pytest.raises(ValueError, match="target"):
        array_averaging_sums(occupancy, [R], Fraction(1), Fraction(0))
    with pytest.raises(ValueError, match="value_ranges"):
        array_averaging_sums(occupancy, [0], Fraction(1), None)
    with pytest.raises(ValueError, match="cell_epsilon"):
        projected_array_sums(occupancy, R, Fraction(1), Fraction(0))
    with pytest.raises(ValueError, match="cell_epsilon_in_loss_units"):
        projected_array_sums(occupancy, R, Fraction(1), Fraction(1, 2**60))
    with pytest.raises(ValueError, match="whole number"):
        ArraySum(occupancy, R, np.array([1, 1, 1]), np.ones(10, dtype=bool), Fraction(1, 3))
