"""A day's cells by array averaging, against every change of every user's values in tiny cells."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support import occupancy_of, random_occupancy

from dpmath.accounting import LOSS_UNITS, ExactIntArray
from dpmath.array_choice import array_averaging_sums, projected_array_sums
from dpmath.array_sums import ArraySum, in_loss_units
from dpmath.occupancy import Occupancy

TINY = [[1, 2, 1, 2], [3, 1, 0, 1], [1, 0, 2, 2]]
R = 4


def losses_of(occupancy: Occupancy, sums: list[ArraySum]) -> ExactIntArray:
    losses = np.zeros(occupancy.n_users, dtype=object)
    for one in sums:
        np.add.at(losses, occupancy.user, one.pair_losses)
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
        promised = one.promised_errors[cell]
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
                pairs = zip(best.promised_errors, median.promised_errors, strict=True)
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
        assert all(error == 100 for error in one.promised_errors if error is not None)


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
    with pytest.raises(ValueError, match="whole number"):
        ArraySum(occupancy, R, np.array([1, 1, 1]), np.ones(10, dtype=bool), Fraction(1, 3))
