"""Numbers of records in bins, as layers of cells: so what is asked of laws is one measurement like any other."""

from dataclasses import dataclass

import numpy as np

from dpmath.core.accounting import ExactIntArray
from dpmath.core.currency import Currency
from dpmath.core.occupancy import IntArray, Occupancy
from dpmath.estimate.day import FloatArray
from dpmath.estimate.law_bins import N_BINS
from dpmath.estimate.measurement import Measurement
from dpmath.estimate.questions import PrivateDay
from dpmath.estimate.taken import Design
from dpmath.estimate.whole import OfPairs, in_whole_numbers
from dpmath.noise.sampling import RandomBytes

LARGEST = 1 << 20
"""A record's number in a layer is a whole one from 0 to this."""


def layered(occupancy: Occupancy, n_layers: int) -> Occupancy:
    """Return the occupancy in which each cell is there once for each layer, with the same users and records.

    Pair p of layer k is pair k P + p, and cell g of layer k is cell k G + g.

    Source:
        HV-L55.
    """
    layer = np.repeat(np.arange(n_layers, dtype=np.int64), occupancy.cell.size)
    return Occupancy(
        layer * occupancy.n_cells + np.tile(occupancy.cell, n_layers),
        np.tile(occupancy.user, n_layers),
        np.tile(occupancy.n_records, n_layers),
        n_layers * occupancy.n_cells,
        occupancy.n_users,
    )


def whole_table(numbers: FloatArray, least: FloatArray, largest: FloatArray) -> IntArray:
    """Return the table of each layer in whole numbers, shape (K, N_BINS): 0 for the least, ``LARGEST`` for the largest.

    Args:
        numbers: A number of each bin in each layer, shape (K, N_BINS).
        least: The least of each layer, shape (K,).
        largest: The largest of each layer, shape (K,).

    Source:
        HV-L55.
    """
    share = (numbers - least[:, None]) / (largest - least)[:, None]
    return np.rint(np.clip(share, 0.0, 1.0) * LARGEST).astype(np.int64)


@dataclass(frozen=True)
class Layered:
    """A measurement of layers: a record counts in layer k by the number that its bin has there.

    Attributes:
        measurement: What is measured of the layers' totals.
        table: The number of each bin in each layer, shape (K, N_BINS), 0 to LARGEST.

    Raises:
        ValueError: The table or the measurement is not of layers.

    Source:
        HV-L55.
    """

    measurement: Measurement
    table: IntArray

    @classmethod
    def of(
        cls, design: Design, layers: Occupancy, expected: FloatArray, table: IntArray, radius: IntArray, scale: int
    ) -> "Layered":
        """Return the measurement in whole numbers of a design.

        Args:
            design: What is meant; a row is a cell of a layer.
            layers: The occupancy by layers.
            expected: The mean number that is expected in each cell of each layer, as a share of LARGEST, shape (K, G).
            table: The number of each bin in each layer.
            radius: Radius of each user's ball, shape (L,).
            scale: LOSS_UNITS over the scale of the noise.
        """
        centre = np.rint(np.clip(expected, 0.0, 1.0).ravel() * LARGEST).astype(np.int64)
        pairs = OfPairs(layers, layers.cell, centre, LARGEST)
        return cls(in_whole_numbers(design, pairs, radius, scale, "l2"), table)

    def __post_init__(self) -> None:
        """Check that totals of the table are totals of the measurement."""
        if self.table.ndim != 2 or self.table.shape[1] != N_BINS or self.table.shape[0] < 1:
            raise ValueError("table must be of shape (K, N_BINS)")
        if self.table.min() < 0 or self.table.max() > LARGEST or self.measurement.value_range != LARGEST:
            raise ValueError("table must be from 0 to LARGEST, which is the measurement's value_range")
        measured, shape = self.measurement, (len(self.table), -1)
        if measured.occupancy.cell.size % shape[0] or np.ptp(measured.weight.reshape(shape), axis=0).any():
            raise ValueError("the measurement must have the same pairs and weights in each layer")
        if not np.array_equal(measured.row, measured.occupancy.cell):
            raise ValueError("each cell of a layer must have a row of its own")

    @property
    def n_pairs(self) -> int:
        """Number of pairs of one layer; the layers' weights are the same."""
        return self.measurement.occupancy.cell.size // len(self.table)

    def losses(self, currency: Currency) -> ExactIntArray:
        """Return what moving by a diameter costs."""
        return self.measurement.losses(currency)

    def noisy(self, private: PrivateDay, random_bytes: RandomBytes) -> ExactIntArray:
        """Return the noisy sum of each query; keeps the rooms for the next question.

        Raises:
            ValueError: The records of the day were not counted in bins.
        """
        if private.bins is None:
            raise ValueError("the records of the day must be counted in bins")
        totals, layers = private.bins.totals(self.table), len(self.table)
        day = PrivateDay(self.measurement.occupancy, totals.ravel(), np.tile(private.n_missing, layers))
        answers = self.measurement.answers(day.filled(self.measurement.centre[self.measurement.row]))
        private.room = answers.room
        return answers.noisy_sums(random_bytes)
