"""The scales that the noisy sums of all releases tell of: what is known of a day before them, and what it sees."""

import numpy as np

from dpmath.estimate.basis import GROUPS
from dpmath.estimate.day import FloatArray
from dpmath.estimate.scales import NAMES, Parts, Scales, likeliest, prior
from dpmath.estimate.state import POINTS
from dpmath.estimate.told import ALONE, OF_DAYS, Told, joined
from dpmath.estimate.view import View
from dpmath.joint.products import gram, product

LARGEST_VARIANCE = POINTS**2 / 12
"""Of cells: that of means which are anywhere in the range alike. Scales beyond become unlikely."""
_STEPS = 10
"""Of the search for scales."""
_KEPT = 1e-9
"""Variance of the logs of scales that are to stay as they are."""


def scales_after(view: View, told: Told) -> tuple[Scales, FloatArray]:
    """Return the likeliest scales with the sums of one more measurement, and how much more its day differs.

    Source:
        HV-E7.
    """
    state = view.state
    every = (*state.told, told)
    seen = np.column_stack([one.seen for one in every])
    n_last = told.sums.size

    def seen_by(group: str) -> FloatArray:
        of = state.prior_by_group[group]
        varying = np.flatnonzero(of)
        return gram(seen[varying], of[varying])

    groups = {group: seen_by(group) for group in ("fixed", *GROUPS)}
    alone = {name: joined(getattr(one, name) for one in every) for name in ALONE}
    noise = joined(one.noise + one.user for one in every)
    groups["cell"] += alone["cell"]
    last = np.s_[-n_last:, -n_last:]
    of_last = {name: np.zeros_like(noise) for name in OF_DAYS}
    for name, shock in of_last.items():
        shock[last], alone[name][last] = getattr(told, name), 0.0
    parts = Parts(
        groups["fixed"] + noise,
        (*(groups[group] for group in GROUPS), *(alone[name] for name in (*OF_DAYS, "residual"))),
        (of_last["level"], of_last["day"]),
        _supposed(view),
    )
    return likeliest(
        parts,
        np.concatenate([one.sums for one in every]),
        prior(state.scale_variance),
        state.scales.likeliest,
        _STEPS,
    )


def shocks_after(view: View, told: Told) -> FloatArray:
    """Return what the variances of a day's level and of the rest of it are multiplied by, with the scales as they are.

    Few sums tell of the day, and next to nothing of scales.

    Args:
        view: The day as it was expected before.
        told: Its sums so far.

    Source:
        HV-E7.
    """
    factors, lasting = view.state.factors, view.state.known
    fixed = product(told.seen.T, lasting.times(told.seen)) + told.apart(factors)
    of_level, of_rest = (factors[name] * getattr(told, name) for name in OF_DAYS)
    of_cells = _supposed(view) * np.array([factors[name] for name in NAMES])
    # nothing but the shocks is to be found: all else is fixed, and logs of scales stay at 0
    parts = Parts(fixed, (np.zeros_like(fixed),) * len(NAMES), (of_level, of_rest), of_cells)
    sums = told.sums - told.seen.T @ lasting.mean
    return likeliest(parts, sums, _KEPT * np.eye(len(NAMES)), np.zeros(len(NAMES)), _STEPS)[1]


def _supposed(view: View) -> FloatArray:
    """Return the variance that each part is supposed to give to a cell, as a share of the most that is plausible.

    The mean over records, in the order of the scales' names.
    """
    state, records, factors = view.state, view.day.occupancy.cell_records, view.state.factors
    mean_squares = view.rows.squares.transposed_times(records / records.sum(), state.n_hexagons)
    found = {group: float(mean_squares @ state.prior_by_group[group]) for group in GROUPS}
    found["cell"] += float(np.average(view.cell_variance, weights=records)) / factors["cell"]
    found["level"] = float(state.of_the_day[0]) / factors["level"]
    found["day"] = float(mean_squares[1:] @ state.of_the_day[1:]) / factors["day"]
    found["residual"] = 0.0
    return np.array([found[name] for name in NAMES]) / LARGEST_VARIANCE
