import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from support import occupancy_of, random_occupancy

from dpmath.cells.thresholds import clipped_errors, clipping_thresholds, threshold_rank
from dpmath.core.occupancy import Occupancy

pytestmark = pytest.mark.theorem("BUCv-T1")


def one_cell(records: np.ndarray) -> Occupancy:
    return occupancy_of([records.tolist()])


def optimum_by_linear_programme(records: np.ndarray, epsilon: float) -> float:
    """Return the optimum of BUCs (8), over N: min sum of alpha + S/epsilon, m - 2 alpha <= S, alpha and S >= 0."""
    n = records.size
    cost = np.append(np.ones(n), 1 / epsilon)
    below = np.hstack([-2 * np.eye(n), -np.ones((n, 1))])
    solved = linprog(cost, below, -records.astype(float), bounds=(0, None), method="highs")
    return float(solved.fun / records.sum())


def test_no_clipping_of_totals_has_a_smaller_worst_case_error(rng: np.random.Generator) -> None:
    for _ in range(200):
        records = rng.integers(1, 50, rng.integers(1, 12))
        epsilon = float(rng.uniform(0.1, 5))
        occupancy = one_cell(records)
        kept = np.ones(records.size, dtype=bool)
        thresholds = clipping_thresholds(occupancy, kept, epsilon)
        error = clipped_errors(occupancy, kept, thresholds, epsilon)[0]
        assert error == pytest.approx(optimum_by_linear_programme(records, epsilon), abs=1e-9)


def test_a_threshold_one_rank_away_is_worse_somewhere(rng: np.random.Generator) -> None:
    """The oracle bites: neighbouring ranks are never better and, over random arrays, sometimes worse."""
    worse = 0
    for _ in range(100):
        records = np.sort(rng.integers(1, 50, 10))[::-1]
        epsilon = float(rng.uniform(0.3, 1.5))
        rank = threshold_rank(epsilon)
        occupancy, kept = one_cell(records), np.ones(10, dtype=bool)
        errors = [
            clipped_errors(occupancy, kept, np.array([records[r - 1] if r <= 10 else 0]), epsilon)[0]
            for r in (rank - 1, rank, rank + 1)
        ]
        assert min(errors) == pytest.approx(errors[1])
        worse += max(errors) > errors[1] + 1e-9
    assert worse > 90


def test_suppressed_users_neither_set_the_threshold_nor_count_as_clipped() -> None:
    occupancy = one_cell(np.array([9, 5, 3]))
    kept = np.array([False, True, True])
    thresholds = clipping_thresholds(occupancy, kept, 1.0)
    assert thresholds.tolist() == [3]
    assert clipped_errors(occupancy, kept, thresholds, 1.0)[0] == pytest.approx((9 / 2 + 2 / 2 + 3) / 17)


def test_a_cell_with_fewer_users_than_the_rank_has_threshold_zero() -> None:
    assert clipping_thresholds(one_cell(np.array([4, 4])), np.ones(2, dtype=bool), 0.9).tolist() == [0]


def test_cells_do_not_influence_each_other(rng: np.random.Generator) -> None:
    occupancy = random_occupancy(rng, 6, 8)
    together = clipping_thresholds(occupancy, np.ones(occupancy.cell.size, dtype=bool), 0.8)
    for cell in range(6):
        records = occupancy.n_records[occupancy.cell == cell]
        alone = clipping_thresholds(one_cell(records), np.ones(records.size, dtype=bool), 0.8)
        assert together[cell] == alone[0]


def test_twice_the_records_give_twice_the_threshold_and_the_same_error(rng: np.random.Generator) -> None:
    records = rng.integers(1, 20, 9)
    kept = np.ones(9, dtype=bool)
    once, twice = one_cell(records), one_cell(2 * records)
    thresholds = clipping_thresholds(once, kept, 0.7)
    assert clipping_thresholds(twice, kept, 0.7).tolist() == (2 * thresholds).tolist()
    assert clipped_errors(twice, kept, 2 * thresholds, 0.7) == pytest.approx(
        clipped_errors(once, kept, thresholds, 0.7)
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 0.3, 2, 7.5])
def test_the_rank_is_two_over_epsilon_rounded_up(epsilon: float | Fraction) -> None:
    assert threshold_rank(epsilon) == math.ceil(Fraction(2) / Fraction(epsilon))
    assert threshold_rank(epsilon, 3) == math.ceil(Fraction(6) / Fraction(epsilon))


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_an_epsilon_that_is_not_a_positive_number_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        threshold_rank(epsilon)


def test_the_printed_formulas_of_the_optimal_error_are_not_it() -> None:
    """BUCs (12) divides each user's clipping by m and takes the least total for the noise."""
    records, epsilon = np.array([8, 4, 2]), 1.0
    optimum = optimum_by_linear_programme(records, epsilon)
    assert optimum == pytest.approx(((8 - 4) / 2 + 4) / 14)
    printed = (np.maximum((records - 4) / (2 * records), 0).sum() + min(4, records.min())) / 14
    assert printed < optimum - 0.1


def test_a_dimension_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="dimension"):
        threshold_rank(1.0, 0)


def test_arrays_of_other_shapes_are_refused() -> None:
    occupancy = one_cell(np.array([1, 2]))
    with pytest.raises(ValueError, match="shapes"):
        clipping_thresholds(occupancy, np.ones(3, dtype=bool), 1.0)
    with pytest.raises(ValueError, match="shapes"):
        clipped_errors(occupancy, np.ones(2, dtype=bool), np.array([1, 1]), 1.0)
