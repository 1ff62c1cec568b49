"""The private step: whatever the values, weights, loadings and centres are, no user's vector leaves the ball."""

import itertools
import math
import os
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import PURE, Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.measurement import LARGEST_COMPONENT, LARGEST_RADIUS, MOST_QUERIES, ROOM_BITS, Measurement, Norm

ZCDP = Concentrated(Decimal("1e-6"))
NORMS: list[Norm] = ["l1", "l2"]
BELOW_2_62 = (1 << 62) - 1
LEAST = -(1 << 63)
"""The one number of 64 bits whose absolute value is not one."""
BEYOND = r"must leave .* below 2\^62|must be below 2\^62"
pytestmark = pytest.mark.theorem("HV-L52")


def whole(numbers: object) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def measuring(occupancy: Occupancy, norm: Norm, value_range: int = 100, **given: object) -> Measurement:
    """Return a measurement of one query that copies totals, but for what is given."""
    plain = {
        "row": occupancy.cell,
        "centre": np.zeros(occupancy.n_cells, dtype=np.int64),
        "weight": np.ones(occupancy.cell.size, dtype=np.int64),
        "pair_shift": 0,
        "loading": np.ones((occupancy.n_cells, 1), dtype=np.int64),
        "shift": 0,
        "radius": np.full(occupancy.n_users, 10),
        "inverse_scale": LOSS_UNITS // 7,
    }
    return Measurement(occupancy=occupancy, value_range=value_range, norm=norm, **{**plain, **given})  # pyright: ignore


def each_in_each(n_cells: int, n_users: int, n_records: list[int]) -> Occupancy:
    """Return users who are all in all cells, each with the same records there."""
    return Occupancy(
        np.repeat(np.arange(n_cells), n_users), np.tile(np.arange(n_users), n_cells), np.repeat(n_records, n_users),
        n_cells, n_users,
    )  # fmt: skip


def random_occupancy(rng: np.random.Generator, n_cells: int, n_users: int) -> Occupancy:
    there = rng.random((n_cells, n_users)) < 0.6
    there[np.arange(n_cells), rng.integers(0, n_users, n_cells)] = True
    cell, user = np.nonzero(there)
    return Occupancy(cell, user, rng.integers(1, 5, cell.size), n_cells, n_users)


def random_measurement(rng: np.random.Generator, norm: Norm, occupancy: Occupancy | None = None) -> Measurement:
    """Return a measurement with numbers of very different sizes, and users with and without a ball."""
    occupancy = occupancy or random_occupancy(rng, int(rng.integers(1, 5)), int(rng.integers(1, 5)))
    n_queries, value_range = int(rng.integers(1, 6)), int(rng.choice([1, 3, 100, 1 << 20]))
    n_rows = int(rng.integers(1, 9))
    bits = rng.integers(1, 61 - int(occupancy.n_records.max() * value_range * occupancy.cell.size).bit_length())
    weight = (rng.normal(size=occupancy.cell.size) * 2.0**bits / 8).astype(np.int64)
    pair_shift = int(rng.integers(0, 40))
    most = sum(
        abs(int(w)) * int(m) * value_range >> pair_shift for w, m in zip(weight, occupancy.n_records, strict=True)
    )
    loading_bits = min(40, 60 - most.bit_length())
    size = 2.0 ** rng.integers(0, max(1, loading_bits), (n_rows, n_queries))
    loading = np.clip(rng.normal(size=size.shape) * size, -(2.0**loading_bits), 2.0**loading_bits)
    return measuring(
        occupancy, norm, value_range,
        row=rng.integers(0, n_rows, occupancy.cell.size),
        centre=rng.integers(0, value_range + 1, n_rows),
        weight=weight,
        pair_shift=pair_shift,
        loading=loading.astype(np.int64),
        shift=int(rng.integers(0, max(1, loading_bits + most.bit_length() - 8))),
        radius=rng.choice([0, 1, 7, 40, 1000, LARGEST_RADIUS], occupancy.n_users),
    )  # fmt: skip


def random_totals(rng: np.random.Generator, measured: Measurement) -> np.ndarray:
    """Return totals of which about half are at an end of their range."""
    most = measured.occupancy.n_records * measured.value_range
    return np.where(rng.random(most.size) < 0.5, rng.integers(0, most + 1), most * rng.integers(0, 2, most.size))


def towards_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number < 0 else number // divisor


def by_definition(measured: Measurement, totals: np.ndarray) -> tuple[list[list[int]], list[int]]:
    """Return each user's vector and its room, one Python integer after the other from the definition."""
    occupancy, vectors, rooms = measured.occupancy, [], []
    for user, radius in enumerate(measured.radius.tolist()):
        sums = [0] * measured.n_queries
        for pair in np.flatnonzero(occupancy.user == user).tolist():
            row = int(measured.row[pair])
            off = int(totals[pair]) - int(occupancy.n_records[pair]) * int(measured.centre[row])
            weighted = towards_zero(int(measured.weight[pair]) * off, 2**measured.pair_shift)
            for query in range(measured.n_queries):
                sums[query] += weighted * int(measured.loading[row, query])
        vector = [towards_zero(one, 2**measured.shift) for one in sums]
        vector = [max(-LARGEST_COMPONENT, min(LARGEST_COMPONENT, one)) for one in vector]
        square = sum(one * one for one in vector)
        root = math.isqrt(square)
        length = sum(map(abs, vector)) if measured.norm == "l1" else root + (root * root < square)
        if length > radius:
            vector = [towards_zero(one * radius, length) for one in vector]
        vectors.append(vector)
        room = min(max(Fraction(radius, max(length, 1)), Fraction(1, 4)), Fraction(5, 4)) - Fraction(1, 4)
        rooms.append(math.floor(room * 2**ROOM_BITS))
    return vectors, rooms


def assert_as_defined(measured: Measurement, totals: np.ndarray) -> None:
    answers = measured.answers(totals)
    assert (answers.vector.tolist(), answers.room.tolist()) == by_definition(measured, totals)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(60))
def test_vectors_and_rooms_are_those_of_the_definition(norm: Norm, seed: int) -> None:
    rng = np.random.default_rng(seed)
    measured = random_measurement(rng, norm)
    for _ in range(3):
        assert_as_defined(measured, random_totals(rng, measured))


@pytest.mark.parametrize("norm", NORMS)
def test_a_sum_of_a_user_that_would_be_small_by_overflow_is_refused(norm: Norm) -> None:
    occupancy = each_in_each(4, 1, [1, 1, 1, 1])
    with pytest.raises(ValueError, match=BEYOND):
        measuring(occupancy, norm, 1, weight=np.full(4, BELOW_2_62), loading=np.ones((4, 1), dtype=np.int64))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("pair_shift", [0, 1, 31, 61, 62])
@pytest.mark.parametrize("value_range", [1, 1 << 20, BELOW_2_62 // 3])
def test_nothing_overflows_at_the_limits_and_one_step_beyond_is_refused(
    norm: Norm, sign: int, pair_shift: int, value_range: int
) -> None:
    """A user with two pairs whose sum is as near to 2^62 as may be, in either direction."""
    occupancy = each_in_each(2, 1, [3, 1])
    weight = sign * (BELOW_2_62 // (occupancy.n_records * value_range))
    most = [int(abs(w)) * int(m) * value_range for w, m in zip(weight, occupancy.n_records, strict=True)]
    sums = sum(one >> pair_shift for one in most)
    largest = BELOW_2_62 // max(sums, 1)
    given = {"weight": weight, "pair_shift": pair_shift, "radius": whole([LARGEST_RADIUS])}
    for totals, centre, shift in itertools.product(
        (occupancy.n_records * 0, occupancy.n_records * value_range), (0, value_range), (0, 38, 61, 62)
    ):
        least = min(largest, 1)
        loading, centres = whole([[largest, -largest, 0], [largest, largest, -least]]), np.full(2, centre)
        measured = measuring(occupancy, norm, value_range, loading=loading, centre=centres, shift=shift, **given)
        assert_as_defined(measured, totals)
    if sums:
        for beyond in (-largest - 1, largest + 1):
            with pytest.raises(ValueError, match=BEYOND):
                measuring(occupancy, norm, value_range, loading=whole([[beyond], [0]]), **given)
    for pair in (0, 1):
        too_much = weight.copy()
        too_much[pair] += sign
        with pytest.raises(ValueError, match=BEYOND):
            measuring(occupancy, norm, value_range, **{**given, "weight": too_much})


def squares_of(number: int, n: int) -> np.ndarray:
    """Return n whole numbers, the squares of which add up to a number that 53 bits may not hold."""
    found = []
    while number:
        found.append(min(LARGEST_COMPONENT, math.isqrt(number)))
        number -= found[-1] ** 2
    return np.pad(found, (0, n - len(found)))


@pytest.mark.parametrize("norm", NORMS)
def test_any_whole_vector_is_scaled_as_defined_also_of_the_most_and_largest_components(norm: Norm) -> None:
    """Each user is in one cell with the value 1, so that the vector is the cell's loading."""
    rng = np.random.default_rng(8)
    n, top = MOST_QUERIES, LARGEST_COMPONENT
    sizes = np.exp(rng.uniform(0, math.log(2.0 * top), 40)).astype(int)
    rows = [np.full(n, top), np.full(n, -top), np.full(n, 1 << 61), np.zeros(n), rng.integers(-top, top + 1, n)]
    rows += [squares_of(k * k + step, n) for k in (2**27 + 1, 3**18, 2**30 - 1) for step in (-1, 0, 1)]
    rows += [np.pad([size, 1], (0, n - 2)) for size in sizes]  # one above the square of a whole number
    rows += [np.pad([size], (0, n - 1)) for size in sizes]  # the square itself
    rows += [np.pad(rng.integers(-size, size + 1, 4), (0, n - 4)) for size in sizes]
    loading = whole([row.tolist() for row in rows])
    number = np.arange(len(rows))
    occupancy = Occupancy(number, number, np.ones_like(number), number.size, number.size)
    own = np.abs(loading[:, 0]).clip(0, LARGEST_RADIUS)
    for radius in (own, np.maximum(own - 1, 0), np.full(number.size, LARGEST_RADIUS), np.full(number.size, 3)):
        measured = measuring(occupancy, norm, 1, loading=loading, radius=radius)
        assert_as_defined(measured, np.ones_like(number))


def assert_within_a_ball(vectors: np.ndarray, radius: int, norm: Norm) -> None:
    """Hold every two rows to the diameter of the ball, in whole numbers: nothing is rounded."""
    for one in vectors:
        moved = np.abs(vectors - one)
        if norm == "l1":
            assert moved.sum(axis=1).max() <= 2 * radius
        else:
            assert (moved * moved).sum(axis=1).max() <= 4 * radius * radius


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(30))
def test_no_two_of_all_values_on_a_grid_are_further_apart_than_the_diameter(norm: Norm, seed: int) -> None:
    """Users who are alike but for their values, which are all that there are."""
    rng = np.random.default_rng(1000 + seed)
    records, value_range = rng.integers(1, 3, 3).tolist(), int(rng.integers(1, 4))
    totals = whole(list(itertools.product(*(range(m * value_range + 1) for m in records))))
    occupancy, radius = each_in_each(3, len(totals), records), int(rng.integers(0, 30))
    loading = (rng.normal(size=(3, 4)) * 2.0 ** rng.integers(0, 12, (3, 4))).astype(np.int64)
    measured = measuring(
        occupancy, norm, value_range,
        weight=np.repeat(rng.integers(-9, 10, 3), len(totals)),
        pair_shift=int(rng.integers(0, 3)),
        loading=loading,
        shift=int(rng.integers(0, 8)),
        centre=rng.integers(0, value_range + 1, 3),
        radius=np.full(len(totals), radius),
    )  # fmt: skip
    assert_within_a_ball(measured.answers(totals.T.ravel()).vector, radius, norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(30))
def test_no_two_of_many_adversarial_values_are_further_apart_than_the_diameter(norm: Norm, seed: int) -> None:
    """Absurd weights and loadings, so that many components are at the clamp; 200 values, so 19,900 pairs of them."""
    rng = np.random.default_rng(2000 + seed)
    n_cells, n_queries, n_values, value_range = 4, int(rng.choice([1, 2, 30])), 200, 1 << 20
    occupancy = each_in_each(n_cells, n_values, rng.integers(1, 1000, n_cells).tolist())
    radius = int(rng.choice([1, 5, 1 << 16, LARGEST_RADIUS]))
    size = 2.0 ** rng.integers(0, 28, (n_cells, n_queries))
    measured = measuring(
        occupancy, norm, value_range,
        weight=np.repeat((rng.normal(size=n_cells) * 2.0 ** rng.integers(2, 28, n_cells)).astype(int), n_values),
        pair_shift=int(rng.integers(28, 32)),
        loading=(rng.normal(size=size.shape) * size / 8).astype(np.int64),
        shift=int(rng.integers(0, 10)),
        centre=rng.integers(0, value_range + 1, n_cells),
        radius=np.full(n_values, radius),
    )  # fmt: skip
    totals = random_totals(rng, measured)
    vectors = measured.answers(totals).vector
    assert vectors.any() or radius < 1 << 16
    assert_within_a_ball(vectors, radius, norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(10))
def test_other_users_vectors_do_not_move(norm: Norm, seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    measured = random_measurement(rng, norm, random_occupancy(rng, 4, 5))
    totals, user = random_totals(rng, measured), int(rng.integers(0, 5))
    changed = np.where(measured.occupancy.user == user, random_totals(rng, measured), totals)
    one, other = measured.answers(totals), measured.answers(changed)
    others = np.arange(5) != user
    assert (one.vector[others] == other.vector[others]).all()
    assert (one.room[others] == other.room[others]).all()


ALONE = Occupancy(whole([0]), whole([0]), whole([1]), 1, 1)


@pytest.mark.parametrize("norm", NORMS)
def test_the_diameter_is_reached_so_the_loss_is_not_too_high(norm: Norm) -> None:
    measured = measuring(ALONE, norm, centre=whole([50]), radius=whole([10]))
    assert [measured.answers(whole([total])).vector.tolist() for total in (0, 100)] == [[[-10]], [[10]]]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("inverse_scale", [1, LOSS_UNITS // 7, 1 << 62])
def test_the_loss_is_that_of_moving_by_the_diameter(norm: Norm, inverse_scale: int) -> None:
    occupancy = each_in_each(1, 3, [1])
    measured = measuring(occupancy, norm, radius=whole([3, 0, LARGEST_RADIUS]), inverse_scale=inverse_scale)
    scale = Fraction(LOSS_UNITS, inverse_scale)
    diameters = [6, 0, 2 * LARGEST_RADIUS]
    if norm == "l2":
        expected = [Fraction(diameter**2) / (2 * scale**2) for diameter in diameters]
        assert [Fraction(loss, 1 << 101) for loss in measured.losses(ZCDP)] == expected
        assert [ZCDP.rho(loss) for loss in measured.losses(ZCDP)] == expected
        with pytest.raises(ValueError, match="Gaussian noise has no loss"):
            measured.losses(PURE)
    else:
        assert [Fraction(loss, 1 << 50) for loss in measured.losses(PURE)] == [one / scale for one in diameters]


def divergence(moved: int, sigma: float, alpha: float) -> float:
    """Return the Rényi divergence of discrete Gaussian noise from the same noise moved, summed over outcomes."""
    outcomes = np.arange(-400, 401)
    weights = -(outcomes**2) / (2 * sigma**2)
    one = weights - np.log(np.exp(weights).sum())
    weights = -((outcomes - moved) ** 2) / (2 * sigma**2)
    other = weights - np.log(np.exp(weights).sum())
    return float(np.log(np.exp(alpha * one + (1 - alpha) * other).sum()) / (alpha - 1))


@pytest.mark.parametrize("norm", NORMS)
def test_likelihoods_differ_by_no_more_than_the_charge(norm: Norm) -> None:
    """Pure: the largest ratio over all outcomes. zCDP: Rényi divergences. Two queries, one user, every value."""
    occupancy = each_in_each(2, 1, [2, 1])
    measured = measuring(
        occupancy, norm, 4, weight=whole([2, 3]), pair_shift=1, loading=whole([[3, -2], [0, 8]]), shift=2,
        centre=whole([2, 1]), radius=whole([3]), inverse_scale=LOSS_UNITS // 2,
    )  # fmt: skip
    values = itertools.product(range(9), range(5))
    vectors = {tuple(measured.answers(whole(totals)).vector[0].tolist()) for totals in values}
    worst = 0.0
    for one, other in itertools.product(vectors, repeat=2):
        moves = [abs(a - b) for a, b in zip(one, other, strict=True)]
        if norm == "l1":
            worst = max(worst, sum(moves) / 2)
        else:
            worst = max(worst, *(sum(divergence(move, 2, alpha) for move in moves) / alpha for alpha in (2, 5)))
    charge = measured.losses(PURE if norm == "l1" else ZCDP)[0]
    charged = float(PURE.epsilon(charge)) if norm == "l1" else float(ZCDP.rho(charge))
    assert 0.6 * charged < worst <= charged * (1 + 1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_a_user_without_a_ball_is_not_read(norm: Norm) -> None:
    rng = np.random.default_rng(3)
    measured = random_measurement(rng, norm, random_occupancy(rng, 4, 3))
    measured = replace(measured, radius=whole([0, 0, 0]))
    for _ in range(5):
        assert not measured.answers(random_totals(rng, measured)).vector.any()
    assert measured.losses(ZCDP if norm == "l2" else PURE).tolist() == [0, 0, 0]


@pytest.mark.parametrize("norm", NORMS)
def test_a_room_is_radius_over_length_within_limits(norm: Norm) -> None:
    measured = measuring(each_in_each(1, 7, [1]), norm, radius=whole([10] * 7))
    room = measured.answers(whole([80, 40, 20, 16, 10, 8, 0])).room
    assert room.tolist() == [eighths * (1 << ROOM_BITS) // 8 for eighths in (0, 0, 2, 3, 6, 8, 8)]


@pytest.mark.statistical
@pytest.mark.parametrize("norm", NORMS)
def test_the_sums_get_the_noise_of_the_norm(norm: Norm) -> None:
    """In 100 rounds of all queries, the standard deviation is as far off as this once in 1e9 runs or less."""
    scale = 50
    loading = whole([[3] * MOST_QUERIES])
    measured = measuring(ALONE, norm, loading=loading, radius=whole([1 << 20]), inverse_scale=LOSS_UNITS // scale)
    answers = measured.answers(whole([2]))
    noisy = np.concatenate([answers.noisy_sums(os.urandom).astype(float) for _ in range(20)])
    expected = scale * (math.sqrt(2) if norm == "l1" else 1)
    assert noisy.mean() == pytest.approx(6, abs=6.2 * expected / math.sqrt(noisy.size))
    assert noisy.std() == pytest.approx(expected, rel=0.07 if norm == "l1" else 0.05)


def test_every_query_has_noise_of_its_own() -> None:
    measured = measuring(ALONE, "l2", loading=whole([[0] * 2000]), inverse_scale=LOSS_UNITS // 10**6)
    assert len(set(measured.answers(whole([2])).noisy_sums(os.urandom))) > 1900  # equal draws are one in a million


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weight": whole([1])}, "shapes"),
        ({"row": whole([0, 1])}, "shapes"),
        ({"row": whole([0, 0, 0, 1, 1, 2])}, "row must be below R"),
        ({"row": whole([0, 0, 0, 1, 1, -1])}, "row must be at least 0"),
        ({"centre": whole([1, 1, 1])}, "centre of shape"),
        ({"centre": whole([1, -1])}, "centre must be at least 0"),
        ({"centre": whole([1, 101])}, "centre must be at most value_range"),
        ({"loading": whole([[1]])}, "loading must be of shape"),
        ({"loading": whole([1, 1])}, "loading must be of shape"),
        ({"loading": np.ones((2, MOST_QUERIES + 1), dtype=np.int64)}, "queries at most"),
        ({"radius": whole([1])}, "radius of shape"),
        ({"radius": whole([1, -1, 1])}, "radius must be at least 0"),
        ({"radius": whole([1, LARGEST_RADIUS + 1, 1])}, "radius must be at most"),
        ({"inverse_scale": 0}, "inverse_scale=0 must be"),
        ({"value_range": 0}, "must be"),
        ({"loading": whole([[1 << 61], [0]])}, "loading must leave"),
        ({"weight": whole([1 << 61] * 6)}, "weight must leave"),
        ({"norm": "l3"}, "norm l1 or l2"),
        *(({name: bits}, "shift must be 0 to 62") for name in ("shift", "pair_shift") for bits in (-1, 63, 64)),
        *(({"loading": whole([[one], [0]])}, "must be below") for one in (1 << 62, -1 << 62, LEAST)),
        *(({"weight": whole([0] * 5 + [one])}, "must be below") for one in (1 << 62, -1 << 62, LEAST)),
    ],
)
def test_bad_shapes_and_numbers_are_refused(change: dict[str, object], words: str) -> None:
    good = measuring(each_in_each(2, 3, [2, 1]), "l2")
    with pytest.raises(ValueError, match=words):
        replace(good, **change)


@pytest.mark.parametrize("totals", [[1], [0] * 7, [-1, 0, 0, 0, 0, 0], [201, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 101]])
def test_totals_of_a_wrong_shape_or_that_no_values_have_are_refused(totals: list[int]) -> None:
    good = measuring(each_in_each(2, 3, [2, 1]), "l2")
    assert good.answers(whole([200, 0, 0, 0, 0, 100])).vector.size == 3
    with pytest.raises(ValueError, match=r"shapes|private_totals must be from 0"):
        good.answers(whole(totals))


def test_users_vectors_are_not_shown() -> None:
    answers = measuring(ALONE, "l2", loading=whole([[54321]]), radius=whole([LARGEST_RADIUS])).answers(whole([1]))
    assert answers.vector.tolist() == [[54321]]
    shown = repr(replace(answers, measurement=measuring(ALONE, "l2")))
    assert "54321" not in shown
    assert "room=" not in shown
