"""The functions of the model and its covariates: equal to their definitions, on small cities."""

import math
from dataclasses import replace

import numpy as np
import pytest
from city_days import a_city, a_state, a_told, dense, levels

from dpmath.estimate.basis import BY_PLACE, GROUPS, LASTING, OF_THE_DAY, fit_basis
from dpmath.estimate.covariates import N_OF_OCCUPANCY, covariates
from dpmath.estimate.day import Day
from dpmath.estimate.rows import Rows
from dpmath.estimate.state import class_covariance, first_state
from dpmath.estimate.view import View, residual_shares


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
    assert rows.times(coefficients) == pytest.approx(matrix @ coefficients)
    assert rows.times(coefficients[:, 0]) == pytest.approx(matrix @ coefficients[:, 0])
    assert rows.transposed_times(values, n_hexagons) == pytest.approx(matrix.T @ values)
    assert rows.diagonal_variances(coefficients[:, 0] ** 2) == pytest.approx(matrix**2 @ coefficients[:, 0] ** 2)


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
    defined = np.array([occupancy_covariates(day, cell) for cell in range(24)])
    defined -= np.average(defined, axis=0, weights=day.occupancy.cell_records)  # about the mean over the day's records
    assert found[:, :N_OF_OCCUPANCY] == pytest.approx(defined)
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


@pytest.mark.theorem("HV-E1")
def test_each_part_varies_by_its_share_and_half_of_what_a_hexagon_does_by_how_remote_it_is() -> None:
    day = a_city(kind=2)
    basis = fit_basis(day, covariates(day, True))
    remote = np.array([1.0, 3.0, 0.5])
    groups = basis.variances(LASTING, remote)
    assert tuple(groups) == ("fixed", *GROUPS)
    lasting = np.sum(list(groups.values()), axis=0)
    assert lasting.size == basis.n_common + 3 * basis.n_own
    assert lasting[0] == LASTING["city"]
    names = np.repeat(list(basis.sizes), list(basis.sizes.values()))
    group_of = {"city": "fixed", "stay": "fixed", "covariate": "covariate"}
    for group, variances in groups.items():
        of_city = variances[: basis.n_common]
        if group == "hour":
            of = np.array([{"slot": LASTING["hour"], "kind_slot": LASTING["kind_hour"]}.get(one, 0.0) for one in names])
            assert (of_city == of).all()
        else:
            assert not of_city[[group_of.get(name, "city") != group for name in names]].any()
    slots = basis.course_values[: basis.slots.shape[1]]
    assert groups["city"][: basis.n_common][names == "slot"] == pytest.approx(LASTING["slot"] * slots)
    assert groups["city"][: basis.n_common][names == "kind_slot"] == pytest.approx(
        np.tile(LASTING["kind_slot"] * slots, 3)
    )
    assert not groups["city"][basis.n_common :].any()
    assert groups["cell"][basis.n_common :] == pytest.approx(
        basis.own_factor * LASTING["cell"] * np.tile(np.append(0, np.ones(basis.n_own - 1)), 3)
    )
    n_courses = basis.n_own - 1
    of_hexagon = np.append(LASTING["hexagon"], LASTING["hexagon_slot"] * basis.course_values[:n_courses])
    of_cells = np.append(0, np.full(n_courses, LASTING["cell"]))
    own = np.outer(0.5 + 0.5 * remote, of_hexagon) + of_cells
    taken = LASTING["covariate"] * basis.whitening.shape[1]
    assert basis.own_factor * (LASTING["hexagon"] + LASTING["hexagon_slot"] + LASTING["cell"]) + taken == pytest.approx(
        BY_PLACE
    )
    assert lasting[basis.n_common :] == pytest.approx(basis.own_factor * own.ravel())
    smooth = lasting[basis.n_common - len(basis.knots) * n_courses : basis.n_common].reshape(-1, n_courses)
    assert smooth == pytest.approx(np.tile(LASTING["smooth_slot"] * basis.course_values[:n_courses], (len(smooth), 1)))


@pytest.mark.theorem("HV-E1")
@pytest.mark.parametrize("n_slots", [6, 24, 96])
def test_a_slot_varies_by_its_shares_however_many_a_day_has(n_slots: int) -> None:
    day = a_city(n_slots=n_slots)
    basis = fit_basis(day, covariates(day, True))
    groups = basis.variances(LASTING, np.ones(10))
    names = np.repeat(list(basis.sizes), list(basis.sizes.values()))
    for group, share in (("city", "slot"), ("hour", "hour")):
        of_slots = basis.slots**2 @ groups[group][: names.size][names == "slot"]
        assert of_slots.mean() == pytest.approx(LASTING[share], rel=0.01)


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
    assert basis.own_factor == pytest.approx(0.3 / 0.048)
    many = replace(basis, whitening=np.zeros((40, 40)))
    assert many.own_factor == 1


@pytest.mark.theorem("HV-E1")
@pytest.mark.parametrize("n_slots", [1, 6, 24])
def test_cells_that_are_not_similar_share_the_mean_and_the_kind_of_day_alone(n_slots: int) -> None:
    day = a_city(n_slots=n_slots)
    known = np.zeros((day.occupancy.n_cells, 0))
    for similar in (True, False):
        state = first_state(day, fit_basis(day, known, similar), 50.0, 0.0, 1.0, 0.3)
        rows = dense(state.basis.rows(day, known, state.numbers_of(day)), state.n_hexagons)
        apart = rows @ np.diag(state.lasting) @ rows.T - LASTING["city"] - LASTING["kind"]
        alone = ~np.eye(len(apart), dtype=bool)
        assert (np.abs(apart[alone]) > 1e-3).any() == similar
        if not similar:
            # all that places may take, and all of it is learned
            assert np.diag(apart) == pytest.approx(np.full(len(apart), 0.3))
            assert not state.basis.cell_variance(day).any()


@pytest.mark.theorem("HV-E1")
def test_places_and_cells_differ_in_proportion_to_what_the_city_expects_of_them() -> None:
    """What a hexagon is known to be does not raise its own level: only the city's functions do."""
    day = a_city(n_slots=24)
    state = a_state(day, centre=20.0)
    short = replace(state.basis, courses=state.basis.courses[:, :4], left_out=state.basis.courses[:, 4:])
    state = first_state(day, short, 20.0, 4.0, 9.0, 0.3)
    n_common, rng = state.basis.n_common, np.random.default_rng(4)
    one = a_told(state.mean.size, 12, rng)
    of_city = np.where(np.arange(state.mean.size) < n_common, 1.0, 0.1)[:, None]
    state = replace(state, told=(replace(one, sums=40 * one.sums, seen=one.seen * of_city),))
    assert np.abs(state.mean[n_common:]).max() > 1
    view = View.of(day, state, covariates(day, True))
    level = levels(view)
    assert level.min() == 0.4
    assert level.max() > 1.2
    assert view.cells.relative == pytest.approx(level)
    plain = dense(short.rows(day, covariates(day, True), state.numbers_of(day)), 10)
    scaled = dense(view.rows, 10)
    assert scaled[:, :n_common] == pytest.approx(plain[:, :n_common])
    assert scaled[:, n_common:] == pytest.approx(plain[:, n_common:] * level[:, None])
    assert view.expected == pytest.approx(np.clip(20 + scaled @ state.mean, 0, 100))
    assert view.cell_variance.min() > 0
    assert view.cell_variance == pytest.approx(short.cell_variance(day) * 81 * level**2)


@pytest.mark.theorem("HV-E5")
def test_residual_variances_fall_with_records_and_are_those_of_the_definition() -> None:
    records = np.array([1, 2, 10, 10**6])
    assert residual_shares(records) == pytest.approx([0.12 + 2 / m**0.8 for m in records])
    residual, found = np.linspace(-1, 1.2, 13), set()
    for seed in range(12):  # one city need not have pairs of every class
        day = a_city(seed)
        state = a_state(day, 4)
        view = View.of(day, replace(state, residual=residual), covariates(day, True))
        occupancy, expected, of_city = day.occupancy, view.expected, levels(view)
        order = sorted(range(60), key=lambda cell: expected[cell])
        below = {cell: occupancy.cell_records[order[: place + 1]].sum() for place, cell in enumerate(order)}
        for pair, (cell, m) in enumerate(zip(occupancy.cell, occupancy.n_records, strict=True)):
            level = min(2, int(3 * below[cell] / occupancy.cell_records.sum()))
            share = m / occupancy.cell_records[cell]
            one = 4 * level + (2 if share > 0.2 else 0) + (1 if m > 3 else 0)
            found.add(one)
            assert view.residual_class[pair] == one
            by_size = (0.12 + 2 / m**0.8) * of_city[cell] * 81
            most = max(25.0, expected[cell] * (100 - expected[cell]))
            own, alike = (math.exp(residual[number] + class_covariance()[number, number] / 2) for number in (one, 12))
            share, whole = 0.06 / (0.12 + 2 / m**0.8), 1 / (1 / by_size + 1 / most)
            assert view.alike_variance[pair] == pytest.approx(alike * share * whole)
            own *= state.factors["residual"] * (1 - share) * whole
            assert view.residual_variance[pair] == pytest.approx(own + alike * share * whole)
        assert np.bincount(occupancy.cell, view.share_of_cell) == pytest.approx(1)
    assert found == set(range(12))


@pytest.mark.theorem("HV-E5")
def test_classes_vary_together_and_those_of_a_level_or_size_more() -> None:
    covariance = class_covariance()
    for one in range(12):
        for other in range(12):
            level, size = one // 4 == other // 4, one % 4 == other % 4
            assert covariance[one, other] == pytest.approx(0.25 + 0.06 * level + 0.06 * size + 0.03 * (level and size))
    assert covariance[12].tolist() == [0.0] * 12 + [1.0], "what users have in common is told apart"
    assert np.linalg.eigvalsh(covariance).min() > 0.01
