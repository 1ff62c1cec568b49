"""How far users' vectors are scaled down on average, as a function of how long they are expected to be."""

import numpy as np

from dpmath.estimate.day import FloatArray

TARGET = 0.82
"""The mean shrink factor that expected lengths are chosen for."""
_SPREAD = 0.6
"""Standard deviation, over users, of the log of a vector's length over the expected length."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def mean_shrink(log_ratio: FloatArray | float, expected_length: float) -> FloatArray:
    """Return the expected shrink factor: the mean of min(1, 1/length), with lengths log-normal over users.

    Args:
        log_ratio: Log of true over expected length, shape (n,).
        expected_length: Expected length in radii of the ball.

    Source:
        HV-E6.
    """
    length = expected_length * np.exp(np.add.outer(np.asarray(log_ratio, dtype=float), _SPREAD * _NODES))
    return np.asarray(np.minimum(1.0, 1.0 / length) @ (_WEIGHTS / _WEIGHTS.sum()))


def expected_length(shrink: tuple[float, float]) -> float:
    """Return the expected length, in radii, for which the mean shrink factor is the target.

    Args:
        shrink: Mean and variance of the log of true over expected length.

    Source:
        HV-E6.
    """
    lengths = np.geomspace(0.02, 20, 400)
    ratios = shrink[0] + np.sqrt(shrink[1]) * _NODES[10:31]
    weights = _WEIGHTS[10:31] / _WEIGHTS[10:31].sum()
    shrinks = np.array([mean_shrink(ratios, length) @ weights for length in lengths])
    return float(lengths[np.flatnonzero(shrinks >= TARGET)[-1]]) if (shrinks >= TARGET).any() else float(lengths[0])


def updated(shrink: tuple[float, float], measured: float, variance: float, length: float) -> tuple[float, float]:
    """Return mean and variance of the log ratio after a noisy mean shrink factor was measured.

    Args:
        shrink: Mean and variance before.
        measured: The noisy mean shrink factor.
        variance: Its variance.
        length: The expected length that it was measured with.

    Source:
        HV-E6.
    """
    ratios = np.linspace(-4, 4, 321)
    fit = -0.5 * (ratios - shrink[0]) ** 2 / shrink[1] - 0.5 * (measured - mean_shrink(ratios, length)) ** 2 / variance
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    mean = float(weight @ ratios)
    step = float(ratios[1] - ratios[0])
    return mean, max(float(weight @ (ratios - mean) ** 2), step**2 / 12)
