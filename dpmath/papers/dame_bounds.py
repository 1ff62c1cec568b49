"""What DAME promises: its error from above and below.

Values lie in [-1, 1]; errors are squared, as in the paper's proofs, though (3) prints an absolute value.
"""

from math import exp, log, sqrt

import numpy as np

from dpmath.core import _check
from dpmath.local.sizes import SizeDistribution


def local_error_upper_bound(
    distribution: SizeDistribution, n_users: int, epsilon: float, effective: int, c3: float = 2000.0, c4: float = 8.0
) -> float:
    """Return the bound on DAME's mean squared error, c3 ln(c4 max(sqrt(mt) n alpha^2, 1))/(n (alpha E)^2), at most 4.

    E stands for E sqrt(min(m, mt)). The cap of 4 is for an estimate cut to [-1, 1]. The variance once the bin is
    found is at most that with c3 = 4(392 + 49 alpha^2) and c4 = 8; the default leaves some for what the wrong bin and
    clipping add, for alpha up to 22/35.

    Args:
        distribution: How many samples users have.
        n_users: Users n, >= 1.
        epsilon: Privacy loss alpha of each user, > 0.
        effective: mt, as ``effective_size`` returns it, >= 1.
        c3: Constant before the logarithm, > 0.
        c4: Constant in the logarithm, >= 1.

    Returns:
        The bound, in the square of the values' unit.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        DAME-T2, HV-L32.
    """
    _check.positive(epsilon=epsilon, c3=c3)
    _check.at_least(1, n_users=n_users, effective=effective)
    if c4 < 1:
        raise ValueError(f"c4={c4} must be at least 1")
    strength = n_users * epsilon**2
    logarithm = log(c4 * max(sqrt(effective) * strength, 1))
    return min(c3 * logarithm / (strength * distribution.mean_root(effective) ** 2), 4.0)


def local_error_lower_bound(
    distribution: SizeDistribution, n_users: int, epsilon: float, c1: float = exp(-1) / 288, c2: float = 24.0
) -> float:
    """Return a lower bound on the mean squared error of alpha-locally private estimates at the worst distribution.

    The largest over a of c1 exp(-c2 n alpha^2 P(m > a)^2)/max(n alpha^2 (E sqrt(m) 1{m <= a})^2, 1).

    Args:
        distribution: How many samples users have.
        n_users: Users n, >= 1.
        epsilon: Privacy loss alpha of each user, > 0, at most 22/35.
        c1: Constant before the exponential, > 0.
        c2: Constant in the exponent, > 0.

    Returns:
        The bound, in the square of the values' unit.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        DAME-T1; HV-L33 for the constants.
    """
    _check.positive(epsilon=epsilon, c1=c1, c2=c2)
    _check.at_least(1, n_users=n_users)
    if epsilon > 22 / 35:
        raise ValueError(f"epsilon={epsilon} must be at most 22/35")
    strength = n_users * epsilon**2
    beyond = 1 - np.append(0, np.cumsum(distribution.probabilities))
    roots = np.append(0, np.cumsum(distribution.probabilities * np.sqrt(distribution.sizes)))
    bounds = c1 * np.exp(-c2 * strength * np.maximum(beyond, 0) ** 2) / np.maximum(strength * roots**2, 1)
    return float(bounds.max())
