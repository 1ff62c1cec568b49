"""A design in whole numbers: what is measured exactly, from what was meant in floating point."""

from dataclasses import dataclass

import numpy as np

from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.measurement import Measurement, Norm
from dpmath.estimate.state import POINTS
from dpmath.estimate.taken import Design

RADIUS = 1 << 16
"""Radius of the ball of a user whose budget is not short."""
_LOADING_BITS = 20
_PAIR_BITS = 30
_MOST_SHIFT = 40
_AT_ONCE = 1024
"""So many rows are looked at together: fresh memory for all costs more than the numbers in it."""


@dataclass(frozen=True)
class OfPairs:
    """The pairs that are measured.

    Attributes:
        occupancy: The occupancy array, P pairs.
        row: Row of each pair, shape (P,).
        centre: Public centre of each row, in ticks a record, shape (R,).
        value_range: Largest value of a record, in ticks.
    """

    occupancy: Occupancy
    row: IntArray
    centre: IntArray
    value_range: int


def in_whole_numbers(design: Design, pairs: OfPairs, radius: IntArray, inverse_scale: int, norm: Norm) -> Measurement:
    """Return a design in whole numbers: a loading has about 20 bits, a weighted pair at most 30.

    Source:
        HV-L52.
    """
    occupancy, value_range = pairs.occupancy, pairs.value_range
    size = max(float(design.loading.max(initial=0.0)), -float(design.loading.min(initial=0.0)), 1e-300)
    loading = np.empty(design.loading.shape, dtype=np.int64)
    for first in range(0, len(loading), _AT_ONCE):
        here = slice(first, first + _AT_ONCE)
        loading[here] = np.rint(design.loading[here] / (size / (1 << _LOADING_BITS)))
    in_ticks = design.weight * (POINTS / value_range) / occupancy.n_records * size * RADIUS
    # in_ticks (total - centre) loading / 2^20 is a component in units of the radius; both shifts keep digits
    most = float((np.abs(in_ticks) * occupancy.n_records).max(initial=0.0)) * value_range or 1.0
    n_pairs = int(np.bincount(occupancy.user).max())
    pair_bits = min(_PAIR_BITS, 61 - _LOADING_BITS - n_pairs.bit_length())  # so a user's sum fits in 64 bits
    shift_of_pairs = int(np.clip(np.floor(pair_bits - np.log2(most)), -_LOADING_BITS, _MOST_SHIFT))
    weight_bits = int(np.clip(61 - np.ceil(np.log2(most)), shift_of_pairs, shift_of_pairs + 30))
    weight = np.rint(np.ldexp(in_ticks, weight_bits)).astype(np.int64)
    pair_shift = max(0, weight_bits - shift_of_pairs)
    shift = max(0, shift_of_pairs + _LOADING_BITS)
    return Measurement(
        occupancy, pairs.row, value_range, pairs.centre, weight, pair_shift, loading, shift, radius, inverse_scale, norm
    )
