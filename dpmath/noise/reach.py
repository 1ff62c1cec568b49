"""How far noise reaches: quantiles of the discrete Laplace distribution."""

import math

from dpmath.core import _check
from dpmath.core.accounting import LOSS_UNITS


def noise_quantile(inverse_scale: int, error_rate: float) -> int:
    """Return the least k with P(|Z| > k) <= ``error_rate`` for discrete Laplace noise Z.

    P(|Z| > k) = 2 p^(k+1) / (1 + p) with p = exp(-inverse_scale / LOSS_UNITS).

    Args:
        inverse_scale: LOSS_UNITS over the scale, >= 1.
        error_rate: How often the noise may be larger, above 0 and below 1.

    Returns:
        k, >= 0, in ticks.

    Raises:
        ValueError: An argument is outside its range.

    Source:
        HV-L3.
    """
    _check.at_least(1, inverse_scale=inverse_scale)
    if not 0 < error_rate < 1:
        raise ValueError(f"error_rate={error_rate} must be above 0 and below 1")
    rate = inverse_scale / LOSS_UNITS
    steps = (math.log(2 / error_rate) - math.log1p(math.exp(-rate))) / rate
    return max(math.ceil(steps * (1 + 1e-12)) - 1, 0)
