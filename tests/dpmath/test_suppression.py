from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import occupancy_of, random_occupancy
from transcribed import Counts, algorithm_1, dropped_error, midpoint_error, printed_factor

from dpmath.cells.suppression import clip_user
from dpmath.core.occupancy import Occupancy
from dpmath.papers.clip_user import clip_user_dropping, degradation_factor
from dpmath.papers.dropping import CellRelease, dropped_errors

pytestmark = pytest.mark.theorem("CPL-A1")

STATISTICS = [("mean",), ("variance",), ("mean", "variance")]


def everyone(occupancy: Occupancy) -> np.ndarray:
    return np.ones(occupancy.cell.size, dtype=bool)


def as_table(occupancy: Occupancy, kept: np.ndarray) -> Counts:
    table = np.zeros((occupancy.n_cells, occupancy.n_users), dtype=np.int64)
    table[occupancy.cell, occupancy.user] = occupancy.n_records * kept
    return table.tolist()


def some_occupancy(rng: np.random.Generator) -> Occupancy:
    """Return a random occupancy, whose users often have equal records, so that cells tie."""
    return random_occupancy(rng, int(rng.integers(1, 9)), int(rng.integers(1, 13)), most=int(rng.choice([1, 3, 40])))


@pytest.mark.parametrize("min_users", [1, 3])
def test_it_keeps_the_same_pairs_as_a_literal_transcription(rng: np.random.Generator, min_users: int) -> None:
    suppressed = 0
    for _ in range(150):
        occupancy = some_occupancy(rng)
        epsilon, bound = Fraction(int(rng.integers(2, 30)), 10), Fraction(int(rng.integers(5, 150)), 100)
        kept = clip_user(occupancy, everyone(occupancy), float(epsilon), float(bound), min_users)
        counts = as_table(occupancy, everyone(occupancy))
        assert as_table(occupancy, kept) == algorithm_1(counts, midpoint_error(epsilon), bound, min_users)
        suppressed += int((~kept).sum())
    assert suppressed > 150, "the random arrays must exercise the suppression"


@pytest.mark.parametrize("statistics", STATISTICS)
@pytest.mark.parametrize("spare_best", [False, True])
@pytest.mark.parametrize("own_bound", [False, True])
def test_as_printed_it_keeps_the_same_pairs_and_factor_as_a_literal_transcription(
    rng: np.random.Generator, statistics: Any, spare_best: bool, own_bound: bool
) -> None:
    suppressed = 0
    for _ in range(80):
        occupancy = some_occupancy(rng)
        epsilon = Fraction(int(rng.integers(1, 40)), 100)
        counts, error = as_table(occupancy, everyone(occupancy)), dropped_error(epsilon, 7, statistics)
        bound = (
            Fraction(int(rng.integers(1, 6)), 2) * (max(error(row, row) for row in counts) or 1) if own_bound else None
        )
        release = CellRelease(epsilon, 7, statistics)
        kept = clip_user_dropping(occupancy, release, None if bound is None else float(bound), spare_best)
        gamma = algorithm_1(counts, error, bound, spare_best=spare_best)
        assert as_table(occupancy, kept) == gamma
        assert degradation_factor(occupancy, kept) == printed_factor(gamma)
        suppressed += int((~kept).sum())
    assert suppressed > 60, "the random arrays must exercise the suppression"


@settings(max_examples=150)
@given(
    st.lists(st.lists(st.integers(0, 4), min_size=4, max_size=4), min_size=1, max_size=5).filter(
        lambda table: all(any(row) for row in table)
    ),
    st.fractions(Fraction(1, 4), 4, max_denominator=8),
    st.sampled_from(STATISTICS),
)
def test_it_agrees_with_the_transcription_where_many_errors_tie(
    table: Counts, epsilon: Fraction, statistics: Any
) -> None:
    occupancy = occupancy_of(table)
    kept = clip_user_dropping(occupancy, CellRelease(epsilon, 1, statistics))
    assert as_table(occupancy, kept) == algorithm_1(table, dropped_error(epsilon, 1, statistics))


def test_errors_that_differ_by_rounding_alone_are_equal() -> None:
    """Without user 0 both cells have error 4/3: 10/12 + 1/2 and 1/3 + 2/2, which floats add up differently."""
    table = [[10, 1, 1], [1, 2, 0]]
    occupancy, release = occupancy_of(table), CellRelease(1, 1, ["mean"])
    without = np.array([0, 1, 1, 0, 2])
    first, second = dropped_errors(occupancy, without, release)
    assert first > second, "of floats the second cell would be taken"
    for bound in (first, second):
        kept = clip_user_dropping(occupancy, release, float(bound))
        assert as_table(occupancy, kept) == algorithm_1(table, dropped_error(Fraction(1), 1, ("mean",)), Fraction(4, 3))
        assert not kept[0]


def test_argmax_as_printed_in_14_would_stop_where_argmin_goes_on(rng: np.random.Generator) -> None:
    """For the busiest user some cell would pass the bound and another would not: the correction matters."""
    worse = 0
    for _ in range(100):
        occupancy = random_occupancy(rng, 6, 8, most=20)
        counts = as_table(occupancy, everyone(occupancy))
        error = dropped_error(Fraction(1), 1, ("mean",))
        bound = max(error(row, row) for row in counts)
        user = int(np.bincount(occupancy.user).argmax())
        without = [[0 if one == user else n for one, n in enumerate(row)] for row in counts]
        after = [error(c, w) for c, w in zip(counts, without, strict=True) if sum(c) > sum(w) > 0]
        worse += max(after) > bound >= min(after)
    assert worse > 10


@pytest.mark.parametrize("statistics", STATISTICS)
def test_no_cell_where_somebody_is_suppressed_passes_the_bound(rng: np.random.Generator, statistics: Any) -> None:
    for _ in range(40):
        occupancy = some_occupancy(rng)
        release = CellRelease(0.7, 3, statistics)
        before = dropped_errors(occupancy, occupancy.n_records, release)
        for bound in (None, max(float(np.median(before)), 1e-3)):
            kept = clip_user_dropping(occupancy, release, bound)
            after = dropped_errors(occupancy, occupancy.n_records * kept, release)
            touched = np.bincount(occupancy.cell[~kept], minlength=occupancy.n_cells) > 0
            assert (after[touched] <= (before.max() if bound is None else bound) * (1 + 1e-9)).all()
            assert (after[~touched] == before[~touched]).all()


def test_the_cell_of_least_error_is_left_alone_if_asked(rng: np.random.Generator) -> None:
    differs = 0
    for _ in range(40):
        occupancy = random_occupancy(rng, 5, 12, most=20)
        release = CellRelease(0.5, 65)
        best = dropped_errors(occupancy, occupancy.n_records, release).argmin()
        kept = clip_user_dropping(occupancy, release, spare_best_cell=True)
        assert kept[occupancy.cell == best].all()
        differs += not clip_user_dropping(occupancy, release)[occupancy.cell == best].all()
    assert differs


def test_no_cell_is_emptied_however_large_the_bound(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 12, 20)
    for kept in (
        clip_user(occupancy, everyone(occupancy), 1.0, 1e9),
        clip_user_dropping(occupancy, CellRelease(1, 1), 1e9),
    ):
        assert np.bincount(occupancy.cell[kept], minlength=12).min() == 1


def test_pairs_of_withheld_cells_stay_out_and_do_not_count() -> None:
    """User 0 is in three cells, but one of them is withheld; with two each, both users are the busiest."""
    occupancy = occupancy_of([[1, 1, 5], [1, 1, 5], [1, 0, 5]])
    kept = everyone(occupancy)
    kept[occupancy.cell == 2] = False
    after = clip_user(occupancy, kept, 10.0, 0.25)
    assert not after[occupancy.cell == 2].any()
    assert kept.sum() == 6, "the argument is not changed"


def test_scaling_records_changes_nothing(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 8, 10)
    scaled = Occupancy(occupancy.cell, occupancy.user, 7 * occupancy.n_records, occupancy.n_cells, occupancy.n_users)
    once, again = (clip_user(one, everyone(one), 0.9, 0.4) for one in (occupancy, scaled))
    assert (once == again).all()
    once, again = (clip_user_dropping(one, CellRelease(0.9, 1, ["mean"])) for one in (occupancy, scaled))
    assert (once == again).all()


def test_a_bound_below_every_error_suppresses_nobody(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 8, 10)
    assert clip_user(occupancy, everyone(occupancy), 1.0, 1e-6).all()
    assert clip_user_dropping(occupancy, CellRelease(1, 1), 1e-6).all()


@pytest.mark.parametrize(
    ("epsilon", "bound", "min_users", "name"),
    [(0.0, 1.0, 1, "epsilon"), (1.0, 0.0, 1, "error_bound"), (1.0, 1.0, 0, "min_users")],
)
def test_bad_arguments_are_refused(epsilon: float, bound: float, min_users: int, name: str) -> None:
    occupancy = occupancy_of([[1, 2]])
    with pytest.raises(ValueError, match=name):
        clip_user(occupancy, everyone(occupancy), epsilon, bound, min_users)


def test_bad_arguments_of_the_printed_form_are_refused() -> None:
    occupancy = occupancy_of([[1, 2]])
    for bound in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="error_bound"):
            clip_user_dropping(occupancy, CellRelease(1, 1), bound)
    with pytest.raises(ValueError, match="kept"):
        degradation_factor(occupancy, np.ones(3, dtype=bool))
