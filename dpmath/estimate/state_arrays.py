"""A state as arrays by name, which is how it is stored."""

from dataclasses import fields
from typing import Any

import numpy as np

from dpmath.estimate.basis import Basis
from dpmath.estimate.law_shape import Shapes
from dpmath.estimate.law_tilt import Laws
from dpmath.estimate.scales import Scales
from dpmath.estimate.state import State
from dpmath.estimate.told import Told

_NUMBERS = ("centre", "centre_variance", "scale", "scale_variance", "n_days")
_APART = ("basis", "told", "scales", "shapes")


def to_arrays(state: State) -> dict[str, np.ndarray]:
    """Return the state as arrays by name, to be stored.

    Source:
        HV-E4.
    """
    arrays = {f"basis.{one.name}": np.asarray(getattr(state.basis, one.name)) for one in fields(Basis)}
    arrays |= {f"scales.{name}": logs for name, logs in state.scales._asdict().items()}
    for number, told in enumerate(state.told):
        arrays |= {f"told.{number}.{one.name}": getattr(told, one.name) for one in fields(Told)}
    if state.shapes is not None:
        arrays |= {f"shapes.{name}": array for name, array in _of_shapes(state.shapes).items()}
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
    rest["shapes"] = _shapes({name[7:]: array for name, array in arrays.items() if name.startswith("shapes.")})
    return State(basis=Basis(**{**basis, "reach": float(basis["reach"])}), told=tuple(told), scales=scales, **rest)


def _of_shapes(shapes: Shapes) -> dict[str, np.ndarray]:
    laws = {one.name: getattr(shapes.laws, one.name) for one in fields(Laws)}
    return laws | {one.name: np.asarray(getattr(shapes, one.name)) for one in fields(Shapes) if one.name != "laws"}


def _shapes(arrays: dict[str, np.ndarray]) -> Shapes | None:
    if not arrays:
        return None
    laws = Laws(**{one.name: arrays[one.name] for one in fields(Laws)})
    rest: dict[str, Any] = {one.name: arrays[one.name] for one in fields(Shapes) if one.name != "laws"}
    rest |= {name: rest[name].item() for name in ("centre", "spread")} | {"shrink": tuple(rest["shrink"].tolist())}
    return Shapes(laws=laws, **rest)
