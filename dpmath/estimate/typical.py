"""What is expected of a day's cells on any kind of day: what lasts, without what was the day's own."""

from dataclasses import replace

import numpy as np

from dpmath.estimate.day import Day, FloatArray
from dpmath.estimate.state import POINTS, State
from dpmath.estimate.view import View


def typical(day: Day, state: State, covariates: FloatArray, kind: int) -> tuple[FloatArray, FloatArray]:
    """Return the expected value of each cell on a kind of day, and its variance, in points, each of shape (G,).

    Args:
        day: A day, whose cells are taken.
        state: What is known, with coefficients for the day's hexagons.
        covariates: The covariates of each cell, shape (G, n).
        kind: The kind of day.

    Source:
        HV-E3.
    """
    view = _seen(day, state, covariates, kind)
    return np.clip(view.expected, 0.0, POINTS), state.known.variances(view.rows)


def typical_mean(day: Day, state: State, covariates: FloatArray, kind: int) -> FloatArray:
    """Return what ``typical`` expects, in points, shape (G,), without the variance, which takes most of the time.

    Source:
        HV-E3.
    """
    return np.clip(_seen(day, state, covariates, kind).expected, 0.0, POINTS)


def _seen(day: Day, state: State, covariates: FloatArray, kind: int) -> View:
    return View.of(replace(day, kind=kind), state, covariates)
