"""What the occupancy alone says of each cell: how long users stay, how far they move, how many they are."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from dpmath.core.occupancy import IntArray
from dpmath.estimate.day import Day, FloatArray

N_OF_OCCUPANCY = 18
_N_AROUND = 6
_NEIGHBOUR_SPACINGS = 1.3
_LENGTH_STEP, _MOST_STEPS = 1e-4, 1e9
_PAIRS_AT_ONCE = 1 << 22
_MOST_PLACES = 2000
"""A user with more hexagons in one slot is no vehicle: no way is made of them, which would take much memory."""


def covariates(day: Day, of_occupancy: bool) -> FloatArray:
    """Return the covariates of each cell: those of the occupancy if wanted, and the owner's, shape (G, n).

    Source:
        HV-E1.
    """
    own = day.covariates if day.covariates.size else np.zeros((day.occupancy.n_cells, 0))
    if not of_occupancy:
        return own
    found = _of_occupancy(day)
    return np.column_stack([found - np.average(found, axis=0, weights=day.occupancy.cell_records), own])


def _of_occupancy(day: Day) -> FloatArray:
    """Return the covariates of the occupancy, shape (G, N_OF_OCCUPANCY). Lengths are in hexagons."""
    occupancy = day.occupancy
    records, hexagon = occupancy.n_records.astype(float), day.hexagon[occupancy.cell]
    hour = _Hours(day)
    of_pairs = {
        "records": np.log(records),
        "share": records / hour.records[hour.of_pair],
        "hexagons": np.log(hour.n_hexagons[hour.of_pair]),
        "spread": np.log1p(hour.spread[hour.of_pair] / day.spacing),
        "movement": np.log1p(hour.movement[hour.of_pair] / day.spacing),
        "pace": np.log1p(hour.way / day.spacing * hour.records[hour.of_pair] / records),
        "neighbours": hour.n_neighbours / _N_AROUND,
    }
    of_hexagons = [_means(hexagon, values, records, day.names.size)[day.hexagon] for values in of_pairs.values()]
    centre = np.average(day.position[hexagon], axis=0, weights=records)
    from_centre = np.linalg.norm(day.position[day.hexagon] - centre, axis=1)
    columns = [
        *(day.cell_means(values) for values in of_pairs.values()),
        day.cell_means(np.log(hour.records[hour.of_pair])),
        np.log(np.bincount(occupancy.cell, minlength=occupancy.n_cells)),
        np.log(occupancy.cell_records),
        np.log1p(from_centre / day.spacing),
        *of_hexagons,
    ]
    return np.column_stack(columns)


class _Hours:
    """Where each user was in each slot of the day: one row per user and slot that has records.

    Attributes:
        of_pair: Row of each pair, shape (P,).
        records: Records of each row.
        n_hexagons: Number of hexagons of each row.
        spread: Root mean square distance of the records from their centre.
        movement: How far the centre moves in one slot, from the slots before and after.
        way: Of each pair, how much of the user's way through the slot belongs to the hexagon, shape (P,).
        n_neighbours: Of each pair, in how many neighbouring hexagons the user was in the same slot, shape (P,).
    """

    def __init__(self, day: Day) -> None:
        occupancy = day.occupancy
        key = occupancy.user * (day.n_slots + 1) + day.slot[occupancy.cell]  # so no two users' slots are neighbours
        keys, self.of_pair = np.unique(key, return_inverse=True)
        places = day.position[day.hexagon[occupancy.cell]]
        records = occupancy.n_records.astype(float)
        self.records = np.bincount(self.of_pair, records)
        self.n_hexagons = np.bincount(self.of_pair)
        centre = np.column_stack([_means(self.of_pair, place, records, keys.size) for place in places.T])
        off = ((places - centre[self.of_pair]) ** 2).sum(axis=1)
        self.spread = np.sqrt(_means(self.of_pair, off, records, keys.size))
        follows = np.diff(keys) == 1
        has_before, has_after = np.append(False, follows), np.append(follows, False)
        row = np.arange(keys.size)
        way = centre[np.where(has_after, row + 1, row) % keys.size] - centre[np.where(has_before, row - 1, row)]
        self.movement = np.linalg.norm(way, axis=1) / np.maximum(has_before.astype(int) + has_after, 1)
        self.way, self.n_neighbours = _ways(self.of_pair, places, day.spacing)


def _ways(group: IntArray, places: FloatArray, spacing: float) -> tuple[FloatArray, FloatArray]:
    """Return the length of way at each place of a group, and how many neighbours it has there, both of shape (P,).

    The way through a group's places is taken to be the shortest net that joins them. Half of each of its edges belongs
    to either end.

    Args:
        group: Group of each place, shape (P,).
        places: The places, in kilometres in space, shape (P, 3).
        spacing: Distance between neighbouring hexagons, in kilometres.
    """
    way, n_neighbours = np.zeros(group.size), np.zeros(group.size)
    sizes = np.bincount(group)
    order = np.argsort(group, kind="stable")
    order = order[sizes[group[order]] <= _MOST_PLACES]
    parts = np.cumsum(sizes * (sizes - 1) // 2) // _PAIRS_AT_ONCE
    for one in np.split(order, np.flatnonzero(np.diff(parts[group[order]])) + 1):
        left, right = (one[ends] for ends in _within(group[one]))
        if not left.size:
            continue
        length = np.sqrt(sum((along[left] - along[right]) ** 2 for along in places.T))
        near = length < _NEIGHBOUR_SPACINGS * spacing
        n_neighbours += np.bincount(np.append(left[near], right[near]), minlength=group.size)
        kept = _shortest_net(left, right, length / spacing, group.size)
        half = np.tile(length[kept] / 2, 2)
        way += np.bincount(np.append(left[kept], right[kept]), half, group.size)
    return way, n_neighbours


def _within(group: IntArray) -> tuple[IntArray, IntArray]:
    """Return every two places of the same group, whose places follow one another, as two arrays of numbers."""
    place = np.arange(group.size)
    lefts, rights = [place[:0]], [place[:0]]
    for apart in range(1, group.size):
        left = place[:-apart][group[apart:] == group[:-apart]]
        if not left.size:
            break
        lefts.append(left)
        rights.append(left + apart)
    return np.concatenate(lefts), np.concatenate(rights)


def _shortest_net(left: IntArray, right: IntArray, length: FloatArray, n_places: int) -> IntArray:
    """Return which edges join the places of each group at the least length.

    Of edges as long as each other the first is taken, and lengths are compared in whole steps: so the net is the same
    on every machine. Edges of more than ``_MOST_STEPS`` count as equally long.
    """
    in_steps = np.minimum(np.rint(length / _LENGTH_STEP), _MOST_STEPS)
    rank = in_steps * left.size + np.arange(left.size)  # no two are equal, and doubles hold them exactly
    net = minimum_spanning_tree(coo_array((rank + 1, (left, right)), shape=(n_places, n_places)).tocsr())
    return np.sort((net.data.astype(np.int64) - 1) % left.size)


def _means(group: np.ndarray, values: FloatArray, weights: FloatArray, n_groups: int) -> FloatArray:
    """Return the weighted mean of each group; 0 for one that is empty."""
    return np.bincount(group, values * weights, n_groups) / np.maximum(np.bincount(group, weights, n_groups), 1e-300)
