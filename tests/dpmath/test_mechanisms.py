from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import occupancy_of, random_occupancy

from dpmath.cells.clip_user import clip_user_sums
from dpmath.cells.clipped_sum import ClippedSum
from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import PURE
from dpmath.core.occupancy import Occupancy

EPSILONS = st.fractions(Fraction(1, 5), Fraction(20))
TARGETS = st.one_of(st.none(), st.fractions(Fraction(1, 50), Fraction(1, 2)))
QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def occupancies(draw: st.DrawFn) -> Occupancy:
    seed = draw(st.integers(0, 2**32 - 1))
    n_cells, n_users = draw(st.integers(1, 7)), draw(st.integers(1, 14))
    return random_occupancy(np.random.default_rng(seed), n_cells, n_users, most=draw(st.sampled_from([1, 5, 60])))


def worst_loss(occupancy: Occupancy, sums: list[ClippedSum]) -> Fraction:
    return Fraction(PURE.epsilon(max(user_losses(occupancy, sums))))


@pytest.mark.theorem("HV-L1")
@QUICK
@given(occupancies(), EPSILONS, TARGETS, st.sampled_from([[100], [100, 10_000]]))
def test_nobody_loses_more_than_epsilon_and_every_promise_is_kept(
    occupancy: Occupancy, epsilon: Fraction, target: Fraction | None, ranges: list[int]
) -> None:
    sums = clip_user_sums(occupancy, ranges, epsilon, target)
    assert worst_loss(occupancy, sums) <= epsilon
    for noisy_sum in sums:
        assert all(
            0 <= w <= noisy_sum.value_range * m for w, m in zip(noisy_sum.width, occupancy.n_records, strict=True)
        )
        for error in noisy_sum.errors(occupancy):
            limit = min(target or Fraction(1, 2), Fraction(1, 2)) * noisy_sum.value_range
            assert error is None or error <= limit
    assert len({tuple(noisy_sum.inverse_scale.astype(bool)) for noisy_sum in sums}) == 1


@pytest.mark.theorem("HV-L1")
@QUICK
@given(occupancies(), EPSILONS, TARGETS, st.integers(0, 2**32 - 1))
def test_nobody_loses_more_than_what_the_user_has_left(
    occupancy: Occupancy, epsilon: Fraction, target: Fraction | None, seed: int
) -> None:
    shares = np.random.default_rng(seed).integers(-1, 5, occupancy.n_users)
    budgets = np.array([int(LOSS_UNITS * epsilon * int(share) / 4) for share in shares], dtype=object)
    sums = clip_user_sums(occupancy, [100], epsilon, target, budgets)
    losses = user_losses(occupancy, sums)
    assert all(loss <= max(budget, 0) for loss, budget in zip(losses, budgets, strict=True))


@pytest.mark.theorem("CPL-A1", "BUCv-T1")
def test_the_worst_user_meets_epsilon_where_anything_is_published(rng: np.random.Generator) -> None:
    for _ in range(20):
        occupancy = random_occupancy(rng, 5, 30, most=20)
        sums = clip_user_sums(occupancy, [10_000], Fraction(3), Fraction(1, 4))
        assert 1 - worst_loss(occupancy, sums) / 3 < Fraction(1, 10**6)


@pytest.mark.theorem("CPL-A1", "BUCv-T1")
def test_exact_accounting_publishes_more_accurately_than_equal_shares_of_epsilon(rng: np.random.Generator) -> None:
    """Charging K eps would give each of the worst user's cells an equal share; the same promise costs more then."""
    occupancy = random_occupancy(rng, 8, 60, most=50)
    target = Fraction(1, 5)
    sums = clip_user_sums(occupancy, [10_000], Fraction(4), target)
    cell_epsilon = max(
        float(Fraction(PURE.epsilon(loss))) for loss in sums[0].width * sums[0].inverse_scale[occupancy.cell]
    )
    most_cells = np.bincount(occupancy.user[sums[0].width > 0]).max()
    assert cell_epsilon * most_cells > 4


@pytest.mark.theorem("CPL-A1")
def test_one_user_alone_in_every_cell_is_withheld() -> None:
    """No promise better than the midpoint can be kept, and the midpoint needs no data."""
    occupancy = occupancy_of([[3, 0], [0, 3]])
    sums = clip_user_sums(occupancy, [100], Fraction(1))
    assert not any(sums[0].inverse_scale)
    assert not any(sums[0].width)


def test_users_without_budget_are_left_out_and_the_rest_is_published(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 3, 60, most=5)
    budgets = np.full(60, LOSS_UNITS * 100, dtype=object)
    budgets[:5] = 0
    sums = clip_user_sums(occupancy, [100], Fraction(6), Fraction(2, 5), budgets)
    assert any(sums[0].inverse_scale)
    assert not any(sums[0].width[occupancy.user < 5])


@pytest.mark.parametrize(
    ("ranges", "epsilon", "target", "name"),
    [
        ([100], Fraction(0), None, "epsilon"),
        ([100], Fraction(1), Fraction(0), "target"),
        ([0], Fraction(1), None, "value_ranges"),
    ],
)
def test_bad_arguments_are_refused(ranges: list[int], epsilon: Fraction, target: Fraction | None, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        clip_user_sums(occupancy_of([[1, 1]]), ranges, epsilon, target)
