"""What is asked of the law of records: whatever the values, a user's vector stays in the ball, a day in its limit."""

import itertools
import os
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from city_days import MUCH, UNIT, a_city, a_state, same
from law_days import asked_with_laws, private_day, private_of

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import Concentrated
from dpmath.core.occupancy import Occupancy
from dpmath.estimate.asking import ask
from dpmath.estimate.charges import charges
from dpmath.estimate.law_bins import N_BINS, Bins
from dpmath.estimate.law_charges import FIRST, LATER, Asks, law_charges, limit_of_map, share_noise, tells
from dpmath.estimate.law_layers import LARGEST, Layered, layered, whole_table
from dpmath.estimate.measurement import LARGEST_COMPONENT, Measurement
from dpmath.estimate.programme import answered, programme
from dpmath.estimate.state_arrays import from_arrays, to_arrays
from dpmath.estimate.whole import RADIUS

ZCDP = Concentrated(Decimal("1e-6"))
NO_NOISE = LOSS_UNITS * 100
"""An inverse scale at which every draw is 0, but for about one in e^5000."""
pytestmark = pytest.mark.theorem("HV-L55")


def bin_of(ticks: int, value_range: int) -> int:
    return -(-100 * ticks // value_range)


@pytest.mark.parametrize("value_range", [1, 2, 3, 7, 99, 100, 101, 250, 1000, 1 << 20])
def test_a_bin_stands_for_the_mean_of_its_ticks(value_range: int) -> None:
    bins, among = Bins(value_range), range(value_range + 1)
    held: dict[int, list[int]] = {}
    for ticks in among:
        held.setdefault(bin_of(ticks, value_range), []).append(ticks)
    assert np.flatnonzero(bins.used).tolist() == sorted(held)
    for number, ticks in held.items():
        mean = Fraction(100 * (ticks[0] + ticks[-1]), 2 * value_range)
        assert bins.values[number] == pytest.approx(float(mean), rel=1e-12)
        assert number - 1 < float(mean) <= number


def random_pairs(rng: np.random.Generator, n_cells: int = 5, n_users: int = 4) -> Occupancy:
    there = rng.random((n_cells, n_users)) < 0.6
    there[np.arange(n_cells), rng.integers(0, n_users, n_cells)] = True
    there[rng.integers(0, n_cells, n_users), np.arange(n_users)] = True
    cell, user = np.nonzero(there)
    return Occupancy(cell, user, rng.integers(1, 6, cell.size), n_cells, n_users)


def random_records(rng: np.random.Generator, occupancy: Occupancy) -> list[list[int]]:
    """Return the bins of each pair's values, half of them at an end; some values are missing."""
    return [
        [int(rng.choice(np.array([0, 100, int(rng.integers(0, 101))]))) for _ in range(rng.integers(0, n + 1))]
        for n in occupancy.n_records.tolist()
    ]


def random_question(rng: np.random.Generator, occupancy: Occupancy, inverse_scale: int = NO_NOISE) -> Layered:
    """Return a question with tables, weights and loadings of any sizes."""
    n_layers, n_queries = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    layers = layered(occupancy, n_layers)
    weight = np.tile((rng.normal(size=occupancy.cell.size) * 2.0 ** rng.integers(1, 12)).astype(np.int64), n_layers)
    loading = (rng.normal(size=(layers.n_cells, n_queries)) * 2.0 ** rng.integers(0, 12)).astype(np.int64)
    measurement = Measurement(
        layers, layers.cell, LARGEST, rng.integers(0, LARGEST + 1, layers.n_cells), weight, int(rng.integers(0, 8)),
        loading, int(rng.integers(0, 30)), rng.choice([0, 1, 900, RADIUS], occupancy.n_users), inverse_scale, "l2",
    )  # fmt: skip
    return Layered(measurement, rng.choice([0, 1, LARGEST, int(rng.integers(LARGEST))], (n_layers, N_BINS)))


def towards_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number < 0 else number // divisor


def by_definition(question: Layered, occupancy: Occupancy, records: list[list[int]]) -> list[int]:
    """Return the sums without noise, one Python integer after the other, from the records."""
    measured, sums = question.measurement, [0] * question.measurement.n_queries
    for user, radius in enumerate(measured.radius.tolist()):
        vector = [0] * measured.n_queries
        for layer, pair in itertools.product(range(len(question.table)), np.flatnonzero(occupancy.user == user)):
            cell = layer * occupancy.n_cells + int(occupancy.cell[pair])
            n, own = int(occupancy.n_records[pair]), [int(question.table[layer, one]) for one in records[pair]]
            total = n * int(measured.centre[cell]) if not own else n * sum(own) // len(own)
            weight = int(measured.weight[layer * occupancy.cell.size + int(pair)])
            moved = towards_zero(weight * (total - n * int(measured.centre[cell])), 2**measured.pair_shift)
            for query in range(measured.n_queries):
                vector[query] += moved * int(measured.loading[cell, query])
        vector = [towards_zero(one, 2**measured.shift) for one in vector]
        vector = [max(-LARGEST_COMPONENT, min(LARGEST_COMPONENT, one)) for one in vector]
        square = sum(one * one for one in vector)
        length = next(root for root in itertools.count(int(square**0.5) - 1) if root >= 0 and root * root >= square)
        if length > radius:
            vector = [towards_zero(one * radius, length) for one in vector]
        sums = [one + other for one, other in zip(sums, vector, strict=True)]
    return sums


@pytest.mark.parametrize("seed", range(60))
def test_answers_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    occupancy = random_pairs(rng)
    question, records = random_question(rng, occupancy), random_records(rng, occupancy)
    found = question.noisy(private_of(occupancy, records), os.urandom)
    assert found.tolist() == by_definition(question, occupancy, records)


@pytest.mark.parametrize("seed", range(30))
def test_no_values_of_a_user_move_the_answers_by_more_than_the_diameter(seed: int) -> None:
    """Adversarial values of one user, among them all at an end, and none at all; the others' stay."""
    rng = np.random.default_rng(seed)
    occupancy = random_pairs(rng)
    question, base = random_question(rng, occupancy), random_records(rng, occupancy)
    own = np.flatnonzero(occupancy.user == 0).tolist()
    found = []
    for trial in range(25):
        records = list(base)
        for pair in own:
            n = int(occupancy.n_records[pair])
            ends = {0: [0] * n, 1: [100] * n, 2: [0, 100][pair % 2 : pair % 2 + 1] * n, 3: []}
            records[pair] = ends.get(trial, rng.integers(0, 101, rng.integers(0, n + 1)).tolist())
        found.append([int(one) for one in question.noisy(private_of(occupancy, records), os.urandom)])
    diameter = 2 * int(question.measurement.radius[0])
    for one, other in itertools.combinations(found, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) <= diameter**2


def test_the_loss_is_that_of_the_diameter_however_many_layers_and_queries() -> None:
    rng = np.random.default_rng(1)
    occupancy = random_pairs(rng)
    for inverse_scale in (LOSS_UNITS // 7, LOSS_UNITS * 3, 12345):
        question = random_question(rng, occupancy, inverse_scale)
        for loss, radius in zip(question.losses(ZCDP), question.measurement.radius.tolist(), strict=True):
            exact = Fraction((2 * radius * inverse_scale) ** 2, 2 * LOSS_UNITS**2) * (1 << 101)
            assert exact <= loss < exact + 1


def test_counts_and_tables_that_are_not_of_layers_are_refused() -> None:
    rng = np.random.default_rng(2)
    occupancy = random_pairs(rng)
    question = random_question(rng, occupancy)
    for table in (
        question.table[:, :-1],
        question.table - 1 - LARGEST,
        question.table + 1 + LARGEST,
        np.zeros((0, 101), dtype=np.int64),
    ):
        with pytest.raises(ValueError, match="table must be"):
            Layered(question.measurement, table)
    with pytest.raises(ValueError, match="must have the same pairs and weights"):
        Layered(question.measurement, np.zeros((layered(occupancy, 1).cell.size * 7 + 1, N_BINS), dtype=np.int64))
    weight = question.measurement.weight.copy()
    with pytest.raises(ValueError, match="must have a row of its own"):
        Layered(replace(question.measurement, row=0 * question.measurement.row), question.table)
    if len(question.table) > 1:
        weight[0] += 1
        with pytest.raises(ValueError, match="must have the same pairs and weights"):
            Layered(replace(question.measurement, weight=weight), question.table)
    with pytest.raises(ValueError, match="must be counted in bins"):
        question.noisy(replace(private_of(occupancy, random_records(rng, occupancy)), bins=None), os.urandom)
    with pytest.raises(ValueError, match="must be at least 1"):
        Bins(0)


def test_a_table_in_whole_numbers_has_20_bits() -> None:
    found = whole_table(np.array([[-6.0, 0.0, 6.0, 9.0]]), np.array([-6.0]), np.array([6.0]))
    assert found.tolist() == [[0, LARGEST // 2, LARGEST, LARGEST]]


@pytest.mark.parametrize("asks", [FIRST, LATER])
@pytest.mark.parametrize("limit", [1 << 62, 1 << 90, 3 << 95, (1 << 101) + 12345])
@pytest.mark.parametrize("first", [True, False])
def test_the_map_and_the_law_together_cost_at_most_the_limit(asks: Asks, limit: int, first: bool) -> None:
    of_law, of_map = list(law_charges(limit, asks)), list(charges(first, limit_of_map(limit, asks), "l2"))

    def paid(found: list) -> Fraction:
        return sum(
            (Fraction((one.sensitivity * one.inverse_scale) ** 2, 2 * LOSS_UNITS**2) * (1 << 101) for one in found),
            Fraction(0),
        )

    assert paid(of_law) + paid(of_map) <= limit
    share = Fraction(sum(asks.values()), 1000)
    assert Fraction(99, 100) * share * limit < paid(of_law) <= share * limit <= Fraction(20, 100) * limit
    assert limit_of_map(limit, {}) == limit


def test_a_limit_without_noise_that_can_be_drawn_is_refused() -> None:
    for limit in (0, 1, 1 << 30):
        with pytest.raises(ValueError, match="too small or too large"):
            list(law_charges(limit, FIRST))


def test_the_noise_of_a_share_falls_with_users_and_with_the_root_of_the_limit() -> None:
    full = np.full(100, RADIUS)
    one = share_noise(1 << 97, full)
    assert share_noise(1 << 97, np.full(200, RADIUS)) == pytest.approx(one / 2)
    assert share_noise(1 << 99, full) == pytest.approx(one / 2, rel=1e-6)
    assert share_noise(1 << 97, full // 2) == pytest.approx(2 * one)
    assert share_noise(0, full) == share_noise(1 << 97, 0 * full) == np.inf
    assert tells(ZCDP.within(Decimal(2)), np.full(150, RADIUS))
    assert not tells(ZCDP.within(Decimal(1)), np.full(150, RADIUS))


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("first", [True, False])
def test_a_day_with_percentiles_costs_no_user_more_than_the_budget(first: bool) -> None:
    """The questions as they are asked, so with their real limits, radii and noise."""
    day, limit = a_city(), 2 * UNIT["l2"] + 12345
    budgets = np.array([limit // 50 * user for user in range(60)], dtype=object)
    state = None if first else a_state(day)
    asked = asked_with_laws(day, limit, state, budgets)
    _, recorded = ask(programme(state, asked), private_day(day), os.urandom)
    assert [type(one).__name__ for one, _ in recorded][-3:] == ["Layered", "Layered", "Shrunk"]
    paid = sum((question.losses(ZCDP) for question, _ in recorded), np.zeros(60, dtype=object))
    assert all(0 <= loss <= min(budget, limit) for loss, budget in zip(paid, budgets, strict=True))
    assert paid.max() > 0.99 * limit


@pytest.mark.theorem("HV-E4")
def test_a_day_with_percentiles_is_the_same_from_its_noisy_answers() -> None:
    day = a_city()
    asked = asked_with_laws(day, UNIT["l2"], None)
    found, recorded = ask(programme(None, asked), private_day(day), os.urandom)
    assert same(answered(programme(None, asked), recorded), found)
    again = from_arrays(to_arrays(found.state))
    assert same(again, found.state)
    assert again.shapes is not None
    later = asked_with_laws(a_city(1), UNIT["l2"], again)
    assert list(later.charges)[-2:] == ["shape", "shape shrink"]
    after, recorded = ask(programme(again, later), private_day(a_city(1), 2), os.urandom)
    assert same(answered(programme(again, later), recorded), after)
    wrong = [*recorded[:-2], recorded[0], recorded[-1]]
    with pytest.raises(ValueError, match="not those of a question about shapes"):
        answered(programme(again, later), wrong)


def test_without_percentiles_nothing_is_asked_and_a_state_is_stored_as_it_was() -> None:
    day = a_city()
    asked = replace(asked_with_laws(day, MUCH["l2"], None), limits=None)
    found, recorded = ask(programme(None, asked), private_day(day), os.urandom)
    assert not any(isinstance(question, Layered) for question, _ in recorded)
    assert found.state.shapes is None
    assert not any(name.startswith("shapes") for name in to_arrays(found.state))
