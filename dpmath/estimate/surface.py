"""The functions of place that a smooth surface is a sum of."""

import numpy as np

from dpmath.estimate.day import FloatArray

_MOST_KNOTS = 60


def cover(position: FloatArray, reach: float) -> FloatArray:
    """Return positions such that every position is near one of them, as far as their largest number allows.

    Args:
        position: The positions, in kilometres in space, shape (H, 3).
        reach: How far is near, in kilometres.

    Source:
        HV-E1.
    """
    chosen = [0]
    distance = np.linalg.norm(position - position[0], axis=1)
    while distance.max() > reach and len(chosen) < _MOST_KNOTS:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(position - position[chosen[-1]], axis=1))
    return position[chosen]


def nearness(left: FloatArray, right: FloatArray, reach: float) -> FloatArray:
    """Return a Gaussian function of the distance of every two positions, shape (n, m).

    Args:
        left: Positions, shape (n, 3).
        right: Other positions, shape (m, 3).
        reach: The distance at which it is exp(-1/2).

    Source:
        HV-E1.
    """
    square = ((left[:, None] - right[None]) ** 2).sum(axis=2)
    return np.exp(-0.5 * square / reach**2)
