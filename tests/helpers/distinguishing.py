"""What the share of draws beyond thresholds shows of epsilon: a bound that is hardly ever wrong."""

import math

import numpy as np
from scipy.stats import beta

_N_THRESHOLDS = 19


def bound_of_ratios(ratios: list[np.ndarray], delta: float, false_alarm: float) -> float:
    """Return what epsilon is at least at a delta: the events are that the likelihood ratio passes a threshold.

    Args:
        ratios: The log likelihood ratio of draws from the one dataset, and of as many from its neighbour.
        delta: The delta.
        false_alarm: How often the bound may be wrong.
    """
    n_draws, each = len(ratios[0]), false_alarm / (2 * _N_THRESHOLDS)
    bounds = [0.0]
    for threshold in np.quantile(ratios[0], np.linspace(0.05, 0.95, _N_THRESHOLDS)):
        counts = [int((ratio >= threshold).sum()) for ratio in ratios]
        often = beta.ppf(each, max(counts[0], 1), n_draws - counts[0] + 1)
        seldom = beta.ppf(1 - each, counts[1] + 1, n_draws - counts[1])
        if often > delta:
            bounds.append(math.log((often - delta) / seldom))
    return max(bounds)
