import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from support import occupancy_of

from dpmath.cells.thresholds import clipped_errors, clipping_thresholds
from dpmath.papers.annulus import (
    annulus_projection,
    clipping_bias,
    clipping_bounds,
    clipping_error,
    clipping_sensitivity,
)

GRID = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
SHARES = st.floats(0, 1)


def random_bounds(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = np.sort(rng.choice(GRID, (2, n)), axis=0)
    return lower, upper


def optimal(records: np.ndarray, epsilon: float, dimension: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the best bounds of every sample, its user, and the error that they are said to have."""
    occupancy = occupancy_of([records.tolist()])
    kept = np.ones(records.size, dtype=bool)
    thresholds = clipping_thresholds(occupancy, kept, epsilon, dimension)
    lower, upper = clipping_bounds(records, int(thresholds[0]), dimension)
    error = clipped_errors(occupancy, kept, thresholds, epsilon, dimension)[0]
    user = np.repeat(np.arange(records.size), records)
    return lower[user], upper[user], user, error


def vectors(dimension: int) -> np.ndarray:
    """Return the corners of the l1 ball, the origin, and points just off it along each axis."""
    corners = np.vstack([np.eye(dimension), -np.eye(dimension)])
    return np.vstack([np.zeros((1, dimension)), corners, 1e-9 * corners])


def least_error_of_any_bounds(records: np.ndarray, epsilon: float) -> float:
    """Return the least worst-case error over the whole class of clippings, all bounds of all samples free."""
    n, user = int(records.sum()), np.repeat(np.arange(records.size), records)
    cost = np.concatenate([np.zeros(2 * n), [1, 1 / epsilon]])
    lows = np.concatenate([np.ones(n), np.zeros(n), [-1, 0]])
    highs = np.concatenate([np.zeros(n), -np.ones(n), [-1, 0]])
    order = np.hstack([np.eye(n), -np.eye(n), np.zeros((n, 2))])
    one_hot = (user == np.arange(records.size)[:, None]).astype(float)
    widths = np.hstack([-one_hot, one_hot, np.zeros((records.size, 1)), -np.ones((records.size, 1))])
    rows = np.vstack([lows, highs, order, widths])
    right = np.concatenate([[0, -n], np.zeros(n + records.size)])
    solved = linprog(cost, rows, right, bounds=[(0, 1)] * (2 * n) + [(0, None)] * 2, method="highs")
    return float(solved.fun) / n


@pytest.mark.theorem("BUCs-L3.1", "HV-L31")
def test_the_bias_of_clipped_numbers_is_the_largest_over_all_datasets(rng: np.random.Generator) -> None:
    for _ in range(100):
        lower, upper = random_bounds(rng, 4)
        biases = [
            abs(sum(np.array(values) - np.clip(values, lower, upper))) for values in itertools.product(GRID, repeat=4)
        ]
        assert clipping_bias(lower, upper) == pytest.approx(max(biases))


@pytest.mark.theorem("BUCs-L3.1", "HV-L31")
def test_the_printed_bias_is_too_large_where_samples_are_clipped_from_opposite_sides() -> None:
    lower, upper = np.array([0.5, 0.0]), np.array([1.0, 0.5])
    printed = np.maximum(lower, 1 - upper).sum()
    assert printed == 1
    assert clipping_bias(lower, upper) == 0.5


@pytest.mark.theorem("BUCs-L3.1")
def test_the_sensitivity_of_clipped_numbers_is_the_largest_over_all_neighbours(rng: np.random.Generator) -> None:
    user = np.array([0, 0, 1, 2])
    for _ in range(50):
        lower, upper = random_bounds(rng, 4)
        moved = 0.0
        for one in range(3):
            own = user == one
            sums = [
                np.clip(values, lower[own], upper[own]).sum() for values in itertools.product(GRID, repeat=own.sum())
            ]
            moved = max(moved, max(sums) - min(sums))
        assert clipping_sensitivity(lower, upper, user) == pytest.approx(moved)


@pytest.mark.theorem("BUCv-P3.1", "HV-L30")
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_bias_of_projected_vectors_is_the_largest_over_all_datasets(
    rng: np.random.Generator, dimension: int
) -> None:
    values = vectors(dimension)
    n = len(values)
    for _ in range(20):
        lower, upper = random_bounds(rng, 3)
        projected = [
            annulus_projection(values, np.full(n, a), np.full(n, b)) for a, b in zip(lower, upper, strict=True)
        ]
        first, second, third = (values - one for one in projected)
        sums = first[:, None, None] + second[None, :, None] + third[None, None]
        assert clipping_bias(lower, upper, dimension) == pytest.approx(np.abs(sums).sum(axis=-1).max(), abs=1e-7)


@pytest.mark.theorem("BUCv-P3.1", "HV-L30")
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_sensitivity_of_projected_vectors_is_twice_the_outer_radius_not_the_width(
    rng: np.random.Generator, dimension: int
) -> None:
    values = vectors(dimension)
    for _ in range(20):
        lower, upper = random_bounds(rng, 2)
        sums = np.array(
            [
                annulus_projection(values[list(rows)], lower, upper).sum(axis=0)
                for rows in itertools.product(range(len(values)), repeat=2)
            ]
        )
        moved = np.abs(sums[:, None] - sums[None]).sum(axis=2).max()
        assert clipping_sensitivity(lower, upper, np.array([0, 0]), dimension) == pytest.approx(moved)
        printed = (upper - lower).sum()
        assert moved > printed or not upper.any()


@pytest.mark.theorem("BUCv-P3.1", "HV-L30")
def test_the_printed_mechanism_would_publish_vectors_without_noise() -> None:
    """With fewer users than 2 d / epsilon it projects onto |x| = U/2, claims sensitivity 0, and tells the direction."""
    half = np.full(2, 0.5)
    east, north = annulus_projection(np.eye(2), half, half)
    assert np.abs(east - north).sum() == 1
    assert clipping_sensitivity(half, half, np.array([0, 1]), 2) == 1


@pytest.mark.theorem("BUCs-T3.1", "HV-L31")
def test_no_bounds_of_numbers_have_a_smaller_worst_case_error(rng: np.random.Generator) -> None:
    for _ in range(200):
        records = rng.integers(1, 9, rng.integers(1, 7))
        epsilon = float(rng.uniform(0.2, 4))
        lower, upper, user, said = optimal(records, epsilon, 1)
        assert clipping_error(lower, upper, user, epsilon) == pytest.approx(said, abs=1e-12)
        assert said == pytest.approx(least_error_of_any_bounds(records, epsilon), abs=1e-9)


@pytest.mark.theorem("HV-L30")
@pytest.mark.parametrize("dimension", [2, 5])
def test_no_radii_of_vectors_have_a_smaller_worst_case_error(rng: np.random.Generator, dimension: int) -> None:
    for _ in range(200):
        records = rng.integers(1, 30, rng.integers(1, 15))
        epsilon = float(rng.uniform(0.3, 4 * dimension))
        lower, upper, user, said = optimal(records, epsilon, dimension)
        assert clipping_error(lower, upper, user, epsilon, dimension) == pytest.approx(said, abs=1e-12)
        n = records.size
        cost = np.append(-np.ones(n), 2 * dimension / epsilon)
        below = np.hstack([np.eye(n), -np.ones((n, 1))])
        bounds = [(0, float(m)) for m in records] + [(0, None)]
        solved = linprog(cost, below, np.zeros(n), bounds=bounds, method="highs")
        assert said == pytest.approx((solved.fun + records.sum()) / records.sum(), abs=1e-9)


@pytest.mark.theorem("HV-L30")
def test_the_printed_bounds_of_vectors_are_worse_once_their_noise_suffices(rng: np.random.Generator) -> None:
    worse = 0
    for _ in range(50):
        records = rng.integers(1, 30, 12)
        _, width, user, said = optimal(records, 1.0, 2)
        printed = clipping_error((1 - width) / 2, (1 + width) / 2, user, 1.0, 2)
        assert printed >= said - 1e-12
        worse += printed > said + 1e-9
    assert worse > 40


@pytest.mark.theorem("BUCv-L3.1")
@given(arrays(float, (1, 3), elements=st.floats(-1, 1)), SHARES, SHARES, st.integers(0, 2**32 - 1))
@example(np.array([[2.2e-313, 0, 0]]), 1.0, 1.0, 0)
def test_no_point_of_the_annulus_is_nearer_than_the_projection(
    sample: np.ndarray, one: float, other: float, seed: int
) -> None:
    lower, upper = np.array([min(one, other)]), np.array([max(one, other)])
    projected = annulus_projection(sample, lower, upper)
    norm = np.abs(projected).sum()
    assert lower[0] - 1e-9 <= norm <= upper[0] + 1e-9
    rivals = np.random.default_rng(seed).normal(size=(200, 3))
    rivals *= (np.linspace(lower[0], upper[0], 200) / np.abs(rivals).sum(axis=1))[:, None]
    assert np.abs(projected - sample).sum() <= np.abs(rivals - sample).sum(axis=1).min() + 1e-9


@pytest.mark.theorem("BUCv-L3.1")
def test_numbers_are_projected_as_they_are_clipped(rng: np.random.Generator) -> None:
    samples, (lower, upper) = rng.random((50, 1)), random_bounds(rng, 50)
    assert annulus_projection(samples, lower, upper)[:, 0] == pytest.approx(np.clip(samples[:, 0], lower, upper))


@pytest.mark.theorem("BUCv-L3.5")
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_the_optimal_error_never_rises_with_epsilon_and_once_does_not_fall(
    rng: np.random.Generator, dimension: int
) -> None:
    epsilons = np.linspace(0.05, 3 * dimension, 60)
    errors = np.array(
        [[optimal(records, e, dimension)[3] for e in epsilons] for records in rng.integers(1, 20, (50, 12))]
    )
    assert np.all(np.diff(errors) <= 1e-12)
    assert np.all(errors[:, 0] == errors[:, 1])


@pytest.mark.theorem("BUCs-T3.1")
def test_clipping_averaged_samples_is_clipping_the_user_s_total(rng: np.random.Generator) -> None:
    records = rng.integers(1, 20, 100)
    lower, upper = clipping_bounds(records, 6)
    totals, widths = rng.random(100) * records, np.minimum(6, records)
    clipped = np.clip(totals / records, lower, upper) * records
    assert clipped == pytest.approx(np.clip(totals, (records - widths) / 2, (records + widths) / 2))


@pytest.mark.theorem("BUCs-T3.1")
def test_the_whole_range_is_kept_where_the_threshold_reaches_every_user() -> None:
    lower, upper = clipping_bounds(np.array([3, 9]), 9)
    assert (lower.tolist(), upper.tolist()) == ([0, 0], [1, 1])


@pytest.mark.theorem("BUCs-L3.1")
def test_bad_bounds_are_refused() -> None:
    ones = np.ones(2)
    for lower, upper in ((-ones, ones), (ones, 0 * ones), (ones, 2 * ones), (np.nan * ones, ones)):
        with pytest.raises(ValueError, match="bounds"):
            clipping_bias(lower, upper)
    with pytest.raises(ValueError, match="dimension"):
        clipping_bias(0 * ones, ones, 0)
    with pytest.raises(ValueError, match="shapes"):
        clipping_sensitivity(0 * ones, ones, np.zeros(3, dtype=int))
    with pytest.raises(ValueError, match="epsilon"):
        clipping_error(0 * ones, ones, np.zeros(2, dtype=int), 0.0)
    with pytest.raises(ValueError, match="n_samples"):
        clipping_error(np.zeros(0), np.zeros(0), np.zeros(0, dtype=int), 1.0)


@pytest.mark.theorem("BUCv-L3.1", "BUCs-T3.1")
def test_bad_samples_and_thresholds_are_refused() -> None:
    with pytest.raises(ValueError, match="two-dimensional"):
        annulus_projection(np.ones(3), np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match="threshold"):
        clipping_bounds(np.array([1]), -1)
    with pytest.raises(ValueError, match="n_records"):
        clipping_bounds(np.array([0]), 1)
