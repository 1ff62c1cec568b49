"""What the share of draws beyond thresholds shows of epsilon: a bound that is hardly ever wrong."""

import math

import numpy as np
from scipy.stats import beta


def bound_beyond(places: list[np.ndarray], thresholds: np.ndarray, delta: float, false_alarm: float) -> float:
    """Return what epsilon is at least at a delta: the events are that a draw's place passes a threshold.

    Args:
        places: A number of each draw from the one dataset, and of as many from its neighbour.
        thresholds: What it may pass.
        delta: The delta.
        false_alarm: How often the bound may be wrong.
    """
    n_draws, each = len(places[0]), false_alarm / (2 * len(thresholds))
    bounds = [0.0]
    for threshold in thresholds:
        counts = [int((place >= threshold).sum()) for place in places]
        often = beta.ppf(each, max(counts[0], 1), n_draws - counts[0] + 1)
        seldom = beta.ppf(1 - each, counts[1] + 1, n_draws - counts[1])
        if often > delta:
            bounds.append(math.log((often - delta) / seldom))
    return max(bounds)


def bound_of_ratios(ratios: list[np.ndarray], delta: float, false_alarm: float) -> float:
    """Return the same for log likelihood ratios, with thresholds where the draws of the first dataset are."""
    return bound_beyond(ratios, np.quantile(ratios[0], np.linspace(0.05, 0.95, 19)), delta, false_alarm)
