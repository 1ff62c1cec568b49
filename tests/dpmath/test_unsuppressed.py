"""One epsilon for all cells: which cells it carries, and that no smaller one would keep their promises."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from support import occupancy_of, random_occupancy

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.cells.thresholds import clipped_errors, clipping_thresholds
from dpmath.cells.unsuppressed import baseline_sums, exact_sums, optimal_clipping_sums, shared_epsilon
from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import PURE
from dpmath.core.occupancy import Occupancy

R = 10_000
Composed = Callable[[Occupancy, list[int], Fraction, Fraction | None], tuple[list[ClippedSum], Fraction]]
EACH = pytest.mark.parametrize("mechanism", [baseline_sums, optimal_clipping_sums])


def most_cells_of_a_user(occupancy: Occupancy, carried: np.ndarray) -> int:
    return int(np.bincount(occupancy.user[carried[occupancy.cell]], minlength=1).max())


@pytest.mark.theorem("CPL-T2.3")
def test_no_set_of_cells_that_a_lower_need_lets_in_is_left_out(rng: np.random.Generator) -> None:
    """By trying every bound on the need: the cells within it compose exactly up to the bound that is taken."""
    for _ in range(50):
        occupancy = random_occupancy(rng, 6, 8)
        needed = [Fraction(int(one), 7) if one else None for one in rng.integers(0, 12, 6)]
        carried, cell_epsilon, charged = shared_epsilon(occupancy, needed, Fraction(3), 2)
        assert charged == most_cells_of_a_user(occupancy, carried) * cell_epsilon * 2 <= 3
        for bound in sorted({one for one in needed if one is not None}):
            within = np.array([one is not None and one <= bound for one in needed])
            composes = most_cells_of_a_user(occupancy, within) * bound * 2 <= 3
            assert within[carried].all() if composes and bound >= cell_epsilon else True
            assert not composes or carried[within].all()


@pytest.mark.theorem("CPL-T2.3")
@EACH
def test_promises_hold_losses_compose_and_a_hundredth_less_would_break_a_promise(
    mechanism: Composed, rng: np.random.Generator
) -> None:
    target = Fraction(1, 4)
    for n_sums in (1, 2):
        occupancy = random_occupancy(rng, 8, 60, most=20)
        sums, charged = mechanism(occupancy, [R, R * R][:n_sums], Fraction(5), target)
        assert 0 < Fraction(PURE.epsilon(max(user_losses(occupancy, sums)))) <= charged * (1 + Fraction(1, 10**6))
        assert charged <= 5
        errors = [error for error in sums[0].errors(occupancy) if error is not None]
        assert 0 < len(errors) <= 8
        assert max(errors) <= target * R
        assert max(errors) > target * R * Fraction(99, 100), "the cell that needs most has no room"
        noisier = ClippedSum(R, sums[0].width, sums[0].inverse_scale * 98 // 100)
        assert any(error > target * R for error in noisier.errors(occupancy) if error is not None)


@pytest.mark.theorem("BUCv-T1")
def test_clipping_is_the_least_error_at_the_shared_epsilon_and_carries_no_fewer_cells(rng: np.random.Generator) -> None:
    for _ in range(10):
        occupancy = random_occupancy(rng, 8, 60, most=20)
        clipped, _ = optimal_clipping_sums(occupancy, [R], Fraction(2), Fraction(1, 4))
        whole, _ = baseline_sums(occupancy, [R], Fraction(2), Fraction(1, 4))
        carried = clipped[0].inverse_scale.astype(bool)
        assert carried.sum() >= whole[0].inverse_scale.astype(bool).sum()
        everyone = np.ones(occupancy.user.size, dtype=bool)
        widest = clipped[0].width.max()
        cell_epsilon = float(max(clipped[0].width * clipped[0].inverse_scale[occupancy.cell])) / LOSS_UNITS
        best = clipped_errors(occupancy, everyone, clipping_thresholds(occupancy, everyone, cell_epsilon), cell_epsilon)
        promised = clipped[0].errors(occupancy)
        for cell in np.flatnonzero(carried):
            assert float(promised[cell] or 0) / R == pytest.approx(best[cell], rel=1e-3), widest


@pytest.mark.theorem("CPL-T2.3")
@EACH
def test_without_a_target_everything_is_spent(mechanism: Composed, rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 5, 40)
    _, charged = mechanism(occupancy, [R], Fraction(7, 3), None)
    assert charged == Fraction(7, 3)


@EACH
def test_nothing_is_carried_where_no_promise_can_be_kept(mechanism: Composed) -> None:
    sums, charged = mechanism(occupancy_of([[1, 1]]), [R], Fraction(1, 100), Fraction(1, 10))
    assert charged == 0
    assert not any(sums[0].inverse_scale)


def test_bad_arguments_are_refused() -> None:
    occupancy = occupancy_of([[1, 1]])
    for epsilon, target, name in ((0, 1, "epsilon"), (1, 0, "target")):
        with pytest.raises(ValueError, match=name):
            optimal_clipping_sums(occupancy, [R], Fraction(epsilon), Fraction(target))
    for mechanism in (baseline_sums, optimal_clipping_sums, exact_sums):
        with pytest.raises(ValueError, match="value_ranges"):
            mechanism(occupancy, [0], Fraction(1), Fraction(1, 2))
    with pytest.raises(ValueError, match="n_sums"):
        shared_epsilon(occupancy, [None], Fraction(1), 0)
