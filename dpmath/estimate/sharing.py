"""How a ball is shared among independent directions: "reverse water-filling"."""

import numpy as np

from dpmath.estimate.day import FloatArray


def shared_l2(gain: FloatArray, variance: FloatArray, unit: float, cost: FloatArray) -> FloatArray:
    """Return shares m of the ball, sum of cost m = 1, with the least sum of gain / (1 + variance m / unit).

    Args:
        gain: By how much knowing each direction would lower the error, shape (n,).
        variance: Variance of the sum along each, whose residual has variance 1, shape (n,).
        unit: Variance of the noise for the whole ball.
        cost: What a direction takes of the ball, shape (n,).

    Source:
        HV-E2.
    """
    root, scale = np.sqrt(gain * variance / unit / cost), unit / variance
    order = np.argsort(-root)
    # Those of most worth have a share: of the k first, level * root - 1 is above 0 and their cost is 1 in all.
    levels = (1 + np.cumsum((cost * scale)[order])) / np.cumsum((cost * scale * root)[order])
    level = levels[np.flatnonzero(levels * root[order] > 1)[-1]]
    found = np.maximum(level * root - 1, 0) * scale
    return np.asarray(found / (cost * found).sum())


def shared_l1(gain: FloatArray, variance: FloatArray, unit: float, cost: FloatArray) -> FloatArray:
    """Return weights w, sum of sqrt(cost) w = 1, with about the least sum of gain / (1 + variance w^2 / unit).

    Args:
        gain: By how much knowing each direction would lower the error, shape (n,).
        variance: Variance of the sum along each, whose residual has variance 1, shape (n,).
        unit: Variance of the noise for the whole ball.
        cost: What a direction takes of the ball, shape (n,).

    Source:
        HV-E2.
    """
    order = np.argsort(-gain * variance / cost)
    best, least = np.zeros_like(gain), np.inf
    for n_used in np.unique(np.geomspace(1, gain.size, 60).astype(int)):
        used = order[:n_used]
        weight = np.zeros_like(gain)
        weight[used] = np.cbrt(gain[used] / variance[used] / np.sqrt(cost[used]))
        weight /= (np.sqrt(cost) * weight).sum()
        error = float((gain / (1 + variance * weight**2 / unit)).sum())
        if error < least:
            best, least = weight, error
    return best
