"""How far noise reaches: quantiles of the discrete Laplace and the discrete Gaussian distribution."""

import math
from statistics import NormalDist

from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import GAUSSIAN


def noise_quantile(noise: str, inverse_scale: int, error_rate: float) -> int:
    """Return a k with P(|Z| > k) <= ``error_rate``: the least one for discrete Laplace noise Z.

    For Laplace, P(|Z| > k) = 2 p^(k+1) / (1 + p) with p = exp(-inverse_scale / LOSS_UNITS). For Gaussian,
    P(|Z| > k) = 2 P(Z >= k + 1) is at most what the continuous Gaussian has beyond k on both sides.

    Args:
        noise: ``LAPLACE`` or ``GAUSSIAN``.
        inverse_scale: LOSS_UNITS over the scale, >= 1.
        error_rate: How often the noise may be larger, above 0 and below 1.

    Returns:
        k, >= 0, in ticks.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L3, HV-L51.
    """
    _check.at_least(1, inverse_scale=inverse_scale)
    if not 0 < error_rate < 1:
        raise ValueError(f"error_rate={error_rate} must be above 0 and below 1")
    rate = inverse_scale / LOSS_UNITS
    if noise == GAUSSIAN:
        return math.ceil(NormalDist().inv_cdf(1 - error_rate / 2) / rate * (1 + 1e-9))
    steps = (math.log(2 / error_rate) - math.log1p(math.exp(-rate))) / rate
    return max(math.ceil(steps * (1 + 1e-12)) - 1, 0)
