"""Simulated users of the local model: how many samples each has, and the means of samples from {-1, 1}."""

import numpy as np

from dpmath.local.sizes import SizeDistribution


def constant_sizes(size: int) -> SizeDistribution:
    return SizeDistribution(np.array([size]), np.ones(1))


def geometric_sizes(mean: float) -> SizeDistribution:
    """Return the geometric distribution from 1, cut where less than 1e-12 is left."""
    sizes = np.arange(1, int(28 * mean) + 2)
    return _scaled(sizes, np.exp((sizes - 1) * np.log1p(-1 / mean)))


def heavy_tailed_sizes(exponent: float, largest: int) -> SizeDistribution:
    """Return P(m) proportional to m^-exponent for m from 1 to ``largest``."""
    sizes = np.arange(1, largest + 1)
    return _scaled(sizes, sizes**-exponent)


def users_with_mean(
    theta: float, n_users: int, distribution: SizeDistribution, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sample mean and the number of samples of each user, values being -1 or 1 with mean theta."""
    n_samples = rng.choice(distribution.sizes, n_users, p=distribution.probabilities)
    return 2 * rng.binomial(n_samples, (1 + theta) / 2) / n_samples - 1, n_samples


def _scaled(sizes: np.ndarray, weights: np.ndarray) -> SizeDistribution:
    return SizeDistribution(sizes, weights / weights.sum())
