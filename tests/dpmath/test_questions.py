"""The private questions of a day: what each of them counts, what each costs, and what all of them cost together."""

import math
import os
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support import slow

from dpmath.core.currency import GAUSSIAN, LAPLACE, PURE, Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.bounded_sums import BoundedSums
from dpmath.estimate.charges import Charge, charges, limit_of, reach_of
from dpmath.estimate.design import RADIUS
from dpmath.estimate.measurement import LARGEST_RADIUS, ROOM_BITS, Measurement, Norm
from dpmath.estimate.questions import Centre, Check, Measured, PrivateDay, Question, Shrunk, Spread, check_limits

ZCDP = Concentrated(Decimal("1e-6"))
NORMS: list[Norm] = ["l1", "l2"]
NO_NOISE = 1 << 62
"""The inverse scale of 2^-12 ticks: noise is 0 but with a probability below exp(-4000)."""


def whole(numbers: object) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def random_occupancy(rng: np.random.Generator, n_cells: int, n_users: int) -> Occupancy:
    """Return an occupancy in which every user has a pair."""
    there = rng.random((n_cells, n_users)) < 0.5
    there[np.arange(n_cells), rng.integers(0, n_users, n_cells)] = True
    there[rng.integers(0, n_cells, n_users), np.arange(n_users)] = True
    cell, user = np.nonzero(there)
    return Occupancy(cell, user, rng.integers(1, 6, cell.size), n_cells, n_users)


def pairs_of(occupancy: Occupancy, user: int) -> list[int]:
    return np.flatnonzero(occupancy.user == user).tolist()


def random_day(rng: np.random.Generator, occupancy: Occupancy, value_range: int) -> PrivateDay:
    """Return a day of which some pairs lack some values, some all, and most none."""
    n_records = occupancy.n_records
    n_missing = rng.choice([0, 0, 1], n_records.size) * rng.integers(0, n_records + 1)
    n_missing = np.where(rng.random(n_records.size) < 0.1, n_records, n_missing)
    most = (n_records - n_missing) * value_range
    totals = np.where(rng.random(most.size) < 0.5, rng.integers(0, most + 1), most * rng.integers(0, 2, most.size))
    return PrivateDay(occupancy, totals, n_missing)


def complete(occupancy: Occupancy, totals: np.ndarray) -> PrivateDay:
    return PrivateDay(occupancy, totals, np.zeros_like(totals))


def mean_of(day: PrivateDay, value_range: int, user: int) -> int:
    """Return a user's mean in units of 2^-20 of the range, rounded down; the middle if the user has no value."""
    own = pairs_of(day.occupancy, user)
    most = sum(int(day.n_values[pair]) for pair in own) * value_range
    return math.floor(Fraction(sum(int(day.totals[pair]) for pair in own), most) * 2**20) if most else 2**19


def spread_of(day: PrivateDay, value_range: int, user: int, centre: int) -> int:
    """Return the root mean square difference of a user's cells from the centre, in the same units."""
    own = [pair for pair in pairs_of(day.occupancy, user) if day.n_values[pair]]
    values = [int(day.n_values[pair]) for pair in own]
    of_cells = [
        math.floor(Fraction(int(day.totals[pair]), n * value_range) * 2**20)
        for pair, n in zip(own, values, strict=True)
    ]
    squares = (n * (one - centre) ** 2 for one, n in zip(of_cells, values, strict=True))
    return math.isqrt(sum(squares) // max(sum(values), 1))


def filled(day: PrivateDay, instead: np.ndarray) -> list[int]:
    """Return each pair's total with the mean of its values, or what there is instead, for each missing one."""
    found = []
    for pair, n_records in enumerate(day.occupancy.n_records.tolist()):
        n_values = int(day.n_values[pair])
        mean = Fraction(int(day.totals[pair]), n_values) if n_values else Fraction(int(instead[pair]))
        found.append(math.floor(n_records * mean))
    return found


def asked_of(question: Question, day: PrivateDay) -> list[int]:
    return question.noisy(day, os.urandom).tolist()


@pytest.mark.theorem("HV-L53")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(25))
def test_centre_and_spread_are_sums_of_what_is_defined_by_the_part_that_each_user_has(norm: Norm, seed: int) -> None:
    rng = np.random.default_rng(seed)
    occupancy, value_range = random_occupancy(rng, 6, 5), int(rng.choice([1, 10, 1000, 1 << 20]))
    day = random_day(rng, occupancy, value_range)
    limit = rng.choice([0, (1 << 20) // 3, 1 << 19, 1 << 20], 5)
    sums = BoundedSums(limit[:, None], NO_NOISE, norm)
    centre = int(rng.choice([0, 1 << 18, 1 << 20]))
    means = (mean_of(day, value_range, user) for user in range(5))
    spreads = (spread_of(day, value_range, user, centre) for user in range(5))
    for question, numbers, largest in (
        (Centre(sums, value_range), means, 1 << 20),
        (Spread(sums, value_range, centre), spreads, 1 << 19),
    ):
        shares = [int(most) * min(one, largest) // largest for most, one in zip(limit, numbers, strict=True)]
        assert asked_of(question, day) == [sum(shares)]


@pytest.mark.parametrize("value_range", [1, 3, 1 << 20])
def test_centre_and_spread_of_users_without_values_are_the_middle_and_0_and_at_the_ends_the_limits(
    value_range: int,
) -> None:
    """Of four users the second has two cells, one at each end, the third one cell, and two have nothing."""
    occupancy, totals = Occupancy(whole([0, 0, 1]), whole([1, 2, 1]), whole([2, 3, 2]), 2, 4), whole([0, 3, 2])
    day, limit = complete(occupancy, totals * value_range), np.full((4, 1), 1 << 20)
    assert asked_of(Centre(BoundedSums(limit, NO_NOISE, "l1"), value_range), day) == [(1 << 20) * 5 // 2]
    spreads = Spread(BoundedSums(limit // 2, NO_NOISE, "l1"), value_range, 1 << 19)
    assert asked_of(spreads, day) == [2 * (1 << 19)]
    cut = Spread(BoundedSums(limit // 2, NO_NOISE, "l1"), value_range, 0)
    assert asked_of(cut, day) == [2 * (1 << 19)]


@pytest.mark.theorem("HV-L53")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(25))
def test_a_check_counts_the_share_of_pairs_that_are_far_and_users_that_are(norm: Norm, seed: int) -> None:
    """A user's pairs are far together if the sum of what they are off by is: here by one tick, or just not."""
    rng = np.random.default_rng(seed)
    occupancy, value_range, n_classes = random_occupancy(rng, 7, 5), 100, int(rng.integers(1, 5))
    day, n_pairs = random_day(rng, occupancy, value_range), occupancy.cell.size
    of_pair, centre = rng.integers(0, n_classes, n_pairs), rng.integers(0, value_range + 1, n_pairs)
    expected_totals = occupancy.n_records * centre + rng.integers(-3, 4, n_pairs)
    off = (whole(filled(day, centre)) - expected_totals).tolist()
    together = [abs(sum(off[pair] for pair in pairs_of(occupancy, user))) for user in range(5)]
    every = np.array([*(abs(one) for one in off), *together])
    half_width = every + rng.integers(-1, 2, n_pairs + 5)  # just within, at, and just beyond the interval
    limit = check_limits(occupancy, of_pair, n_classes + 1, norm) * (rng.random(5) < 0.8)[:, None]
    expected = [0] * (n_classes + 1)
    for user in range(5):
        for one in range(n_classes):
            own = [pair for pair in pairs_of(occupancy, user) if of_pair[pair] == one]
            far = [pair for pair in own if int(every[pair]) > int(half_width[pair])]
            expected[one] += int(limit[user, one]) * len(far) // len(own) if own else 0
        expected[-1] += int(limit[user, -1]) * (together[user] > int(half_width[n_pairs + user]))
    check = Check(BoundedSums(limit, NO_NOISE, norm), centre, expected_totals, half_width, of_pair)
    assert asked_of(check, day) == expected


def a_measurement(occupancy: Occupancy, norm: Norm, value_range: int, radius: np.ndarray, scale: int) -> Measurement:
    return Measurement(
        occupancy, occupancy.cell, value_range, np.zeros(occupancy.n_cells, dtype=int),
        np.ones(occupancy.cell.size, dtype=int), 0, np.ones((occupancy.n_cells, 2), dtype=int), 0, radius, scale, norm,
    )  # fmt: skip


@pytest.mark.theorem("HV-L52", "HV-L53")
@pytest.mark.parametrize("norm", NORMS)
def test_rooms_are_those_of_the_last_measurement_and_nothing_is_asked_before_one(norm: Norm) -> None:
    rng = np.random.default_rng(4)
    occupancy = random_occupancy(rng, 6, 5)
    private = random_day(rng, occupancy, 100)
    shrunk = Shrunk(BoundedSums(np.full((5, 1), 1 << ROOM_BITS), NO_NOISE, norm))
    with pytest.raises(ValueError, match="after a measurement"):
        shrunk.noisy(private, os.urandom)
    found = []
    for radius in (30, 1000, LARGEST_RADIUS):
        measurement = a_measurement(occupancy, norm, 100, np.full(5, radius), NO_NOISE)
        answers = measurement.answers(whole(filled(private, measurement.centre[measurement.row])))
        assert Measured(measurement).noisy(private, os.urandom).tolist() == answers.vector.sum(axis=0).tolist()
        (total,) = shrunk.noisy(private, os.urandom)
        assert total == answers.room.sum()
        found.append(total)
    assert found[0] < found[1] < found[2] == 5 << ROOM_BITS


def test_the_values_of_a_day_are_not_shown() -> None:
    occupancy = Occupancy(whole([0]), whole([0]), whole([7]), 1, 1)
    private = PrivateDay(occupancy, whole([12345]), whole([54321]), whole([67890]))
    assert not any(number in repr(private) for number in ("12345", "54321", "67890"))


@pytest.mark.theorem("HV-L53")
@pytest.mark.parametrize("norm", NORMS)
def test_check_limits_keep_users_in_a_ball_and_waste_little_of_it(norm: Norm) -> None:
    """In whole numbers: a user with pairs in K classes, for each K, in any of them, and more pairs than classes.

    One class more is that of users.
    """
    n_classes = 300
    user = np.concatenate([np.full(k, k - 1) for k in range(1, n_classes + 1)])
    of_user = np.concatenate([np.random.default_rng(k).permutation(n_classes)[:k] for k in range(1, n_classes + 1)])
    user, of_pair = np.tile(user, 2), np.tile(of_user, 2)
    occupancy = Occupancy(np.arange(user.size), user, np.ones_like(user), user.size, n_classes)
    limit = check_limits(occupancy, of_pair, n_classes + 1, norm)
    for one, row in enumerate(limit.tolist()):
        own = {int(number) for number in of_pair[user == one]} | {n_classes}
        assert {number for number, most in enumerate(row) if most} == own
        (most,) = {row[number] for number in own}
        size, ball = (len(own), 1 << 20) if norm == "l1" else (len(own), 1 << 40)
        assert size * (most if norm == "l1" else most**2) <= ball
        assert size * (most + 1 if norm == "l1" else (most + 1) ** 2) > ball


def test_a_user_without_pairs_has_no_check_limits() -> None:
    occupancy = Occupancy(whole([0]), whole([1]), whole([3]), 1, 3)
    assert check_limits(occupancy, whole([1]), 3, "l1").tolist() == [[0, 0, 0], [0, 1 << 19, 1 << 19], [0, 0, 0]]


UNIT = {"l1": 1 << 50, "l2": 1 << 101}
LIMITS = {
    "l1": [10**9, 10**12 + 7, 1 << 50, (1 << 50) * 7 // 3, 50 << 50, 1000 << 50],
    "l2": [10**19, 10**24 + 7, 1 << 101, (1 << 101) * 7 // 3, 50 << 101, 10**6 << 101],
}
"""Limits of a day in the currency's unit, from far too small to far too large; none leaves a question without noise."""
CASES = [(norm, limit, first) for norm in NORMS for limit in LIMITS[norm] for first in (True, False)]


def cost(norm: Norm, sensitivity: int, inverse_scale: int) -> int:
    """Return what noise costs by its definition: epsilon in units of 2^-50, or rho in units of 2^-101."""
    share = Fraction(sensitivity * inverse_scale, 1 << 50)
    return int(share * (1 << 50)) if norm == "l1" else int(share**2 / 2 * (1 << 101))


@pytest.mark.theorem("HV-L52", "HV-L53")
@pytest.mark.parametrize(("norm", "limit", "first"), CASES)
def test_a_days_charges_together_stay_within_the_limit(norm: Norm, limit: int, first: bool) -> None:
    found = list(charges(first, limit, norm))
    before = ["centre", "spread", "coarse", "coarse shrink"] if first else ["level", "level again"]
    assert [one.name for one in found] == [*before, "map", "map shrink", "check"]
    total = sum(cost(norm, one.sensitivity, one.inverse_scale) for one in found)
    assert 0 < total <= limit
    if limit >= UNIT[norm]:
        assert total > limit * Fraction(999, 1000)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("norm", NORMS)
def test_limits_are_refused_for_which_no_noise_can_be_drawn(norm: Norm, first: bool) -> None:
    """The smallest and the largest limit are found by bisection: there, a scale is the largest or the smallest."""

    def drawable(limit: int) -> bool:
        try:
            list(charges(first, limit, norm))
        except ValueError:
            return False
        return True

    def last(good: int, bad: int) -> list[int]:
        if abs(good - bad) == 1:
            with pytest.raises(ValueError, match="too small or too large"):
                list(charges(first, bad, norm))
            return [one.inverse_scale for one in charges(first, good, norm)]
        middle = (good + bad) // 2
        return last(middle, bad) if drawable(middle) else last(good, middle)

    assert not any(drawable(limit) for limit in (-UNIT[norm], -1, 0, 1, 1 << 180))
    assert min(last(UNIT[norm], 0)) == 1
    assert max(last(UNIT[norm], 1 << 180)) == 1 << 62


def questions_of(
    occupancy: Occupancy, norm: Norm, value_range: int, radius: np.ndarray, found: list[Charge]
) -> list[tuple[Charge, Question]]:
    """Return a question for each charge, as large as it may be; who is short of budget has a smaller part in each."""
    n_users, n_classes = occupancy.n_users, 9
    of_pair = np.arange(occupancy.cell.size) % n_classes
    made: list[tuple[Charge, Question]] = []
    for charge in found:
        scale = charge.inverse_scale

        def sums(limit: np.ndarray, scale: int = scale) -> BoundedSums:
            return BoundedSums(limit * radius[:, None] // RADIUS, scale, norm)

        question: Question
        if charge.name in ("coarse", "level", "level again", "map"):
            question = Measured(a_measurement(occupancy, norm, value_range, radius, scale))
        elif charge.name == "centre":
            question = Centre(sums(np.full((n_users, 1), 1 << 20)), value_range)
        elif charge.name == "spread":
            question = Spread(sums(np.full((n_users, 1), 1 << 19)), value_range, 1 << 18)
        elif charge.name == "check":
            limit = check_limits(occupancy, of_pair, n_classes + 1, norm)
            question = Check(sums(limit), 0 * of_pair, 0 * of_pair, np.append(of_pair, np.arange(n_users)), of_pair)
        else:
            question = Shrunk(sums(np.full((n_users, 1), 1 << ROOM_BITS)))
        made.append((charge, question))
    return made


@pytest.mark.theorem("HV-L52", "HV-L53")
@pytest.mark.parametrize(("norm", "limit", "first"), CASES)
def test_no_user_pays_more_than_a_charge_for_a_question_nor_than_the_budget_for_a_day(
    norm: Norm, limit: int, first: bool
) -> None:
    rng = np.random.default_rng(limit % 1000)
    occupancy, value_range = random_occupancy(rng, 12, 40), int(rng.choice([1, 3, 100, 1 << 20]))
    budgets = [-5, 0, 1, 2, limit - 1, limit, limit + 1, 2 * limit, limit // 2, limit // 3, limit // 10**6]
    budgets += [int(limit * share) for share in rng.random(40 - len(budgets))]
    currency = PURE if norm == "l1" else ZCDP
    for given in (np.array(budgets, dtype=object), None):
        radius = reach_of(given, limit, 40, norm)
        assert radius.max() == RADIUS
        paid = np.zeros(40, dtype=object)
        found = list(charges(first, limit, norm))
        for charge, question in questions_of(occupancy, norm, value_range, radius, found):
            losses = question.losses(currency)
            assert max(losses) <= cost(norm, charge.sensitivity, charge.inverse_scale)
            paid += losses
        for user, loss in enumerate(paid):
            assert 0 <= loss <= (limit if given is None else max(0, min(limit, budgets[user])))


@pytest.mark.theorem("HV-L52")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("limit", [1, 7, 10**12, 1 << 101])
def test_a_reach_is_the_largest_whole_radius_of_the_budgets_share(norm: Norm, limit: int) -> None:
    budgets = [-3, 0, 1, limit // 4, limit // 2, limit - 1, limit, limit + 1, 9 * limit]
    for radius, budget in zip(reach_of(np.array(budgets, dtype=object), limit, 9, norm).tolist(), budgets, strict=True):
        share, power = Fraction(max(0, min(budget, limit)), limit), 1 if norm == "l1" else 2
        assert Fraction(radius, RADIUS) ** power <= share < Fraction(radius + 1, RADIUS) ** power
        assert (radius == RADIUS) == (budget >= limit)


@pytest.mark.theorem("HV-L52", "HV-L53")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("first", [True, False])
def test_questions_are_made_for_the_most_that_any_user_has_left_however_little(norm: Norm, first: bool) -> None:
    for most in (UNIT[norm] // 1000, UNIT[norm], 50 * UNIT[norm]):
        for left in (
            0,
            1,
            7,
            1 << 20,
            (1 << 26) - 1,
            1 << 26,
            (1 << 46) - 1,
            1 << 46,
            most // 3,
            most - 1,
            most,
            2 * most,
        ):
            budgets = np.array([-1, 0, left // 2, left], dtype=object)
            limit = limit_of(budgets, most, norm)
            can_be_asked = left >= (1 << 26 if norm == "l1" else 1 << 46)
            assert limit == (min(left, most) if can_be_asked else most)
            radius = reach_of(budgets, limit, 4, norm)
            assert (radius[3] == RADIUS) == can_be_asked
            found = list(charges(first, limit, norm))
            paid = sum(cost(norm, one.sensitivity, one.inverse_scale) for one in found)
            power = 1 if norm == "l1" else 2
            assert all(
                paid * int(r) ** power <= max(0, b) * RADIUS**power for r, b in zip(radius, budgets, strict=True)
            )


@pytest.mark.theorem("HV-L53")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", [*range(3), *map(slow, range(3, 8))])
@pytest.mark.parametrize("share", [1.0, 0.99, 0.3])
def test_no_values_of_a_user_move_a_question_by_more_than_its_sensitivity(norm: Norm, seed: int, share: float) -> None:
    """The questions of a first day, without noise, for 30 adversarial values of one user, who has a share of a ball."""
    rng = np.random.default_rng(seed)
    occupancy, value_range = random_occupancy(rng, 6, 4), int(rng.choice([1, 3, 1000]))
    radius, base = np.full(4, RADIUS), random_day(rng, occupancy, value_range)
    radius[0] = int(share * RADIUS)
    found = [Charge(one.name, one.sensitivity, NO_NOISE) for one in charges(True, UNIT[norm], norm)]
    own = occupancy.user == 0
    answers: dict[str, list[list[int]]] = {one.name: [] for one in found}
    for _ in range(30):
        other = random_day(rng, occupancy, value_range)
        totals, n_missing = np.where(own, other.totals, base.totals), np.where(own, other.n_missing, base.n_missing)
        private = PrivateDay(occupancy, totals, n_missing)
        for charge, question in questions_of(occupancy, norm, value_range, radius, found):
            answers[charge.name].append(question.noisy(private, os.urandom).tolist())
    power = 1 if norm == "l1" else 2
    for charge in found:
        moved = np.abs(whole(answers[charge.name])[:, None] - whole(answers[charge.name])[None])
        farthest = moved.sum(axis=2).max() if norm == "l1" else (moved**2).sum(axis=2).max()
        assert int(farthest) * RADIUS**power <= (charge.sensitivity * int(radius[0])) ** power
        assert farthest > 0 or charge.name in ("spread", "coarse shrink", "map shrink")


@pytest.mark.parametrize("norm", NORMS)
def test_questions_have_the_losses_of_their_noise(norm: Norm) -> None:
    """The charge of the tests is the currencies'."""
    noise, currency = (LAPLACE, PURE) if norm == "l1" else (GAUSSIAN, ZCDP)
    for sensitivity, inverse_scale in ((1, 1), (100, 12345), (2 * RADIUS, 1 << 50)):
        assert cost(norm, sensitivity, inverse_scale) == currency.of_noise(noise, sensitivity, inverse_scale)
