"""The estimate of a day: each of its parts against a definition written out in dense matrices, then all of them."""

import itertools
import math
import os
from collections.abc import Callable
from dataclasses import fields, replace
from decimal import Decimal

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import ortho_group

from dpmath.core.currency import PURE, Concentrated, Currency
from dpmath.core.occupancy import Occupancy
from dpmath.estimate import shrinkage
from dpmath.estimate.asking import ask
from dpmath.estimate.basis import LASTING, OF_THE_DAY, Rows, fit_basis
from dpmath.estimate.charges import charges, reach_of
from dpmath.estimate.covariates import N_OF_OCCUPANCY, covariates
from dpmath.estimate.day import KINDS, Day
from dpmath.estimate.design import (
    NUMBERS_OF_DIRECTIONS,
    RADIUS,
    _shared_l1,
    _shared_l2,
    as_measured,
    design,
    directions,
    whole_numbers,
)
from dpmath.estimate.measurement import LARGEST_RADIUS, Norm
from dpmath.estimate.posterior import NOTHING, Design, Estimate, estimated
from dpmath.estimate.programme import Asked, Asking, answered, programme
from dpmath.estimate.prospect import expected_deviation
from dpmath.estimate.questions import Centre, Check, Measured, PrivateDay, Question
from dpmath.estimate.state import DRIFT, State, class_covariance, first_state, from_arrays, to_arrays
from dpmath.estimate.typical import typical
from dpmath.estimate.view import View, residual_shares

NORMS: list[Norm] = ["l1", "l2"]
VALUE_RANGE = 1000
UNIT = {"l1": 1 << 50, "l2": 1 << 101}
MUCH = {"l1": 1000 << 50, "l2": 10**5 << 101}
"""Limits at which noise hardly matters."""
Answered = list[tuple[Question, np.ndarray]]


def a_city(
    seed: int = 0, n_users: int = 60, n_hexagons: int = 10, n_slots: int = 6, kind: int = 0, first_name: int = 100
) -> Day:
    """Return a day on which every user is at about eight places, and every cell has somebody."""
    rng = np.random.default_rng(seed)
    n_cells = n_hexagons * n_slots
    pairs = {(cell, int(rng.integers(n_users))): 2 for cell in range(n_cells)}
    for user in range(n_users):
        home = rng.integers(n_hexagons)
        for _ in range(8):
            hexagon = (home + rng.integers(0, 4)) % n_hexagons
            pairs[int(hexagon * n_slots + rng.integers(n_slots)), user] = int(rng.integers(1, 7))
    cell, user = np.array(sorted(pairs)).T
    records = np.array([pairs[key] for key in sorted(pairs)])
    number = np.arange(n_hexagons)
    return Day(
        Occupancy(cell, user, records, n_cells, n_users),
        hexagon=np.arange(n_cells) // n_slots,
        slot=np.arange(n_cells) % n_slots,
        names=first_name + number,
        position=np.column_stack([number % 4, number // 4, 0 * number]).astype(float),
        spacing=1.0,
        n_slots=n_slots,
        kind=kind,
        covariates=rng.normal(size=(n_cells, 2)),
    )


def values_of(day: Day, seed: int = 1, residual: float = 10.0, shift: float = 0.0) -> np.ndarray:
    """Return the totals of a city with a course of the day and differences of places, in ticks."""
    rng, occupancy = np.random.default_rng(seed), day.occupancy
    of_cells = 45 + shift + 12 * np.sin(day.names[day.hexagon]) + 8 * np.cos(day.slot)
    own = rng.normal(size=occupancy.cell.size) * residual / np.sqrt(occupancy.n_records)
    points = np.clip(of_cells[occupancy.cell] + own, 0, 100)
    return np.rint(points * VALUE_RANGE / 100 * occupancy.n_records).astype(np.int64)


def complete(day: Day, totals: np.ndarray) -> PrivateDay:
    return PrivateDay(day.occupancy, totals, np.zeros_like(totals))


def true_means(day: Day, totals: np.ndarray) -> np.ndarray:
    return np.bincount(day.occupancy.cell, totals) / day.occupancy.cell_records * 100 / VALUE_RANGE


def a_state(day: Day, seed: int = 2, centre: float = 50.0) -> State:
    """Return a state as after some days: means that are not 0, and a covariance that is not diagonal."""
    rng = np.random.default_rng(seed)
    state = first_state(day, fit_basis(day, covariates(day, True)), centre, 4.0, 9.0, 0.3)
    seen = rng.normal(size=(state.mean.size, 20)) * np.sqrt(state.lasting)[:, None]
    told = state.covariance @ np.linalg.pinv(state.covariance + 0.02 * seen @ seen.T) @ state.covariance
    return replace(state, mean=rng.normal(size=state.mean.size) * 0.1, covariance=(told + told.T) / 2)


def a_view(day: Day) -> View:
    return View.of(day, a_state(day), covariates(day, True))


def dense(rows: Rows, n_hexagons: int) -> np.ndarray:
    """Return the functions' values with all their zeros, one number after the other, shape (G, S)."""
    n_common, n_own = rows.common.shape[1], rows.own.shape[1]
    matrix = np.zeros((len(rows.common), n_common + n_hexagons * n_own))
    for cell, hexagon in enumerate(rows.hexagon):
        matrix[cell, :n_common] = rows.common[cell]
        for one in range(n_own):
            matrix[cell, n_common + hexagon * n_own + one] = rows.own[cell, one]
    return matrix


def users_of_pairs(day: Day) -> np.ndarray:
    """Return which user each pair is of, as a matrix of zeros and ones, shape (L, P)."""
    return (np.arange(day.occupancy.n_users)[:, None] == day.occupancy.user).astype(float)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("seed", range(5))
def test_products_with_rows_are_those_of_the_dense_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_cells, n_common, n_own, n_hexagons = 30, 7, int(rng.integers(1, 5)), 9
    rows = Rows(
        rng.normal(size=(n_cells, n_common)),
        rng.normal(size=(n_cells, n_own)),
        rng.integers(0, n_hexagons - 1, n_cells),
    )
    matrix = dense(rows, n_hexagons)
    n_states = matrix.shape[1]
    coefficients, values = rng.normal(size=(n_states, 3)), rng.normal(size=(n_cells, 3))
    root = rng.normal(size=(n_states, n_states))
    assert rows.times(coefficients) == pytest.approx(matrix @ coefficients)
    assert rows.times(coefficients[:, 0]) == pytest.approx(matrix @ coefficients[:, 0])
    assert rows.transposed_times(values, n_hexagons) == pytest.approx(matrix.T @ values)
    assert rows.variances(root @ root.T) == pytest.approx(np.diag(matrix @ root @ root.T @ matrix.T))
    assert rows.diagonal_variances(root[0] ** 2) == pytest.approx(matrix**2 @ root[0] ** 2)


def way_and_neighbours(places: list[np.ndarray], here: np.ndarray, spacing: float) -> tuple[float, int]:
    """Return half the length of the net's edges at a place, and how many places are near; the net is grown by Prim."""
    length, n_near = 0.0, sum(0 < np.linalg.norm(place - here) < 1.3 * spacing for place in places)
    reached, left = [0], list(range(1, len(places)))
    while left:
        # of edges as long as each other the first counts, as it does in the net of a whole day
        _, _, _, a, b = min(
            (round(float(np.linalg.norm(places[a] - places[b])) / spacing, 4), abs(a - b), min(a, b), a, b)
            for a in reached
            for b in left
        )
        if any((place == here).all() for place in (places[a], places[b])):
            length += float(np.linalg.norm(places[a] - places[b])) / 2
        reached.append(b)
        left.remove(b)
    return length, int(n_near)


def occupancy_covariates(day: Day, cell: int) -> list[float]:
    """Return a cell's covariates by their definitions, one user after the other, with lengths in hexagons."""
    occupancy, place = day.occupancy, day.position[day.hexagon]
    pairs = [
        (int(c), int(u), int(m)) for c, u, m in zip(occupancy.cell, occupancy.user, occupancy.n_records, strict=True)
    ]

    def hour(user: int, slot: int) -> tuple[float, int, np.ndarray, float] | None:
        own = [(c, m) for c, u, m in pairs if u == user and day.slot[c] == slot]
        if not own:
            return None
        n = sum(m for _, m in own)
        centre = sum((m * place[c] for c, m in own), np.zeros(3)) / n
        square = sum(m * float(((place[c] - centre) ** 2).sum()) for c, m in own) / n
        return n, len(own), centre, math.sqrt(square)

    def of_pair(c: int, user: int, m: int) -> list[float]:
        here = hour(user, int(day.slot[c]))
        before, after = hour(user, int(day.slot[c]) - 1), hour(user, int(day.slot[c]) + 1)
        assert here is not None
        way = (after or here)[2] - (before or here)[2]
        moved = float(np.linalg.norm(way)) / max(1, (before is not None) + (after is not None))
        places = [place[other] for other, u, _ in pairs if u == user and day.slot[other] == day.slot[c]]
        length, n_near = way_and_neighbours(places, place[c], day.spacing)
        return [
            math.log(m), m / here[0], math.log(here[1]), math.log1p(here[3] / day.spacing),
            math.log1p(moved / day.spacing), math.log1p(length / day.spacing * here[0] / m), n_near / 6,
            math.log(here[0]),
        ]  # fmt: skip

    def mean(some: list[tuple[int, int, int]]) -> np.ndarray:
        return np.average([of_pair(*one) for one in some], axis=0, weights=[m for _, _, m in some])

    own = [one for one in pairs if one[0] == cell]
    near = [one for one in pairs if day.hexagon[one[0]] == day.hexagon[cell]]
    centre = np.average([place[c] for c, _, _ in pairs], axis=0, weights=[m for _, _, m in pairs])
    from_centre = math.log1p(float(np.linalg.norm(place[cell] - centre)) / day.spacing)
    sizes = [math.log(len(own)), math.log(sum(m for _, _, m in own)), from_centre]
    return [*mean(own), *sizes, *mean(near)[:7]]


@pytest.mark.theorem("HV-E1")
def test_covariates_are_those_of_the_definition_and_the_owners() -> None:
    day = replace(a_city(3, n_users=12, n_hexagons=6, n_slots=4), spacing=0.7)
    found = covariates(day, True)
    assert found.shape == (24, N_OF_OCCUPANCY + 2)
    assert (found[:, N_OF_OCCUPANCY:] == day.covariates).all()
    for cell in range(24):
        assert found[cell, :N_OF_OCCUPANCY] == pytest.approx(occupancy_covariates(day, cell))
    assert (covariates(day, False) == day.covariates).all()
    assert covariates(replace(day, covariates=np.zeros((0, 0))), False).shape == (24, 0)


@pytest.mark.theorem("HV-E1")
@pytest.mark.parametrize("n_slots", [1, 2, 6, 24])
@pytest.mark.parametrize("n_hexagons", [3, 10, 60])
def test_a_basis_has_orthonormal_courses_and_uncorrelated_covariates_and_covers_the_city(
    n_slots: int, n_hexagons: int
) -> None:
    day = a_city(n_slots=n_slots, n_hexagons=n_hexagons)
    known = covariates(day, True)
    known[:, 3] = 2 * known[:, 2] + 1  # says nothing new
    known[:, 4] = 7.0  # says nothing
    basis = fit_basis(day, known)
    courses = np.column_stack([basis.courses, basis.left_out])
    assert courses.T @ courses == pytest.approx(np.eye(n_slots), abs=1e-12)
    apart = np.subtract.outer(np.arange(n_slots), np.arange(n_slots)) * 24 / n_slots
    near = np.exp(-0.5 * (np.sin(np.pi * apart / 24) * 24 / np.pi / 3) ** 2)
    assert (courses * basis.course_values) @ courses.T == pytest.approx(near, abs=1e-9)
    white = (known - basis.covariate_mean) @ basis.whitening
    weights = day.occupancy.cell_records / day.occupancy.cell_records.sum()
    assert weights @ white == pytest.approx(0, abs=1e-9)
    assert (white * weights[:, None]).T @ white == pytest.approx(np.eye(white.shape[1]), abs=1e-9)
    usable = np.delete(known, [3, 4], axis=1)
    usable = usable[:, np.ptp(usable, axis=0) > 1e-9]
    usable = np.column_stack([usable, known[:, 3]]) - weights @ np.column_stack([usable, known[:, 3]])
    usable /= np.sqrt(weights @ usable**2)
    values = np.linalg.eigvalsh((usable * weights[:, None]).T @ usable)
    assert white.shape[1] == min(max(1, n_hexagons // 4), (values > 0.03).sum()), "one for four hexagons at most"
    explained = (((white * weights[:, None]).T @ usable) ** 2).sum(axis=1)
    assert explained == pytest.approx(values[values.size - white.shape[1] :]), "those that explain most"
    distance = np.linalg.norm(day.position[:, None] - basis.knots[None], axis=2)
    assert distance.min(axis=1).max() <= basis.reach == 2.5 * day.spacing
    near = np.exp(-0.5 * ((basis.knots[:, None] - basis.knots[None]) ** 2).sum(axis=2) / basis.reach**2)
    own = basis.knot_root.T @ (near + 1e-4 * np.eye(len(near))) @ basis.knot_root
    assert own == pytest.approx(np.eye(len(near)), abs=1e-6)
    assert {tuple(knot) for knot in basis.knots} <= {tuple(place) for place in day.position}


@pytest.mark.theorem("HV-E1")
def test_rows_are_the_functions_of_the_cells_in_the_order_of_their_variances() -> None:
    """Every function is named by its part; a kind of day has only its own."""
    day = a_city(kind=2)
    known = covariates(day, True)
    basis = fit_basis(day, known)
    rows = basis.rows(day, known, np.arange(10)[::-1])  # pyright: ignore[reportArgumentType]
    assert (rows.hexagon == 9 - day.hexagon).all()
    assert rows.common.shape == (60, basis.n_common)
    assert rows.own.shape == (60, basis.n_own)
    part, first = {}, 0
    for name, size in basis.sizes.items():
        part[name], first = rows.common[:, first : first + size], first + size
    assert (part["city"] == 1).all()
    assert (part["kind"] == [0, 0, 1]).all()
    assert (part["kind_slot"][:, : 2 * basis.slots.shape[1]] == 0).all()
    assert (part["kind_slot"][:, 2 * basis.slots.shape[1] :] == part["slot"]).all()
    assert part["slot"] == pytest.approx(basis.slots[day.slot])
    square = ((day.position[:, None] - basis.knots[None]) ** 2).sum(axis=2)
    surface = np.exp(-0.5 * square / basis.reach**2) @ basis.knot_root
    assert part["smooth"] == pytest.approx(surface[day.hexagon])
    for knot in range(len(basis.knots)):
        for course in range(basis.n_own - 1):
            column = part["smooth_slot"][:, knot * (basis.n_own - 1) + course]
            assert column == pytest.approx(surface[day.hexagon, knot] * basis.courses[day.slot, course])
    lasting = basis.variances(LASTING, 3)
    assert lasting.size == basis.n_common + 3 * basis.n_own
    assert lasting[0] == LASTING["city"]
    n_courses = basis.n_own - 1
    own = np.append(LASTING["hexagon"], LASTING["hexagon_slot"] * basis.course_values[:n_courses] + LASTING["cell"])
    taken = LASTING["covariate"] * basis.whitening.shape[1]
    assert basis.own_factor * (LASTING["hexagon"] + LASTING["hexagon_slot"] + LASTING["cell"]) + taken == pytest.approx(
        0.37
    )
    assert lasting[basis.n_common :] == pytest.approx(basis.own_factor * np.tile(own, 3))
    smooth = lasting[basis.n_common - len(basis.knots) * n_courses : basis.n_common].reshape(-1, n_courses)
    assert smooth == pytest.approx(np.tile(LASTING["smooth_slot"] * basis.course_values[:n_courses], (len(smooth), 1)))


@pytest.mark.theorem("HV-E1")
def test_what_a_shortened_course_leaves_out_is_the_cells_own() -> None:
    """A hexagon's whole variance in a slot is the same, however many functions its course has."""
    day = a_city(n_slots=24)
    basis = fit_basis(day, covariates(day, True))
    assert basis.n_own == 25
    k = 5
    short = replace(basis, courses=basis.courses[:, :k], left_out=basis.courses[:, k:])
    both = [LASTING[name] + OF_THE_DAY[name] for name in ("hexagon_slot", "cell")]
    whole = basis.courses**2 @ (both[0] * basis.course_values + both[1])
    kept = short.courses**2 @ (both[0] * basis.course_values[:k] + both[1])
    assert basis.cell_variance(day) == pytest.approx(0)
    assert short.cell_variance(day) == pytest.approx(basis.own_factor * (whole - kept)[day.slot])


@pytest.mark.theorem("HV-E1")
def test_no_way_is_made_of_more_places_than_a_vehicle_can_be_at(monkeypatch: pytest.MonkeyPatch) -> None:
    day = a_city(3, n_users=12, n_hexagons=6, n_slots=4)
    pace = covariates(day, True)[:, 5]
    monkeypatch.setattr("dpmath.estimate.covariates._MOST_PLACES", 1)
    assert pace.max() > 0
    assert not covariates(day, True)[:, 5].any()


@pytest.mark.theorem("HV-E1")
def test_hexagons_take_what_covariates_leave_and_never_less_than_their_own() -> None:
    basis = fit_basis(a_city(), np.zeros((60, 0)))
    assert basis.own_factor == pytest.approx(0.37 / 0.06)
    many = replace(basis, whitening=np.zeros((40, 40)))
    assert many.own_factor == 1


@pytest.mark.theorem("HV-E5")
def test_residual_variances_fall_with_records_and_are_those_of_the_definition() -> None:
    records = np.array([1, 2, 10, 10**6])
    assert residual_shares(records) == pytest.approx([0.12 + 2 / m**0.8 for m in records])
    day = a_city()
    state = a_state(day)
    residual = np.linspace(-1, 1, 12)
    view = View.of(day, replace(state, residual=residual), covariates(day, True))
    occupancy, expected = day.occupancy, view.expected
    mean = np.average(expected, weights=occupancy.cell_records)
    order = sorted(range(60), key=lambda cell: expected[cell])
    below = {cell: occupancy.cell_records[order[: place + 1]].sum() for place, cell in enumerate(order)}
    found = set()
    for pair, (cell, m) in enumerate(zip(occupancy.cell, occupancy.n_records, strict=True)):
        level = min(2, int(3 * below[cell] / occupancy.cell_records.sum()))
        share = m / occupancy.cell_records[cell]
        one = 4 * level + (2 if share > 0.2 else 0) + (1 if m > 3 else 0)
        found.add(one)
        assert view.residual_class[pair] == one
        by_size = (0.12 + 2 / m**0.8) * min(max(expected[cell] / mean, 0.4), 2.5) * 81
        most = max(25.0, expected[cell] * (100 - expected[cell]))
        factor = math.exp(residual[one] + class_covariance()[one, one] / 2)
        assert view.residual_variance[pair] == pytest.approx(factor / (1 / by_size + 1 / most))
    assert found == set(range(12))
    assert np.bincount(occupancy.cell, view.share_of_cell) == pytest.approx(1)


@pytest.mark.theorem("HV-E5")
def test_classes_vary_together_and_those_of_a_level_or_size_more() -> None:
    covariance = class_covariance()
    for one in range(12):
        for other in range(12):
            level, size = one // 4 == other // 4, one % 4 == other % 4
            assert covariance[one, other] == pytest.approx(0.25 + 0.06 * level + 0.06 * size + 0.03 * (level and size))
    assert np.linalg.eigvalsh(covariance).min() > 0.01


class Textbook:
    """All that is random on a day, in one vector: coefficients, what differs on the day, cells' own, residuals."""

    def __init__(self, view: View) -> None:
        state, occupancy = view.state, view.day.occupancy
        n_states, n_cells, n_pairs = state.mean.size, occupancy.n_cells, occupancy.cell.size
        matrix = dense(view.rows, state.n_hexagons)
        of_cell = np.eye(n_cells)[occupancy.cell]  # (P, G)
        self.n_states = n_states
        self.of_pairs = np.column_stack([of_cell @ matrix, of_cell @ matrix, of_cell, np.eye(n_pairs)])
        self.of_means = of_cell.T @ (occupancy.n_records[:, None] * self.of_pairs) / occupancy.cell_records[:, None]
        alone = np.concatenate([state.of_the_day, view.cell_variance, view.residual_variance])
        self.covariance = np.diag(np.concatenate([np.zeros(n_states), alone]))
        self.covariance[:n_states, :n_states] = state.covariance
        self.pairs = self.of_pairs @ self.covariance @ self.of_pairs.T

    def sums(self, view: View, one: Design, shrink: float) -> np.ndarray:
        """Return how the sums depend on the vector."""
        loading = one.loading[view.day.occupancy.cell]
        return shrink * (one.weight[:, None] * loading).T @ self.of_pairs


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("shrink", [1.0, 0.7])
@pytest.mark.parametrize("n_slots", [6, 24])
def test_the_estimate_is_that_of_textbook_conditioning(shrink: float, n_slots: int) -> None:
    """Mean, variance, and the coefficients' next mean and covariance; where a course is short, cells have parts."""
    rng = np.random.default_rng(7)
    day = a_city(n_users=15, n_hexagons=5, n_slots=n_slots)
    state = a_state(day)
    if n_slots > 6:
        short = replace(state.basis, courses=state.basis.courses[:, :4], left_out=state.basis.courses[:, 4:])
        state = first_state(day, short, 50.0, 4.0, 9.0, 0.3)
        state = replace(state, mean=rng.normal(size=state.mean.size) * 0.1)
    view = View.of(day, state, covariates(day, True))
    assert 5 < view.expected.min() < view.expected.max() < 95
    assert (view.cell_variance.min() > 0.01) == (n_slots > 6)
    n_queries, noise, n_pairs = 12, 0.4, day.occupancy.cell.size
    one = Design(rng.normal(size=(day.occupancy.n_cells, n_queries)), rng.uniform(0, 0.02, n_pairs))
    sums = rng.normal(size=n_queries) * 5

    model = Textbook(view)
    seen = model.sums(view, one, shrink)
    of_sums = seen @ model.covariance @ seen.T + noise**2 * np.eye(n_queries)
    gain = np.linalg.solve(of_sums, seen @ model.covariance).T
    moved, left = gain @ sums, model.covariance - gain @ seen @ model.covariance
    found = estimated(view, one, sums, noise, shrink, NOTHING)
    assert found.mean == pytest.approx(np.clip(view.expected + model.of_means @ moved, 0, 100))
    assert np.abs(found.mean - view.expected).max() > 1
    n_states = model.n_states
    assert found.state.mean == pytest.approx(state.mean + moved[:n_states], abs=1e-9)
    assert found.state.covariance == pytest.approx(left[:n_states, :n_states], abs=1e-9)
    assert found.state.prior_factors == (1.0, 1.0)
    before = np.diag(model.of_means @ model.covariance @ model.of_means.T)
    residual = np.bincount(day.occupancy.cell, view.share_of_cell**2 * view.residual_variance)
    assert found.residual_part == pytest.approx(residual)
    variance = np.diag(model.of_means @ left @ model.of_means.T)
    misfit = max(1.0, float(sums @ np.linalg.solve(of_sums, sums)) / n_queries)
    cut_off = (0.5 * (1 / shrink - 1) * (model.of_means @ moved)) ** 2
    wider = np.clip(view.expected / np.average(view.expected, weights=day.occupancy.cell_records), 1, 2.5)
    expected = residual + np.maximum(variance - residual, 1e-12) * misfit * wider + cut_off
    assert found.variance == pytest.approx(expected)
    assert found.variance_before == pytest.approx(residual + (before - residual) * misfit * wider)
    silent = expected_error(view, one, noise, shrink)
    expected = residual + np.maximum(variance - residual, 0) * wider
    assert silent == pytest.approx(np.average(expected, weights=day.occupancy.cell_records), rel=1e-9)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize(("chosen", "factor"), [("day", 16.0), ("residual", 2.0), ("city", 8.0), ("own", 16.0)])
def test_sums_from_a_more_varied_day_raise_the_factor_of_what_varies(chosen: str, factor: float) -> None:
    """Sums drawn from the model with one part's variance multiplied: its factor is found to within a step or two."""
    rng = np.random.default_rng(11)
    view = a_view(a_city())
    state, n_states = view.state, view.state.mean.size
    one = design(view, "l2", 0.001, 0.8, np.ones(60))
    model = Textbook(view)
    varied = model.covariance.copy()
    common = np.arange(n_states) < state.basis.n_common
    if chosen == "day":
        varied[range(n_states, 2 * n_states), range(n_states, 2 * n_states)] *= factor
    elif chosen == "residual":
        varied[-view.residual_variance.size :, -view.residual_variance.size :] *= factor
    else:
        more = state.lasting * (common if chosen == "city" else ~common) * (factor - 1)
        varied[range(n_states), range(n_states)] += more
    seen = model.sums(view, one, 1.0)
    of_sums = seen @ varied @ seen.T + 1e-6 * np.eye(len(seen))
    found, plain = [], []
    for _ in range(20):
        drawn = rng.normal(size=len(seen))
        sums = np.linalg.cholesky(of_sums) @ drawn
        after = estimated(view, one, sums, 0.001, 1.0, (chosen,))
        widened = after.variance_before.mean() / view.state_variance.mean()
        found.append({"residual": after.residual_factor, "day": widened}.get(chosen, max(after.state.prior_factors)))
        sums = np.linalg.cholesky(seen @ model.covariance @ seen.T + 1e-6 * np.eye(len(seen))) @ drawn
        after = estimated(view, one, sums, 0.001, 1.0, (chosen,))
        widened = after.variance_before.mean() / view.state_variance.mean()
        plain.append({"residual": after.residual_factor, "day": widened}.get(chosen, max(after.state.prior_factors)))
    assert np.median(found) > 1.2 * np.median(plain)
    if chosen != "day":
        assert factor / 4 <= np.median(found) <= factor
        assert np.median(plain) == 1


@pytest.mark.theorem("HV-E3")
def test_a_first_day_is_unsure_of_places_where_its_sums_tell_nothing() -> None:
    """What is not of pairs is widened by the ladder's geometric mean under its prior, and not if places are told of."""
    view = a_view(a_city())
    one = design(view, "l2", 1.0, 0.8, np.ones(60))
    ladder = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    weight = np.exp(-0.5 * np.log(ladder) ** 2)
    expected = np.exp(weight @ np.log(ladder) / weight.sum())
    silent = np.zeros(one.loading.shape[1])
    sure, unsure = (estimated(view, one, silent, 1e6, 1.0, chosen) for chosen in (NOTHING, ("own",)))
    widened = (unsure.variance - unsure.residual_part) / (sure.variance - sure.residual_part)
    assert widened == pytest.approx(expected, rel=1e-6)
    assert unsure.mean == pytest.approx(sure.mean)
    told = np.linalg.cholesky(seen_covariance(view, one)) @ np.random.default_rng(3).normal(size=silent.size)
    sure, unsure = (estimated(view, one, told, 1e-3, 1.0, chosen) for chosen in (NOTHING, ("own",)))
    assert (unsure.variance / sure.variance).max() < 1.2 < expected


def seen_covariance(view: View, one: Design) -> np.ndarray:
    """Return the covariance of a design's sums by the model, without noise but for a trifle."""
    model = Textbook(view)
    seen = model.sums(view, one, 1.0)
    return np.asarray(seen @ model.covariance @ seen.T + 1e-6 * np.eye(len(seen)))


def a_short_view(day: Day) -> View:
    """Return a view in which courses have few functions, so that cells have much that is their own."""
    state = a_state(day)
    short = replace(state.basis, courses=state.basis.courses[:, :3], left_out=state.basis.courses[:, 3:])
    return View.of(day, first_state(day, short, 50.0, 4.0, 9.0, 0.3), covariates(day, True))


def expected_error(view: View, one: Design, noise: float, shrink: float) -> float:
    """Return the expected squared error of the map by a design, a mean over records, in squared points."""
    found = estimated(view, one, np.zeros(one.loading.shape[1]), noise, shrink, NOTHING)
    return float(np.average(found.variance, weights=view.day.occupancy.cell_records))


def eigen(view: View) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return variance, gain and values of the independent directions by a dense eigendecomposition."""
    occupancy, matrix = view.day.occupancy, dense(view.rows, view.state.n_hexagons)
    cells = matrix @ (view.state.covariance + np.diag(view.state.of_the_day)) @ matrix.T + np.diag(view.cell_variance)
    root = np.sqrt(np.bincount(occupancy.cell, 1 / view.residual_variance))
    variance, vectors = np.linalg.eigh(cells * np.outer(root, root))
    variance, vectors = variance[::-1], vectors[:, ::-1]
    told = cells @ (root[:, None] * vectors) / np.sqrt(variance)
    return variance, occupancy.cell_records @ told**2, vectors / root[:, None]


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("make", [a_view, a_short_view])
@pytest.mark.parametrize("n_slots", [6, 32])
def test_directions_are_those_of_a_dense_eigendecomposition(make: Callable[[Day], View], n_slots: int) -> None:
    """The most uncertain ones also where there are more cells than directions."""
    view = make(a_city(n_slots=n_slots))
    found, (variance, gain, values) = directions(view), eigen(view)
    assert found.variance.size == min(NUMBERS_OF_DIRECTIONS[-1], 10 * n_slots)
    assert found.variance[:30] == pytest.approx(variance[:30], rel=1e-4)
    assert found.gain[:30] == pytest.approx(gain[:30], rel=1e-2)
    off = np.abs(found.values[:, :10]) - np.abs(values[:, :10])
    assert np.abs(off).max() < 1e-2 * np.abs(values[:, :10]).max()


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("make", [a_view, a_short_view])
@pytest.mark.parametrize("noise", [0.3, 3.0, 30.0])
def test_no_direction_is_worth_more_than_another_for_what_it_costs(make: Callable[[Day], View], noise: float) -> None:
    """The conditions of Karush, Kuhn and Tucker, with the directions of the dense eigendecomposition."""
    view, length = make(a_city()), 0.9
    variance, gain, _ = eigen(view)
    loading = design(view, "l2", noise, length, np.ones(60)).loading
    shares = loading.T * np.bincount(view.day.occupancy.cell, 1 / view.residual_variance) @ loading
    share = np.zeros(60)
    share[: len(shares)] = np.diag(shares)
    assert np.abs(shares - np.diag(np.diag(shares))).max() < 1e-6 * shares.max()
    cost, unit = 1 + variance / 60, (noise / shrinkage.TARGET / length) ** 2 / 60
    assert cost @ share == pytest.approx(1, rel=1e-4)
    worth = gain * variance / unit / cost / (1 + variance * share / unit) ** 2
    used = share > 0
    price = worth[used].mean()
    assert worth[used] == pytest.approx(price, rel=2e-2)
    assert (worth[~used] < price * 1.02).all()


def lengths_by_model(view: View, one: Design) -> np.ndarray:
    """Return the root mean square length of each user's vector before it is scaled down, in radii."""
    pairs, loading = Textbook(view).pairs, one.loading[view.day.occupancy.cell]
    moments = pairs * (loading @ loading.T) * np.outer(one.weight, one.weight)
    of_users = users_of_pairs(view.day)
    return np.sqrt(np.einsum("lp,pq,lq->l", of_users, moments, of_users))


def mean_lengths_l1(view: View, one: Design) -> np.ndarray:
    """Return the mean l1 length of each user's vector, whose components are normal, in radii."""
    root = np.linalg.cholesky(Textbook(view).pairs)
    found = []
    for own in users_of_pairs(view.day):
        seen = (one.loading[view.day.occupancy.cell] * (own * one.weight)[:, None]).T @ root
        found.append(math.sqrt(2 / math.pi) * np.sqrt((seen**2).sum(axis=1)).sum())
    return np.array(found)


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("make", [a_view, a_short_view])
@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_users_vectors_have_the_expected_length_in_the_model(make: Callable[[Day], View], noise: float) -> None:
    view, length = make(a_city()), 0.9
    reach = np.where(np.arange(60) % 3, 1.0, 0.25)
    ratio = lengths_by_model(view, design(view, "l2", noise, length, reach)) / (length * reach)
    assert ratio.mean() == pytest.approx(1, abs=0.1)
    assert ratio.min() > 0.6
    assert ratio.max() < 1.5
    ratio = mean_lengths_l1(view, design(view, "l1", noise, length, reach)) / (length * reach)
    assert ratio.mean() == pytest.approx(1, abs=0.1)


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("noise", [3.0, 30.0])
@pytest.mark.parametrize("norm", NORMS)
def test_a_design_is_better_than_random_directions_and_than_the_cells_themselves(norm: Norm, noise: float) -> None:
    rng = np.random.default_rng(5)
    view, length = a_view(a_city()), 0.9
    ours = expected_error(view, design(view, norm, noise, length, np.ones(60)), noise, shrinkage.TARGET)
    before = estimated(view, Design(np.zeros((60, 1)), np.ones(view.day.occupancy.cell.size)), np.zeros(1), 1, 1, ())
    assert ours < np.average(before.variance, weights=view.day.occupancy.cell_records)
    lengths = lengths_by_model if norm == "l2" else mean_lengths_l1
    others = [rng.normal(size=(60, n)) for n in (1, 3, 10, 40) for _ in range(3)]
    others += [view.rows.common, np.eye(60)]
    for loading in others:
        one = Design(loading, 1 / view.residual_variance)
        scaled = replace(one, weight=one.weight * (length / lengths(view, one))[view.day.occupancy.user])
        assert expected_error(view, scaled, noise, shrinkage.TARGET) > ours
    flat = Design(np.ones((60, 1)), 1 / view.residual_variance)  # the best of all where there is much noise
    scaled = replace(flat, weight=flat.weight * (length / lengths(view, flat))[view.day.occupancy.user])
    assert expected_error(view, scaled, noise, shrinkage.TARGET) > ours * (1 if noise < 10 else 0.999)


@pytest.mark.theorem("HV-E2")
def test_rotated_directions_cost_and_tell_the_same_in_l2() -> None:
    view = a_view(a_city())
    one = design(view, "l2", 1.0, 0.9, np.ones(60))
    n_queries = one.loading.shape[1]
    assert n_queries > 3
    other = replace(one, loading=one.loading @ ortho_group.rvs(n_queries, random_state=3))
    assert lengths_by_model(view, other) == pytest.approx(lengths_by_model(view, one))
    assert expected_error(view, other, 1.0, 0.8) == pytest.approx(expected_error(view, one, 1.0, 0.8))


@pytest.mark.theorem("HV-E2")
@pytest.mark.parametrize("unit", [1e-4, 0.05, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_shares_of_a_ball_are_those_of_a_general_solver(unit: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gain, variance, cost = np.exp(rng.normal(size=(3, 6)) * [[1.5], [1.0], [0.3]])

    def left(share: np.ndarray) -> float:
        return float((gain / (1 + variance * share / unit)).sum())

    share = _shared_l2(gain, variance, unit, cost)
    assert share.min() >= 0
    assert cost @ share == pytest.approx(1)
    fair = {"type": "eq", "fun": lambda share: cost @ share - 1}
    starts = [np.full(6, 1 / cost.sum()), *(0.9 * row + 0.1 / cost.sum() for row in np.diag(1 / cost))]
    found = [minimize(left, start, bounds=[(0, None)] * 6, constraints=fair, tol=1e-12).fun for start in starts]
    assert left(share) <= min(found) * (1 + 1e-6)
    assert left(share) == pytest.approx(min(found), rel=1e-3)

    weight = _shared_l1(gain, variance, unit, cost)
    assert weight.min() >= 0
    assert np.sqrt(cost) @ weight == pytest.approx(1)
    equal = np.full(6, 1 / np.sqrt(cost).sum())
    alone = np.diag(1 / np.sqrt(cost))
    assert left(weight**2) <= min(left(equal**2), *(left(row**2) for row in alone)) * 1.05


@pytest.mark.theorem("HV-L52")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("noise", [0.01, 10.0])
@pytest.mark.parametrize("value_range", [100, 1 << 20])
def test_whole_numbers_stand_for_the_design_to_a_small_relative_error(
    norm: Norm, noise: float, value_range: int
) -> None:
    view = a_view(a_city())
    occupancy, reach = view.day.occupancy, np.where(np.arange(60) % 3, 1.0, 0.25)
    meant = design(view, norm, noise, 0.9, reach)
    numbers = whole_numbers(meant, view, value_range, np.full(60, LARGEST_RADIUS), 1, norm)
    found = as_measured(numbers)
    assert np.abs(found.loading / found.loading.max() - meant.loading / meant.loading.max()).max() < 1e-5
    exact, stood = (one.weight[:, None] * one.loading[occupancy.cell] for one in (meant, found))
    assert np.abs(stood - exact).max() < 1e-5 * np.abs(exact).max()
    assert np.abs(numbers.centre / value_range * 100 - view.expected).max() <= 50 / value_range + 1e-9

    totals = np.rint(np.random.default_rng(3).random(occupancy.cell.size) * occupancy.n_records * value_range)
    off = totals / occupancy.n_records * 100 / value_range - (numbers.centre * 100 / value_range)[occupancy.cell]
    vectors = users_of_pairs(view.day) @ (off[:, None] * exact)
    answers = numbers.answers(totals.astype(np.int64))
    assert (answers.shrink == 1 << 20).all()
    assert np.abs(answers.vector / RADIUS - vectors).max() < 2 / RADIUS + 2e-5 * np.abs(vectors).max()


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("log_ratio", [-2.0, 0.0, 0.7])
@pytest.mark.parametrize("length", [0.1, 0.9, 5.0])
def test_the_mean_shrink_factor_is_that_of_log_normal_lengths(log_ratio: float, length: float) -> None:
    def weighted(step: float) -> float:
        return min(1.0, math.exp(-0.6 * step - log_ratio) / length) * math.exp(-step * step / 2)

    corner = (-log_ratio - math.log(length)) / 0.6
    inside = [corner] if -9 < corner < 9 else None
    exact = quad(weighted, -9, 9, points=inside)[0] / math.sqrt(2 * math.pi)
    assert float(shrinkage.mean_shrink(log_ratio, length)) == pytest.approx(exact, abs=0.01)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("known", [(0.0, 0.01), (0.5, 0.3), (-1.0, 1.0)])
def test_the_expected_length_has_the_target_for_its_mean_shrink_factor(known: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    length = shrinkage.expected_length(known)
    ratios = known[0] + math.sqrt(known[1]) * rng.normal(size=200_000)
    lengths = length * np.exp(ratios + 0.6 * rng.normal(size=ratios.size))
    assert np.minimum(1, 1 / lengths).mean() == pytest.approx(shrinkage.TARGET, abs=0.015)


@pytest.mark.theorem("HV-E6")
@pytest.mark.parametrize("truth", [-0.6, 0.0, 0.9, 1.2])
def test_what_was_measured_moves_the_log_ratio_to_the_truth(truth: float) -> None:
    known, length = (0.3, 0.25), 0.9
    measured = float(shrinkage.mean_shrink(truth, length))
    off, before = abs(known[0] - truth), known[1]
    for variance in (1.0, 0.03, 0.003, 0.0003):
        mean, left = shrinkage.updated(known, measured, variance, length)
        assert abs(mean - truth) < off
        assert left < before
        off, before = abs(mean - truth), left
    assert off < 0.12
    assert shrinkage.updated(known, measured, 1e9, length) == pytest.approx(known, abs=1e-3)
    mean, least = shrinkage.updated(known, measured, 1e-12, length)
    assert least == pytest.approx(0.025**2 / 12), "no step of the grid is known better than that"
    assert shrinkage.updated((mean, least), measured, 1e-12, length) == pytest.approx((mean, least))


Bytes = Callable[[int], bytes]


def asked_of(
    day: Day, norm: Norm, limit: int, first: bool, budgets: np.ndarray | None = None, value_range: int = VALUE_RANGE
) -> Asked:
    radius = reach_of(budgets, limit, day.occupancy.n_users, norm)
    return Asked(day, value_range, radius, {one.name: one for one in charges(first, limit, norm)}, norm)


def run(asking: Asking, day: Day, totals: np.ndarray, random_bytes: Bytes = os.urandom) -> tuple[Estimate, Answered]:
    """Answer a day's questions; return its estimate, and each question with its answers."""
    private, recorded = complete(day, totals), []
    question = next(asking)
    while True:
        recorded.append((question, question.noisy(private, random_bytes)))
        try:
            question = asking.send(recorded[-1])
        except StopIteration as end:
            return end.value, recorded


def same(one: object, other: object) -> bool:
    """Return whether two objects of this room hold the very same numbers."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if hasattr(one, "__dataclass_fields__"):
        names = [field.name for field in fields(one)]  # pyright: ignore[reportArgumentType]
        return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)
    return one == other


def error(estimate: Estimate, day: Day, totals: np.ndarray) -> float:
    off = estimate.mean - true_means(day, totals)
    return math.sqrt(np.average(off**2, weights=day.occupancy.cell_records))


@pytest.mark.theorem("HV-E4")
@pytest.mark.statistical
@pytest.mark.parametrize("norm", NORMS)
def test_with_much_budget_little_error_is_left_and_each_day_adds_what_it_knows(norm: Norm) -> None:
    """Noise is far below what is left of the error, so it fails by chance less than once in 1e9 runs."""
    day = a_city()
    totals = values_of(day)
    first, recorded = run(programme(None, asked_of(day, norm, MUCH[norm], True)), day, totals)
    assert len(recorded) == 7
    assert error(first, day, totals) < 1
    assert true_means(day, totals).std() > 10
    assert np.isfinite(first.variance).all()
    assert first.state.n_days == 1
    assert first.state.mean.size == first.state.basis.n_common + 10 * first.state.basis.n_own
    later = a_city(kind=1)  # the same people on another day
    expected = View.of(later, first.state.later(1), covariates(later, True)).expected
    totals = values_of(later, 6)
    assert math.sqrt(np.mean((expected - true_means(later, totals)) ** 2)) < 4, "the first day tells of the second"
    second, recorded = run(programme(first.state, asked_of(later, norm, MUCH[norm], False)), later, totals)
    assert len(recorded) == 3
    assert second.state.n_days == 2
    assert error(second, later, totals) < 1


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_stated_variances_are_about_the_squared_errors(norm: Norm) -> None:
    """Three days of eight cities with noise that matters. With other noise the ratio is from 0.6 to 1.3."""
    squares, stated, random_bytes = [], [], np.random.default_rng(12).bytes
    for seed in range(8):
        state = None
        for number in range(3):
            day = a_city(100 * seed + number)
            totals = values_of(day, 1000 + 100 * seed + number)
            found, _ = run(
                programme(state, asked_of(day, norm, 10 * UNIT[norm], state is None)), day, totals, random_bytes
            )
            state = found.state
            squares.append(error(found, day, totals) ** 2)
            stated.append(np.average(found.variance, weights=day.occupancy.cell_records))
            assert np.linalg.eigvalsh(state.covariance).min() > -1e-9
    assert 0.4 < np.mean(squares) / np.mean(stated) < 1.6


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("first", [True, False])
def test_recorded_answers_give_the_very_same_questions_and_estimate_without_any_values(norm: Norm, first: bool) -> None:
    day, limit = a_city(), 3 * UNIT[norm]
    state = None if first else a_state(a_city(first_name=103))
    asked = asked_of(day, norm, limit, first)
    found, recorded = run(programme(state, asked), day, values_of(day))
    assert same(answered(programme(state, asked), recorded), found)

    asking = programme(state, asked)
    question = next(asking)
    for step in recorded[:-1]:
        assert same(question, step[0])
        question = asking.send(step)
    assert same(question, recorded[-1][0])

    for wrong in (recorded[:-1], [*recorded, recorded[-1]], []):
        with pytest.raises(ValueError, match="not those of the day's questions"):
            answered(programme(state, asked), wrong)
    for place, of in ((-1, "check"), (-3, "measurement")):
        wrong = list(recorded)
        wrong[place] = (recorded[-2][0], recorded[place][1])
        with pytest.raises(ValueError, match=f"not those of a {of}"):
            answered(programme(state, asked), wrong)


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_asking_asks_each_question_once_and_returns_what_answering_again_returns(norm: Norm) -> None:
    """With the same random bytes, asking by hand is the very same."""
    day = a_city()
    asked, totals = asked_of(day, norm, UNIT[norm], True), values_of(day)
    found, recorded = ask(programme(None, asked), complete(day, totals), np.random.default_rng(5).bytes)
    assert same(answered(programme(None, asked), recorded), found)
    by_hand = run(programme(None, asked), day, totals, np.random.default_rng(5).bytes)
    assert same(by_hand[0], found)
    assert len(by_hand[1]) == len(recorded)
    for (one, answers), (other, others) in zip(by_hand[1], recorded, strict=True):
        assert same(one, other)
        assert same(answers, others)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("norm", NORMS)
def test_the_expected_deviation_is_that_of_textbook_conditioning_on_the_design(norm: Norm) -> None:
    day, n_days = a_city(), 3
    state = a_state(a_city(first_name=97))
    asked = replace(asked_of(day, norm, UNIT[norm], False), n_days=n_days)
    view = View.of(day, state.later(n_days).with_hexagons(day), covariates(day, True))
    length, noise = shrinkage.expected_length(view.state.shrink), asked.noise("map") / RADIUS
    one, model = design(view, norm, noise, length, np.ones(60)), Textbook(view)
    seen = model.sums(view, one, float(shrinkage.mean_shrink(view.state.shrink[0], length)))
    of_sums = seen @ model.covariance @ seen.T + noise**2 * np.eye(len(seen))
    gain = np.linalg.solve(of_sums, seen @ model.covariance).T
    left = model.of_means @ (model.covariance - gain @ seen @ model.covariance) @ model.of_means.T
    residual = np.bincount(day.occupancy.cell, view.share_of_cell**2 * view.residual_variance)
    wider = np.clip(view.expected / np.average(view.expected, weights=day.occupancy.cell_records), 1, 2.5)
    expected = np.sqrt(residual + np.maximum(np.diag(left) - residual, 0) * wider)
    before = residual + (np.diag(model.of_means @ model.covariance @ model.of_means.T) - residual) * wider
    deviation, day_share = expected_deviation(state, asked)
    assert deviation == pytest.approx(expected, rel=1e-6)
    assert day_share == pytest.approx(1 - expected**2 / before, abs=1e-6)
    assert 0 < day_share.max() <= 1


@pytest.mark.theorem("HV-E3")
def test_a_typical_day_is_what_lasts_on_a_kind_of_day() -> None:
    day = a_city(kind=0)
    state = a_state(day)
    state = replace(state, mean=state.mean * 20)
    known, found = covariates(day, True), []
    for kind in range(len(KINDS)):
        matrix = dense(state.basis.rows(replace(day, kind=kind), known, state.numbers_of(day)), 10)
        mean, variance = typical(day, state, covariates(day, True), kind)
        assert mean == pytest.approx(np.clip(50 + matrix @ state.mean, 0, 100))
        assert variance == pytest.approx(np.diag(matrix @ state.covariance @ matrix.T))
        found.append(mean)
    assert np.abs(found[0] - found[1]).max() > 0.1


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_values_reach_questions_only_through_noisy_answers(norm: Norm) -> None:
    """Two days of the same users with other values: the first question is the same, later ones if the answers are."""
    day = a_city()
    asked = asked_of(day, norm, UNIT[norm], True)
    one, other = (
        run(programme(None, asked), day, values_of(day, seed, shift=shift)) for seed, shift in ((1, 0), (9, 30))
    )
    assert same(one[1][0][0], other[1][0][0])
    assert isinstance(one[1][0][0], Centre)
    assert same(one[1][1][0], other[1][1][0]), "nor does the second depend on the first answer"
    assert not same(one[1][2][0], other[1][2][0])
    mixed = programme(None, asked)
    next(mixed)
    for step, (question, _) in zip(one[1], one[1][1:], strict=False):
        assert same(mixed.send(step), question)


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("first", [True, False])
def test_a_days_questions_cost_no_user_more_than_the_budget(norm: Norm, first: bool) -> None:
    """The questions as they are asked, so with their real limits, radii and noise."""
    day, limit = a_city(), 2 * UNIT[norm] + 12345
    currency: Currency = PURE if norm == "l1" else Concentrated(Decimal("1e-6"))
    budgets = np.array([limit // 50 * user for user in range(60)], dtype=object)
    state = None if first else a_state(day)
    _, recorded = run(programme(state, asked_of(day, norm, limit, first, budgets)), day, values_of(day))
    paid = sum((question.losses(currency) for question, _ in recorded), np.zeros(60, dtype=object))
    assert all(0 <= loss <= min(budget, limit) for loss, budget in zip(paid, budgets, strict=True))
    assert paid.max() > 0.99 * limit
    assert paid[25] > 0.3 * limit, "who is short of budget is still measured"
    for question, _ in recorded:
        short = question.losses(currency)[budgets < limit]
        assert short.any() == isinstance(question, Measured)


@pytest.mark.theorem("HV-E5")
@pytest.mark.parametrize("norm", NORMS)
def test_the_check_learns_how_much_pairs_differ(norm: Norm) -> None:
    found = {}
    for residual in (1.0, 40.0):
        day, state = a_city(), None
        for number in range(3):
            day = a_city(number)
            asked = asked_of(day, norm, MUCH[norm], state is None)
            estimate, recorded = run(programme(state, asked), day, values_of(day, number, residual))
            state = estimate.state
            assert isinstance(recorded[-1][0], Check)
        assert state is not None
        view = View.of(day, state, covariates(day, True))
        found[residual] = float((view.residual_variance * day.occupancy.n_records).mean())
    assert found[40.0] > 5 * found[1.0]


@pytest.mark.theorem("HV-E5")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("one", [0, 4, 8])
def test_more_pairs_far_from_their_cells_raise_the_variance_of_their_class_most(norm: Norm, one: int) -> None:
    """The same recorded day, but for how many of one class were far."""
    day = a_city()
    state = a_state(day)
    asked = asked_of(day, norm, MUCH[norm], False)
    _, recorded = run(programme(state, asked), day, values_of(day))
    found = []
    for more in (-4, 0, 4):
        check, answers = recorded[-1]
        other = [answer + (more << 20) * (number == one) for number, answer in enumerate(answers)]
        last = (check, np.array(other, dtype=object))
        found.append(answered(programme(state, asked), [*recorded[:-1], last]))
    for fewer, same_or_more in itertools.pairwise(found):
        rise = same_or_more.state.residual - fewer.state.residual
        assert rise[one] == rise.max() > 0.02
        assert same_or_more.variance.sum() > fewer.variance.sum()
        assert same(fewer.mean, same_or_more.mean)
    covariance = found[1].state.residual_covariance
    before = state.later(1).residual_covariance
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert (np.diag(covariance) < np.diag(before)).all()


@pytest.mark.theorem("HV-E4")
def test_a_state_that_was_stored_is_the_very_same() -> None:
    day = a_city()
    found, _ = run(programme(None, asked_of(day, "l2", UNIT["l2"], True)), day, values_of(day))
    state = replace(found.state, n_days=4, prior_factors=(2.0, 8.0))
    arrays = to_arrays(state)
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    assert same(from_arrays(arrays), state)
    later = asked_of(a_city(3), "l2", UNIT["l2"], False)
    assert same(next(programme(from_arrays(arrays), later)), next(programme(state, later)))


@pytest.mark.theorem("HV-E4")
def test_new_hexagons_get_the_prior_and_others_keep_what_is_known() -> None:
    day = a_city()
    state = replace(a_state(day), prior_factors=(2.0, 4.0))
    assert state.with_hexagons(day) is state
    later = a_city(4, first_name=95)  # 95 to 104, of which 100 to 104 are known
    grown = state.with_hexagons(later)
    assert grown.names.tolist() == [*range(100, 110), *range(95, 100)]
    n_before, n_own = state.mean.size, state.basis.n_own
    assert grown.mean.size == n_before + 5 * n_own
    assert (grown.mean[:n_before] == state.mean).all()
    assert not grown.mean[n_before:].any()
    assert (grown.covariance[:n_before, :n_before] == state.covariance).all()
    assert not grown.covariance[:n_before, n_before:].any()
    assert not grown.covariance[n_before:, :n_before].any()
    prior = state.basis.variances(LASTING, 1)[-n_own:] * state.scale**2 * 4.0
    assert grown.covariance[n_before:, n_before:] == pytest.approx(np.diag(np.tile(prior, 5)))
    assert grown.names[grown.numbers_of(later)].tolist() == later.names.tolist()
    with pytest.raises(ValueError, match="every hexagon of the day"):
        state.numbers_of(later)
    assert same(grown.with_hexagons(later), grown)


@pytest.mark.theorem("HV-E4")
def test_what_is_known_grows_old_in_proportion_to_the_days() -> None:
    state = replace(a_state(a_city()), shrink=(0.2, 0.1))
    later = state.later(3)
    added = later.covariance - state.covariance
    assert added == pytest.approx(np.diag(3 * DRIFT * state.lasting))
    assert (later.mean == state.mean).all()
    assert later.shrink == pytest.approx((0.2, 0.1 + 3 * 0.02))
    assert later.residual_covariance - state.residual_covariance == pytest.approx(0.03 * class_covariance())
    assert state.later(2).later(1).covariance == pytest.approx(later.covariance)


@pytest.mark.parametrize(
    "change",
    [
        {"hexagon": np.zeros(5, dtype=int)},
        {"hexagon": np.full(60, 10)},
        {"hexagon": np.full(60, -1)},
        {"slot": np.full(60, 6)},
        {"position": np.zeros((10, 2))},
        {"kind": len(KINDS)},
        {"kind": -1},
    ],
)
def test_a_day_with_wrong_shapes_or_indices_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        replace(a_city(), **change)


@pytest.mark.theorem("HV-E3")
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("value_range", [4, 10])
def test_coarse_ticks_cost_little_more_than_their_rounding(value_range: int, norm: Norm) -> None:
    """Values are whole ticks, so nothing is rounded but what the questions round."""
    day = a_city()
    rng, occupancy = np.random.default_rng(3), day.occupancy
    share = np.clip(values_of(day) / VALUE_RANGE / occupancy.n_records, 0, 1)
    totals = rng.binomial(occupancy.n_records * value_range, share)
    asked = asked_of(day, norm, MUCH[norm], True, value_range=value_range)
    found, _ = run(programme(None, asked), day, totals, np.random.default_rng(1).bytes)
    assert error(found, day, totals * VALUE_RANGE // value_range) < 2.5


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("value", [0, VALUE_RANGE])
def test_a_city_whose_values_are_all_at_one_end_is_estimated_too(value: int, norm: Norm) -> None:
    day = a_city()
    totals = value * day.occupancy.n_records
    for seed in range(3):
        asked = asked_of(day, norm, 10 * UNIT[norm], True)
        found, _ = run(programme(None, asked), day, totals, np.random.default_rng(seed).bytes)
        assert error(found, day, totals) < 2


@pytest.mark.theorem("HV-E5")
def test_pairs_still_differ_where_all_is_expected_to_be_0() -> None:
    day = a_city()
    view = View.of(day, replace(a_state(day), centre=-200.0), covariates(day, True))
    assert not view.expected.any()
    assert np.isfinite(view.residual_variance).all()
    assert view.residual_variance.min() > 1


@pytest.mark.theorem("HV-L52")
@pytest.mark.parametrize("norm", NORMS)
def test_a_day_on_which_nobody_has_a_budget_is_estimated_from_what_is_known(norm: Norm) -> None:
    day = a_city()
    state = a_state(day)
    asked = asked_of(day, norm, UNIT[norm], False, np.zeros(60, dtype=object))
    found, recorded = run(programme(state, asked), day, values_of(day))
    assert found.mean == pytest.approx(View.of(day, state, covariates(day, True)).expected)
    question = recorded[0][0]
    assert isinstance(question, Measured)
    assert not question.measurement.weight.any()


@pytest.mark.parametrize("norm", NORMS)
def test_users_without_records_do_no_harm(norm: Norm) -> None:
    day = a_city()
    day = replace(day, occupancy=replace(day.occupancy, n_users=70))
    asked = asked_of(day, norm, MUCH[norm], True)
    found, _ = run(programme(None, asked), day, values_of(day))
    assert error(found, day, values_of(day)) < 2


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", NORMS)
def test_missing_values_neither_move_a_mean_nor_hide_it(norm: Norm) -> None:
    """Every third value of each pair is missing, and all of one pair in five. The midpoint in their place is wrong."""
    day, rng = a_city(), np.random.default_rng(8)
    totals, n_records = values_of(day, shift=-25.0), day.occupancy.n_records
    n_missing = np.where(rng.random(n_records.size) < 0.2, n_records, n_records // 3)
    totals_of_values = totals * (n_records - n_missing) // n_records
    asked = asked_of(day, norm, MUCH[norm], True)
    found, _ = ask(programme(None, asked), PrivateDay(day.occupancy, totals_of_values, n_missing), os.urandom)
    assert error(found, day, totals) < 3
    at_midpoint = totals_of_values + n_missing * (VALUE_RANGE // 2)
    replaced, _ = ask(programme(None, asked), complete(day, at_midpoint), os.urandom)
    assert error(replaced, day, totals) > 6


@pytest.mark.theorem("HV-E4")
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_first_day_on_which_nobody_has_a_whole_budget_takes_no_noise_for_an_answer(norm: Norm) -> None:
    day, limit = a_city(), 1000 << (50 if norm == "l1" else 101)
    asked = asked_of(day, norm, limit, True, np.array([limit * 9 // 10] * day.occupancy.n_users, dtype=object))
    assert not asked.in_full.any()
    estimate, _ = run(programme(None, asked), day, values_of(day))
    assert estimate.state.centre == 50.0
    assert estimate.state.shrink[0] == 0.0
    true = values_of(day) / day.occupancy.n_records
    assert np.average(estimate.mean) == pytest.approx(np.average(true) * 100 / asked.value_range, abs=5)
