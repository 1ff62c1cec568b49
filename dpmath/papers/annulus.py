"""Clipping of single values, numbers or vectors: the projection, and what any choice of bounds costs at worst.

A value is a number in [0, U] (dimension 1) or a vector whose l1 norm is at most U. Bounds are given per sample, as
shares of U: a number is clipped to [lower, upper], a vector projected onto the annulus lower <= |x| <= upper.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpmath.core import _check
from dpmath.core.occupancy import IntArray

FloatArray = NDArray[np.float64]


def clipping_bounds(n_records: IntArray, threshold: int, dimension: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return the bounds that clip each user's samples with the least worst-case error.

    Numbers: the interval of width min(T/m, 1) about 1/2. Vectors: the ball of radius min(T/m, 1).

    Args:
        n_records: Records m of each user, shape (L,), >= 1.
        threshold: T, in records, from ``clipping.clipping_thresholds``, >= 0.
        dimension: Number of components of a value, >= 1.

    Returns:
        Lower and upper bound of every sample of each user, as shares of U, shapes (L,).

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCs-T3.1; HV-L30 for vectors.
    """
    _check.at_least(0, threshold=threshold)
    _check.at_least(1, dimension=dimension)
    _check.all_at_least(1, n_records=n_records)
    width = np.minimum(threshold / n_records, 1.0)
    if dimension > 1:
        return np.zeros_like(width), width
    return (1 - width) / 2, (1 + width) / 2


def annulus_projection(samples: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return a nearest point of each sample's annulus in the l1 norm, by scaling the sample.

    The nearest point is not unique. Scaling keeps signs and proportions; the zero vector, which has none, is
    lifted to equal components.

    Args:
        samples: Vectors, shape (n, d).
        lower: Inner radius of each sample's annulus, shape (n,), >= 0.
        upper: Outer radius, shape (n,), at least the inner one.

    Returns:
        The projections, shape (n, d).

    Raises:
        ValueError: Shapes differ, or the radii are out of order.

    Source:
        BUCv-L3.1.
    """
    if samples.ndim != 2 or samples.shape[1] < 1:
        raise ValueError(f"samples of shape {samples.shape} must be two-dimensional, one vector a row")
    _check.same_length(lower=lower, upper=upper, samples=samples[:, 0])
    _check_bounds(lower, upper, np.inf)
    norm = np.abs(samples).sum(axis=1)
    direction = samples / np.where(norm > 0, norm, 1)[:, None]
    lifted = np.where(norm > 0, 0, lower / samples.shape[1])
    return direction * np.clip(norm, lower, upper)[:, None] + lifted[:, None]


def clipping_bias(lower: FloatArray, upper: FloatArray, dimension: int = 1) -> float:
    """Return the largest error, over all datasets, that clipping alone puts into the sum of the samples.

    Args:
        lower: Lower bound of each sample, as a share of U, shape (N,), from 0 to 1.
        upper: Upper bound of each sample, shape (N,), from ``lower`` to 1.
        dimension: Number of components of a value, >= 1.

    Returns:
        The bias of the sum in the l1 norm, as a share of U.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCs-L3.1, BUCv-P3.1; HV-L31 for numbers.
    """
    _check.at_least(1, dimension=dimension)
    _check_bounds(lower, upper, 1.0)
    if dimension == 1:
        return float(max(lower.sum(), (1 - upper).sum()))
    return float(np.maximum(lower, 1 - upper).sum())


def clipping_sensitivity(lower: FloatArray, upper: FloatArray, user: IntArray, dimension: int = 1) -> float:
    """Return the most by which the sum of the clipped samples moves if one user's values change.

    Args:
        lower: Lower bound of each sample, as a share of U, shape (N,), from 0 to 1.
        upper: Upper bound of each sample, shape (N,), from ``lower`` to 1.
        user: User of each sample, shape (N,), >= 0.
        dimension: Number of components of a value, >= 1.

    Returns:
        The sensitivity of the sum in the l1 norm, as a share of U.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCs-L3.1; HV-L30 for vectors, where BUCv-P3.1 is wrong.
    """
    _check.at_least(1, dimension=dimension)
    _check.same_length(lower=lower, upper=upper, user=user)
    _check.all_at_least(0, user=user)
    _check_bounds(lower, upper, 1.0)
    reach = upper - lower if dimension == 1 else 2 * upper
    return float(np.bincount(user, reach).max(initial=0))


def clipping_error(
    lower: FloatArray, upper: FloatArray, user: IntArray, epsilon: float | Fraction, dimension: int = 1
) -> float:
    """Return the worst-case error of the mean of clipped samples, released with Laplace noise.

    The largest bias over all datasets, plus the mean l1 norm of the noise, for any bounds.

    Args:
        lower: Lower bound of each sample, as a share of U, shape (N,), from 0 to 1.
        upper: Upper bound of each sample, shape (N,), from ``lower`` to 1.
        user: User of each sample, shape (N,), >= 0.
        epsilon: Privacy loss of a user, > 0.
        dimension: Number of components of a value, >= 1.

    Returns:
        The error of the mean in the l1 norm, as a share of U.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        BUCs-L3.1, BUCv-P3.1, with the bias of HV-L31 and the sensitivity of HV-L30.
    """
    _check.positive(epsilon=epsilon)
    _check.at_least(1, n_samples=lower.size)
    noise = dimension * clipping_sensitivity(lower, upper, user, dimension) / float(epsilon)
    return (clipping_bias(lower, upper, dimension) + noise) / lower.size


def _check_bounds(lower: FloatArray, upper: FloatArray, largest: float) -> None:
    _check.same_length(lower=lower, upper=upper)
    if not (np.all(lower >= 0) and np.all(lower <= upper) and np.all(upper <= largest)):
        raise ValueError(f"bounds must satisfy 0 <= lower <= upper <= {largest} in every element")
