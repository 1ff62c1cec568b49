"""A state as arrays by name, which is how it is stored."""

from dataclasses import fields
from typing import Any

import numpy as np

from dpmath.estimate.basis import Basis
from dpmath.estimate.scales import Scales
from dpmath.estimate.state import State
from dpmath.estimate.told import Told

_NUMBERS = ("centre", "centre_variance", "scale", "scale_variance", "n_days")
_APART = ("basis", "told", "scales")


def to_arrays(state: State) -> dict[str, np.ndarray]:
    """Return the state as arrays by name, to be stored.

    Source:
        HV-E4.
    """
    arrays = {f"basis.{one.name}": np.asarray(getattr(state.basis, one.name)) for one in fields(Basis)}
    arrays |= {f"scales.{name}": logs for name, logs in state.scales._asdict().items()}
    for number, told in enumerate(state.told):
        arrays |= {f"told.{number}.{one.name}": getattr(told, one.name) for one in fields(Told)}
    rest = (one.name for one in fields(State) if one.name not in _APART)
    return arrays | {name: np.asarray(getattr(state, name)) for name in rest}


def from_arrays(arrays: dict[str, np.ndarray]) -> State:
    """Return the state that ``to_arrays`` stored.

    Source:
        HV-E4.
    """
    basis = {one.name: arrays[f"basis.{one.name}"] for one in fields(Basis)}
    n_told = sum(name.endswith(".sums") for name in arrays)
    told = (Told(**{one.name: arrays[f"told.{number}.{one.name}"] for one in fields(Told)}) for number in range(n_told))
    rest: dict[str, Any] = {one.name: arrays[one.name] for one in fields(State) if one.name not in _APART}
    rest |= {name: rest[name].item() for name in _NUMBERS} | {"shrink": tuple(rest["shrink"].tolist())}
    scales = Scales(*(arrays[f"scales.{name}"] for name in Scales._fields))
    return State(basis=Basis(**{**basis, "reach": float(basis["reach"])}), told=tuple(told), scales=scales, **rest)
