import numpy as np
import pytest
from support import occupancy_of, random_occupancy

from dpmath.occupancy import Occupancy
from dpmath.suppression import clip_user

pytestmark = pytest.mark.theorem("CPL-A1")


def everyone(occupancy: Occupancy) -> np.ndarray:
    return np.ones(occupancy.cell.size, dtype=bool)


def cell_error(counts: np.ndarray, gamma: np.ndarray, epsilon: float, dropped: bool) -> float:
    """Return the error of one cell from all counts and those still kept: bias plus noise."""
    if dropped:
        return 1 - gamma.sum() / counts.sum() + gamma.max() / epsilon / gamma.sum()
    return ((counts.sum() - gamma.sum()) / 2 + gamma.max() / epsilon) / counts.sum()


def transcribed(counts: np.ndarray, epsilon: float, bound: float, min_users: int, dropped: bool) -> np.ndarray:
    """Algorithm 1, line by line, every error computed from nothing; counts and result are [cell, user]."""
    gamma = counts.copy()
    while True:
        n_cells = (gamma > 0).sum(axis=0)
        if not n_cells.max():
            return gamma
        for user in np.flatnonzero(n_cells == n_cells.max()):
            errors = {}
            for cell in np.flatnonzero(gamma[:, user]):
                without = gamma[cell].copy()
                without[user] = 0
                if (without > 0).sum() >= min_users:
                    errors[cell] = cell_error(counts[cell], without, epsilon, dropped)
            best = min(errors, key=lambda cell: errors[cell], default=None)
            if best is None or errors[best] > bound:
                return gamma
            gamma[best, user] = 0


def as_table(occupancy: Occupancy, kept: np.ndarray) -> np.ndarray:
    table = np.zeros((occupancy.n_cells, occupancy.n_users), dtype=np.int64)
    table[occupancy.cell, occupancy.user] = occupancy.n_records * kept
    return table


@pytest.mark.parametrize(("min_users", "dropped"), [(1, False), (3, False), (1, True)])
def test_it_keeps_the_same_pairs_as_a_literal_transcription(
    rng: np.random.Generator, min_users: int, dropped: bool
) -> None:
    suppressed = 0
    for _ in range(150):
        occupancy = random_occupancy(rng, int(rng.integers(1, 9)), int(rng.integers(1, 9)), most=40)
        epsilon, bound = float(rng.uniform(0.2, 3)), float(rng.uniform(0.05, 1.5))
        kept = clip_user(occupancy, everyone(occupancy), epsilon, bound, min_users, dropped)
        counts = as_table(occupancy, everyone(occupancy))
        assert (as_table(occupancy, kept) == transcribed(counts, epsilon, bound, min_users, dropped)).all()
        suppressed += int((~kept).sum())
    assert suppressed > 150, "the random arrays must exercise the suppression"


def test_no_cell_is_emptied_however_large_the_bound(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 12, 20)
    kept = clip_user(occupancy, everyone(occupancy), 1.0, 1e9)
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


def test_a_bound_below_every_error_suppresses_nobody(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 8, 10)
    assert clip_user(occupancy, everyone(occupancy), 1.0, 1e-6).all()


@pytest.mark.parametrize(
    ("epsilon", "bound", "min_users", "name"),
    [(0.0, 1.0, 1, "epsilon"), (1.0, 0.0, 1, "error_bound"), (1.0, 1.0, 0, "min_users")],
)
def test_bad_arguments_are_refused(epsilon: float, bound: float, min_users: int, name: str) -> None:
    occupancy = occupancy_of([[1, 2]])
    with pytest.raises(ValueError, match=name):
        clip_user(occupancy, everyone(occupancy), epsilon, bound, min_users)
