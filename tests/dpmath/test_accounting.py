import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support import occupancy_of, random_occupancy

from dpmath.cells.clipped_sum import ClippedSum
from dpmath.core.accounting import LOSS_UNITS, composed_loss, roots_rounded_up
from dpmath.core.cell_sums import user_losses
from dpmath.core.currency import PURE
from dpmath.core.occupancy import Occupancy


def exact(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=object)


def release_of(occupancy: Occupancy, value_range: int, rng: np.random.Generator, steps: int = 8) -> ClippedSum:
    width = [int(rng.integers(0, value_range * m + 1)) for m in occupancy.n_records]
    scale = [LOSS_UNITS * int(n) // steps for n in rng.integers(1, 2 * steps, occupancy.n_cells)]
    return ClippedSum(value_range, exact(width), exact(scale))


def log_probability(noisy: ClippedSum, cell: int, outcome: int, clipped_sum: int) -> float:
    """Return log P(outcome) up to the constant that all datasets share."""
    return -abs(outcome - clipped_sum) * noisy.inverse_scale[cell] / LOSS_UNITS


def worst_ratio(occupancy: Occupancy, noisy: ClippedSum, user: int) -> float:
    """Search all totals of one user in all cells, and all outcomes, for the largest log-likelihood ratio."""
    lower = noisy.lower(occupancy)
    total = 0.0
    for pair in np.flatnonzero(occupancy.user == user):
        cell, low, width = occupancy.cell[pair], lower[pair], noisy.width[pair]
        totals = range(noisy.value_range * int(occupancy.n_records[pair]) + 1)
        sums = {min(max(one, low), low + width) for one in totals}
        outcomes = range(-3, noisy.value_range * int(occupancy.n_records[pair]) + 4)
        total += max(
            log_probability(noisy, cell, y, s) - log_probability(noisy, cell, y, t)
            for y in outcomes
            for s, t in itertools.product(sums, repeat=2)
        )
    return total


@pytest.mark.theorem("HV-L1")
def test_no_pair_of_neighbours_and_outcome_shows_more_than_the_loss_and_some_show_it_all(
    rng: np.random.Generator,
) -> None:
    for _ in range(30):
        occupancy = occupancy_of([[2, 1, 0], [1, 0, 2], [1, 1, 1]])
        noisy = release_of(occupancy, 3, rng)
        losses = user_losses(occupancy, [noisy])
        for user in range(3):
            assert worst_ratio(occupancy, noisy, user) == pytest.approx(float(Fraction(PURE.epsilon(losses[user]))))


@pytest.mark.theorem("HV-L1")
def test_losses_of_several_sums_add_up_and_are_exact_beyond_64_bits() -> None:
    occupancy = occupancy_of([[1 << 40, 5]])
    wide = ClippedSum(1 << 40, exact([1 << 80, 3]), exact([LOSS_UNITS]))
    narrow = ClippedSum(7, exact([1, 0]), exact([LOSS_UNITS // 2]))
    losses = user_losses(occupancy, [wide, narrow])
    assert [Fraction(PURE.epsilon(loss)) for loss in losses] == [Fraction(1 << 80) + Fraction(1, 2), Fraction(3)]
    assert narrow.losses(occupancy).tolist() == [LOSS_UNITS // 2, 0]


@pytest.mark.theorem("HV-L1")
def test_a_loss_claimed_smaller_is_exceeded() -> None:
    occupancy = occupancy_of([[2, 1], [1, 3]])
    noisy = ClippedSum(2, exact([4, 1, 2, 6]), exact([LOSS_UNITS // 2, LOSS_UNITS]))
    claimed = user_losses(occupancy, [noisy])
    for user in range(2):
        assert worst_ratio(occupancy, noisy, user) > float(Fraction(PURE.epsilon(claimed[user] - LOSS_UNITS // 1000)))


@pytest.mark.theorem("HV-L2")
def test_promised_errors_are_never_passed_by_any_dataset_and_nearly_reached(rng: np.random.Generator) -> None:
    for _ in range(30):
        occupancy = occupancy_of([[2, 1]])
        noisy = release_of(occupancy, 3, rng)
        promise = noisy.errors(occupancy)[0]
        assert promise is not None
        scale = float(Fraction(LOSS_UNITS, noisy.inverse_scale[0]))
        noise = 1 / math.sinh(1 / scale)
        lower = noisy.lower(occupancy)
        biases = [
            abs(sum(min(max(t, low), low + w) - t for t, low, w in zip(totals, lower, noisy.width, strict=True)))
            for totals in itertools.product(range(7), range(4))
        ]
        assert (max(biases) + noise) / 3 <= float(promise) + 1e-12
        assert max(biases) == sum(noisy.bias(occupancy)), "some dataset is off by the whole bias"


@pytest.mark.theorem("HV-L2")
def test_a_cell_without_noise_is_not_published_and_promises_nothing() -> None:
    occupancy = occupancy_of([[1], [1]])
    noisy = ClippedSum(10, exact([10, 0]), exact([LOSS_UNITS, 0]))
    assert noisy.errors(occupancy) == [Fraction(1), None]


def test_a_suppressed_user_counts_as_the_midpoint() -> None:
    occupancy = occupancy_of([[4, 3]])
    noisy = ClippedSum(5, exact([0, 0]), exact([1]))
    assert noisy.lower(occupancy).tolist() == [10, 7]
    assert noisy.bias(occupancy).tolist() == [10, 8]


def test_bad_shapes_and_negative_numbers_are_refused() -> None:
    occupancy = occupancy_of([[1, 1]])
    with pytest.raises(ValueError, match="shapes"):
        ClippedSum(1, exact([1]), exact([1])).losses(occupancy)
    with pytest.raises(ValueError, match="shapes"):
        ClippedSum(1, exact([1]), exact([1])).errors(occupancy)
    with pytest.raises(ValueError, match="inverse_scale"):
        user_losses(occupancy, [ClippedSum(1, exact([1, 1]), exact([-1]))])


@pytest.mark.parametrize(
    ("cell", "user", "records", "problem"),
    [
        ([0, 0], [0, 0], [1, 1], "each pair once"),
        ([1, 0], [0, 0], [1, 1], "sorted"),
        ([0, 0], [0, 1], [1, 0], "n_records"),
        ([0, 0], [0, 2], [1, 1], "user"),
        ([1, 1], [0, 1], [1, 1], "n_cells"),
        ([0], [0, 1], [1, 1], "shapes"),
    ],
)
def test_an_occupancy_that_is_not_one_is_refused(
    cell: list[int], user: list[int], records: list[int], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Occupancy(np.array(cell), np.array(user), np.array(records), 2, 2)


@pytest.mark.theorem("CPL-T2.3")
def test_cells_together_cost_the_user_in_the_dearest_cells_their_sum(rng: np.random.Generator) -> None:
    for _ in range(30):
        occupancy = random_occupancy(rng, 5, 6)
        kept = rng.random(occupancy.cell.size) < 0.8
        epsilons = [Fraction(int(n), 7) for n in rng.integers(0, 9, 5)]
        cells_of = [set(occupancy.cell[kept & (occupancy.user == user)]) for user in range(6)]
        assert composed_loss(occupancy, kept, epsilons) == max(sum(epsilons[cell] for cell in one) for one in cells_of)


@pytest.mark.theorem("CPL-T2.3")
def test_with_one_epsilon_for_all_cells_it_is_charged_once_per_cell_of_the_busiest_user() -> None:
    """Corollary II.1; the sum over all cells, as basic composition has it, would be 3."""
    occupancy = occupancy_of([[1, 0, 2], [1, 5, 0], [0, 1, 1]])
    everyone = np.ones(6, dtype=bool)
    assert composed_loss(occupancy, everyone, [Fraction(1)] * 3) == 2
    assert composed_loss(occupancy, everyone, [Fraction(3, 7)] * 3) == Fraction(6, 7)


@pytest.mark.theorem("CPL-T2.3")
def test_two_laplace_releases_reach_what_they_cost_together() -> None:
    """A bound below the sum fails: the densities at outcomes beyond both sums change by exactly exp of it."""
    occupancy = occupancy_of([[1], [1]])
    epsilons = [Fraction(1, 2), Fraction(3, 2)]
    noisy = [ClippedSum(10, np.array([10, 0], dtype=object), np.array([int(LOSS_UNITS * epsilons[0] / 10), 0]))]
    noisy += [ClippedSum(10, np.array([0, 10], dtype=object), np.array([0, int(LOSS_UNITS * epsilons[1] / 10)]))]
    composed = composed_loss(occupancy, np.ones(2, dtype=bool), epsilons)
    exact = sum(Fraction(PURE.epsilon(user_losses(occupancy, [one])[0])) for one in noisy)
    assert exact <= composed < exact + Fraction(1, 10**9)


def test_a_composition_of_bad_arguments_is_refused() -> None:
    occupancy = occupancy_of([[1, 1]])
    for kept, epsilons, name in (
        (np.ones(1, dtype=bool), [Fraction(1)], "kept"),
        (np.ones(2, dtype=bool), [Fraction(1)] * 2, "cell_epsilons"),
        (np.ones(2, dtype=bool), [Fraction(-1)], "cell_epsilons"),
    ):
        with pytest.raises(ValueError, match=name):
            composed_loss(occupancy, kept, epsilons)


@pytest.mark.theorem("HV-L52", "HV-L70")
def test_roots_are_rounded_up_in_whole_numbers_where_doubles_are_off() -> None:
    roots = [*range(200), *(base + n for base in (1 << 20, 94_906_265, 1 << 30, (1 << 31) - 3) for n in (0, 1, 2))]
    squares = sorted({max(root * root + off, 0) for root in roots for off in (-1, 0, 1)})
    squares = [one for one in squares if one < 1 << 62]
    found = roots_rounded_up(np.array(squares, dtype=np.int64))
    assert found.tolist() == [math.isqrt(one) + (math.isqrt(one) ** 2 < one) for one in squares]
    plain = np.ceil(np.sqrt(np.array(squares, dtype=np.float64))).astype(np.int64)
    assert (plain != found).any(), "a double alone is wrong for some"
