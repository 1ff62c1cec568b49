"""A state as arrays by name, which is how it is stored."""

from dataclasses import fields
from typing import Any

import numpy as np

from dpmath.estimate.basis import Basis
from dpmath.estimate.day import FloatArray
from dpmath.estimate.state import State


def to_arrays(state: State) -> dict[str, np.ndarray]:
    """Return the state as arrays by name, to be stored. Of the covariance, which is symmetric, it is the lower half.

    Source:
        HV-E4.
    """
    arrays = {f"basis.{one.name}": np.asarray(getattr(state.basis, one.name)) for one in fields(Basis)}
    rest = (one.name for one in fields(State) if one.name != "basis")
    lower = state.covariance[np.tri(state.mean.size, dtype=bool)]
    return arrays | {name: np.asarray(getattr(state, name)) for name in rest} | {"covariance": lower}


def from_arrays(arrays: dict[str, np.ndarray]) -> State:
    """Return the state that ``to_arrays`` stored.

    Source:
        HV-E4.
    """
    basis = {one.name: arrays[f"basis.{one.name}"] for one in fields(Basis)}
    rest = {one.name: arrays[one.name] for one in fields(State) if one.name != "basis"}
    pairs = ("prior_factors", "scale_error", "own_error", "day_error", "shrink")
    singles = ("centre", "scale", "residual_scale", "day_factor")
    numbers: dict[str, Any] = {name: float(rest.pop(name)) for name in singles}
    numbers |= {name: tuple(rest.pop(name).tolist()) for name in pairs}
    numbers |= {"n_days": int(rest.pop("n_days"))}
    rest["covariance"] = _symmetric(rest["covariance"], rest["mean"].size)
    return State(basis=Basis(**{**basis, "reach": float(basis["reach"])}), **rest, **numbers)


def _symmetric(lower: FloatArray, size: int) -> FloatArray:
    """Return the symmetric matrix whose lower half has these rows, one after the other."""
    matrix = np.empty((size, size))
    for row, part in enumerate(np.split(lower, np.cumsum(np.arange(1, size)))):
        matrix[row, : row + 1] = matrix[: row + 1, row] = part
    return matrix
