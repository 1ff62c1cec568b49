"""The private step where presence is secret: no user, present or not, moves the sums by more than the radius."""

import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import PURE, Concentrated
from dpmath.presence.ball import LARGEST_RADIUS, SHARE_BITS, Ball, inverse_scale_within
from dpmath.presence.looks import UNEVEN, Check, Kept
from dpmath.presence.questions import Block, Question, Sums, Totals, noisy_answers
from dpmath.presence.shares import share_centre
from dpmath.presence.user_cells import MOST_CELLS, UserCells, capped

CURRENCY = Concentrated(Decimal("1e-6"))
CAP, RANGE = 3, 7


def ball(n_sums: int, radius: int = 50, inverse_scale: int = LOSS_UNITS >> 6) -> Ball:
    return Ball(radius, inverse_scale, n_sums)


def day_of(pairs: list[tuple[int, int, int, int]], n_cells: int = 2, cap: int = CAP, most: int = RANGE) -> UserCells:
    """Return a day from rows of user, cell, records and total."""
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 4).T
    user, cell, records, total = columns
    return UserCells(user, cell, records, total, n_cells, cap, most)


def questions(
    seed: int, n_cells: int = 2, cap: int = CAP, most: int = RANGE, size: int = 60, radius: int = 50
) -> list[Question]:
    """Return one question of each kind with random public numbers; every loading may be large."""
    rng = np.random.default_rng(seed)

    def block(largest: int, n: int) -> Block:
        loading = csr_array(rng.integers(-size, size + 1, (n_cells, n)))
        return Block(loading, rng.integers(0, largest + 1, n_cells), int(rng.integers(0, 3)))

    widths = rng.integers(1, 4, 3)
    blocks = [block(one, n) for one, n in zip((1, 256 * cap, most), widths, strict=True)]
    n_sums = int(widths.sum())
    users, records, values_block = blocks
    sums = Sums(users, records, values_block, rng.integers(-size, size + 1, n_sums), (cap, most), ball(n_sums, radius))
    values = Sums(None, None, blocks[2], None, (cap, most), ball(int(widths[2]), radius))
    expected = rng.integers(1, 9, (n_cells, 2))
    return [
        sums,
        values,
        Totals((radius,) * 6, 2, 3, True, ball(6, radius)),
        Totals((radius // 2, radius), 2, 3, False, ball(2, radius)),
        Kept(
            ((sums, "cells"), (values, "records")),
            2,
            3,
            share_centre(0.85),
            (rng.integers(-UNEVEN, UNEVEN + 1, (n_cells, 2)), rng.integers(-UNEVEN, UNEVEN + 1, (n_cells, 1))),
            ball(6, radius),
            int(rng.integers(1, 2 * most)),
        ),
        Check(int(rng.integers(1, cap + 1)), rng.integers(0, most + 1, n_cells), expected, 2 * radius, ball(4, radius)),
    ]


def moved(question: Question, day: UserCells) -> np.ndarray:
    """Return the sums before noise."""
    return np.asarray(question.ball.inside(question.private_vectors(day)).sum(axis=0), dtype=np.int64).ravel()


def a_users_states() -> list[list[tuple[int, int, int]]]:
    """Return all that a user can bring to two cells, at most 2 records of values 0 to 1 in each."""
    one = [(n, total) for n in (1, 2) for total in range(n + 1)]
    of_cells = [[None, *((cell, *pair) for pair in one)] for cell in range(2)]
    return [[row for row in rows if row] for rows in itertools.product(*of_cells) if any(rows)]


@pytest.mark.theorem("HV-L70", "HV-L71")
def test_adding_any_user_to_any_tiny_day_moves_the_sums_by_its_own_vector_inside_the_ball() -> None:
    states = a_users_states()
    assert len(states) == 35
    for question in questions(1, cap=2, most=1, radius=20):
        radius = question.ball.radius
        alone = [moved(question, day_of([(0, *row) for row in state], cap=2, most=1)) for state in states]
        assert all((one**2).sum() <= radius**2 for one in alone)
        assert moved(question, day_of([], cap=2, most=1)).tolist() == [0] * question.ball.n_sums
        for users in itertools.combinations_with_replacement(range(len(states)), 2):
            rows = [(user, *row) for user, state in enumerate(users) for row in states[state]]
            both = moved(question, day_of(rows, cap=2, most=1))
            assert np.array_equal(both, alone[users[0]] + alone[users[1]])


@pytest.mark.theorem("HV-L70", "HV-L71")
def test_no_adversary_among_thousands_moves_the_sums_by_more_than_the_radius() -> None:
    longest = 0.0
    for seed in range(60):
        rng = np.random.default_rng([2, seed])
        n_cells, cap, most = int(rng.integers(1, 40)), int(rng.integers(1, 200)), int(rng.integers(1, 50_000))
        radius = int(rng.choice([1, 7, 50, 1000, 1 << 20, LARGEST_RADIUS]))
        size = int(rng.choice([1, 100, 1 << 20, 1 << 28]))
        met = np.argwhere(rng.random((100, n_cells)) < rng.random())
        records = rng.choice([1, cap, (cap + 1) // 2], len(met))
        total = records * rng.choice([0, most, most // 2], len(met))
        day = UserCells(met[:, 0], met[:, 1], records, total, n_cells, cap, most)
        for question in questions(seed, n_cells, cap, most, size, radius):
            vectors = question.ball.inside(question.private_vectors(day)).toarray().astype(object)
            squares = (vectors**2).sum(axis=1)
            assert all(int(square) <= radius**2 for square in squares)
            longest = max([longest, *(float(square) / radius**2 for square in squares)])
    assert longest > 0.999, "the radius is reached, so it is no looser than it must be"


@pytest.mark.theorem("HV-L70")
def test_a_ball_that_is_a_hundredth_smaller_would_not_hold_the_vectors() -> None:
    one = ball(3, 1000)
    vectors = csr_array(np.array([[4000, -3000, 100], [1000, 0, 0]]))
    squares = (one.inside(vectors).toarray() ** 2).sum(axis=1)
    assert squares.max() == 1000**2
    assert squares.min() > 990**2


@pytest.mark.theorem("HV-L70")
def test_the_loss_is_half_the_square_of_radius_over_sigma_a_quarter_of_a_replacement() -> None:
    one = ball(3, 50, LOSS_UNITS >> 6)
    assert CURRENCY.rho(one.loss(CURRENCY)) == Fraction(50**2, 2 * 64**2)
    with pytest.raises(ValueError, match="no loss"):
        one.loss(PURE)
    for loss in (1 << 90, 3 << 95, 12345 << 80):
        found = inverse_scale_within(loss, 1000)
        assert ball(1, 1000, found).loss(CURRENCY) <= loss < ball(1, 1000, found + 1).loss(CURRENCY)
    with pytest.raises(ValueError, match="loss=9"):
        inverse_scale_within(9, 1000)


@pytest.mark.theorem("HV-L70")
@pytest.mark.parametrize("shift", [(3, 4), (5, 0), (-1, 2)])
def test_the_divergence_of_the_noisy_sums_is_at_most_alpha_rho(shift: tuple[int, int]) -> None:
    """The Renyi divergence is added up over the whole numbers, for a move of at most 5 in two sums."""
    sigma = 4.0
    z = np.arange(-400, 401, dtype=float)
    log_mass = -(z**2) / (2 * sigma**2)
    log_mass -= np.log(np.exp(log_mass).sum())
    for alpha in (1.01, 2.0, 8.0):
        total = 0.0
        for one in shift:
            moved_mass = -((z - one) ** 2) / (2 * sigma**2) - np.log(np.exp(-(z**2) / (2 * sigma**2)).sum())
            total += float(np.log(np.exp(alpha * log_mass + (1 - alpha) * moved_mass).sum()) / (alpha - 1))
        assert total <= alpha * 5**2 / (2 * sigma**2) * (1 + 1e-9)


@pytest.mark.theorem("HV-L71")
def test_what_a_user_answers_does_not_depend_on_anybody_else_nor_on_the_order() -> None:
    rng = np.random.default_rng(3)
    met = np.argwhere(rng.random((50, 12)) < 0.4)
    records = rng.integers(1, CAP + 1, len(met))
    total = records * rng.integers(0, RANGE + 1, len(met))
    day = UserCells(met[:, 0] * 7 + 5, met[:, 1], records, total, 12, CAP, RANGE)
    for question in questions(4, 12):
        together = question.private_vectors(day).toarray()
        for number, user in enumerate(np.unique(met[:, 0])):
            own = np.flatnonzero(met[:, 0] == user)[::-1]
            alone = UserCells(met[own, 0], met[own, 1], records[own], total[own], 12, CAP, RANGE)
            assert np.array_equal(question.private_vectors(alone).toarray()[0], together[number])


@pytest.mark.theorem("HV-L70")
def test_with_the_same_random_bytes_a_day_without_a_user_differs_by_that_users_vector_alone() -> None:
    rng = np.random.default_rng(5)
    met = np.argwhere(rng.random((40, 9)) < 0.5)
    records = rng.integers(1, CAP + 1, len(met))
    rows = [
        (int(u), int(c), int(n), int(n * rng.integers(0, RANGE + 1))) for (u, c), n in zip(met, records, strict=True)
    ]
    for number, question in enumerate(questions(6, 9)):
        full = noisy_answers(question, day_of(rows, 9), np.random.default_rng(number).bytes)
        for gone in range(0, 40, 8):
            rest, own = ([row for row in rows if (row[0] == gone) == is_own] for is_own in (False, True))
            without = noisy_answers(question, day_of(rest, 9), np.random.default_rng(number).bytes)
            assert (full - without).tolist() == moved(question, day_of(own, 9)).tolist()
            assert sum(int(one) ** 2 for one in full - without) <= question.ball.radius**2


def test_nobody_at_all_is_a_day_like_any_other() -> None:
    for question in questions(7):
        noise = question.ball.noise(np.random.default_rng(1).bytes)
        assert noisy_answers(question, day_of([]), np.random.default_rng(1).bytes).tolist() == noise.tolist()


def test_the_share_kept_is_the_radius_over_the_length_rounded_down() -> None:
    one = ball(2, 1000)
    kept = one.shares_kept(csr_array(np.array([[3000, 4000], [600, 800], [601, 800], [0, 0]])))
    assert kept.tolist() == [
        (1000 << SHARE_BITS) // 5000,
        1 << SHARE_BITS,
        (1000 << SHARE_BITS) // 1001,
        1 << SHARE_BITS,
    ]


@pytest.mark.theorem("HV-L71")
def test_a_long_stay_counts_as_its_mean_and_what_is_outside_the_area_as_nothing() -> None:
    def day_with(user: list[int], cell: list[int], records: list[int], total: list[int], *limits: int) -> UserCells:
        n_cells, cap, most = limits
        return capped(np.array(user), np.array(cell), np.array(records), np.array(total), n_cells, cap, most)

    day = day_with([4, 4, 9], [0, 1, 5], [10, 2, 1], [25, 3, 7], 2, 3, 10)
    assert (day.n_users, day.n_records.tolist(), day.total.tolist()) == (1, [3, 2], [7, 3])
    huge = 1 << 40
    assert day_with([0], [0], [huge], [7 * huge - 1], 1, 300, 10**4).total.tolist() == [2099]


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ((0, 2, 1, 0), "within"),
        ((0, -1, 1, 0), "within"),
        ((0, 0, 4, 0), "within"),
        ((0, 0, 0, 0), "within"),
        ((0, 0, 1, 8), "within"),
        ((0, 0, 1, -1), "within"),
    ],
)
def test_a_row_outside_the_limits_is_refused_without_a_number_of_the_data(
    row: tuple[int, int, int, int], match: str
) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        day_of([(0, 1, 1, 1), row])
    assert not any(character.isdigit() for character in str(caught.value))


def test_a_cell_twice_and_arrays_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="once at most"):
        day_of([(0, 1, 1, 1), (0, 1, 1, 1)])
    with pytest.raises(ValueError, match="of one length"):
        UserCells(np.zeros(2, int), np.zeros(1, int), np.ones(2, int), np.zeros(2, int), 2, 1, 1)
    with pytest.raises(ValueError, match="n_cells must be at most"):
        day_of([], n_cells=MOST_CELLS + 1)
    for cap, most in ((1 << 31, 1), (1 << 10, 1 << 51)):
        with pytest.raises(ValueError, match="below 2\\^62"):
            day_of([], cap=cap, most=most)


def test_loadings_that_might_overflow_are_refused_whatever_the_day() -> None:
    def asked(loading: int, centre: int = 0, shift: int = 0) -> Sums:
        block = Block(csr_array(np.array([[loading]])), np.array([centre]), shift)
        return Sums(None, None, block, None, (CAP, RANGE), ball(1))

    assert asked(1 << 54).ball.n_sums == 1
    with pytest.raises(ValueError, match="below 2\\^61"):
        asked(1 << 58)
    with pytest.raises(ValueError, match="within the range"):
        asked(1, centre=RANGE + 1)
    with pytest.raises(ValueError, match="shift must be"):
        asked(1, shift=63)
    with pytest.raises(ValueError, match="as many sums"):
        Sums(None, None, asked(1).values, None, (CAP, RANGE), ball(2))
    with pytest.raises(ValueError, match="the limits"):
        asked(1).private_vectors(day_of([], cap=CAP + 1))
    with pytest.raises(ValueError, match="typical"):
        Sums(None, None, asked(1).values, np.array([1, 2]), (CAP, RANGE), ball(1))


def test_balls_without_room_are_refused() -> None:
    for bad in ((0, 1, 1), (1, 0, 1), (1, 1, 0), (LARGEST_RADIUS + 1, 1, 1), (1, (1 << 62) + 1, 1)):
        with pytest.raises(ValueError, match="must be at"):
            Ball(*bad)
    with pytest.raises(ValueError, match="leave room"):
        Ball(LARGEST_RADIUS, 1, 1 << 20)
    with pytest.raises(ValueError, match="columns"):
        ball(2).inside(csr_array(np.array([[1, 2, 3]])))
