from dataclasses import replace

import numpy as np
import pytest
from oracle import shares_by_highs, worst_load_by_highs

from dpmath.planner.active_part import Part, deciding, packed_on
from dpmath.planner.primal_dual import Point
from dpmath.planner.programme import Programme
from dpmath.planner.solver import least_worst_load, most_shares
from tests.bench.cities import city


def uneven_programme(rng: np.random.Generator) -> Programme:
    """A city in which most users are far below their limits, and most cells too dear to carry."""
    occupancy = city(rng, 60, 50, 900)
    limits = rng.uniform(0.5, 1.5, occupancy.n_users) * np.where(rng.random(occupancy.n_users) < 0.7, 10, 1)
    records = occupancy.n_records.astype(float)
    errors = rng.uniform(0.05, 0.4, occupancy.n_cells)
    return Programme(occupancy.cell, occupancy.user, records, occupancy.cell_records.astype(float), errors, limits)


def random_point(rng: np.random.Generator, programme: Programme) -> Point:
    pairs, cells, users = programme.cell.size, programme.cell_records.size, programme.limits.size
    return Point(*(rng.random(n) for n in (pairs, cells, cells, users, cells, pairs)))


def lacking(programme: Programme, point: Point) -> np.ndarray:
    """What each cell lacks to be carried to its share."""
    scale = point.scale / programme.mean_records
    return 2 * point.share + programme.need * scale - programme.sums(point.spending)


@pytest.fixture
def halves(rng: np.random.Generator) -> tuple[Programme, np.ndarray, np.ndarray]:
    programme = uneven_programme(rng)
    return programme, rng.random(programme.cell_records.size) < 0.5, rng.random(programme.limits.size) < 0.5


def test_the_part_of_everything_is_the_programme(rng: np.random.Generator) -> None:
    programme = uneven_programme(rng)
    point = random_point(rng, programme)
    cells, users = programme.cell_records.size, programme.limits.size
    part = Part(programme, np.ones(cells, dtype=bool), np.ones(users, dtype=bool))
    for mine, theirs in zip(vars(part.narrowed(point)).values(), vars(point).values(), strict=True):
        assert mine == pytest.approx(theirs)
    for name in ("cell", "user", "records", "cell_records", "need", "limits"):
        assert (getattr(part.programme, name) == getattr(programme, name)).all()


def test_users_outside_leave_their_whole_width_so_that_cells_lack_the_same_in_part_and_whole(
    rng: np.random.Generator, halves: tuple[Programme, np.ndarray, np.ndarray]
) -> None:
    programme, cells, users = halves
    part = Part(programme, cells, users)
    point = part.narrowed(random_point(rng, programme))
    wide = part.widened(point)
    assert lacking(programme, wide)[cells] == pytest.approx(lacking(part.programme, point))
    outside = cells[programme.cell] & ~users[programme.user]
    outside &= np.logical_or.reduceat(users[programme.user], programme.start)[programme.cell]
    assert outside.sum() > 100
    whole_width = programme.records * (wide.scale / programme.mean_records)[programme.cell]
    assert wide.spending[outside] == pytest.approx(whole_width[outside])
    assert not wide.spending[~cells[programme.cell]].any()


def test_widened_and_narrowed_again_a_point_is_what_it_was(
    rng: np.random.Generator, halves: tuple[Programme, np.ndarray, np.ndarray]
) -> None:
    part = Part(*halves)
    point = part.narrowed(random_point(rng, halves[0]))
    again = part.narrowed(part.widened(point, rng.random(halves[1].size)))
    for mine, theirs in zip(vars(again).values(), vars(point).values(), strict=True):
        assert mine == pytest.approx(theirs)


@pytest.mark.theorem("HV-L5", "HV-L6")
def test_on_small_parts_the_optima_of_the_whole_are_found(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    original = Part.__init__

    def noted(self: Part, whole: Programme, cells: np.ndarray, users: np.ndarray) -> None:
        original(self, whole, cells, users)
        sizes.append(self.programme.cell.size / whole.cell.size)

    monkeypatch.setattr(Part, "__init__", noted)
    programme = uneven_programme(rng)
    cover = least_worst_load(programme, 0.01)
    assert cover.worst_load * (1 - 0.01) <= worst_load_by_highs(programme) <= cover.worst_load * (1 + 1e-7)
    assert min(sizes) < 0.5
    sizes.clear()
    tight = replace(programme, limits=programme.limits / 4)
    packing, optimum = most_shares(tight), shares_by_highs(tight)
    assert optimum * (1 - 1e-7) <= packing.bound <= 1.005 * optimum
    assert optimum < 0.8 * tight.cell_records.size
    assert min(sizes) < 0.5


@pytest.mark.theorem("HV-L6")
def test_a_part_that_leaves_out_who_decides_is_mended_by_the_next(rng: np.random.Generator) -> None:
    """Nobody has a price at first, so that every cell seems free; whoever is overloaded then decides."""
    programme = uneven_programme(rng)
    cells, users = programme.cell_records.size, programme.limits.size
    zero = np.zeros(programme.cell.size)
    point = Point(zero, np.zeros(cells), np.zeros(cells), np.zeros(users), np.zeros(cells), zero)
    assert not deciding(programme, point, 1.0).any()
    everywhere = np.ones(cells, dtype=bool)
    for _ in range(10):
        part = Part(programme, everywhere, deciding(programme, point, 1.0))
        point = packed_on(part, point, programme.costs(point.user_price), 400)
    assert point.share.sum() == pytest.approx(shares_by_highs(programme), rel=0.05)
    assert programme.loads(point.spending).max() < 1.1
