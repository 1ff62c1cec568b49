"""What the occupancy alone says of each cell: how long users stay, how far they move, how many they are."""

import numpy as np

from dpmath.estimate.day import Day, FloatArray

N_OF_OCCUPANCY = 14


def covariates(day: Day, of_occupancy: bool) -> FloatArray:
    """Return the covariates of each cell: those of the occupancy if wanted, and the owner's, shape (G, n).

    Source:
        HV-E1.
    """
    own = day.covariates if day.covariates.size else np.zeros((day.occupancy.n_cells, 0))
    return np.column_stack([_of_occupancy(day), own]) if of_occupancy else own


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


def _means(group: np.ndarray, values: FloatArray, weights: FloatArray, n_groups: int) -> FloatArray:
    """Return the weighted mean of each group; 0 for one that is empty."""
    return np.bincount(group, values * weights, n_groups) / np.maximum(np.bincount(group, weights, n_groups), 1e-300)
