"""A sum as a plan stores it: one moment of its published cells and pairs, for the draw and for recomputing."""

from dataclasses import dataclass

import polars as pl

from dpmath.core.accounting import LOSS_UNITS
from tasks.base.config import Config
from tasks.kinds.cell_sums.plan import MOMENTS
from tasks.kinds.stored_plan import StoredPlan


@dataclass(frozen=True)
class StoredSum:
    """One moment of a stored plan.

    Attributes:
        cells: The plan's published cells, in its order.
        pairs: The plan's pairs, in its order.
        moment: "mean" or "square".
        config: The configuration that the plan was made with.
    """

    cells: pl.DataFrame
    pairs: pl.DataFrame
    moment: str
    config: Config

    @property
    def value_range(self) -> int:
        """The largest value one record can have in the sum."""
        return self.config.value.n_ticks ** (2 if self.moment == "square" else 1)

    def of_cells(self, name: str) -> pl.Series:
        """Return the moment's column ``name`` of the cells."""
        return self.cells[f"{self.moment}_{name}"]

    def of_pairs(self, name: str) -> pl.Series:
        """Return the moment's column ``name`` of the pairs."""
        return self.pairs[f"{self.moment}_{name}"]

    def scales(self) -> dict[str, str]:
        """Return the least and the largest scale of the noise, in the sum's own unit."""
        inverse_scales = self.of_cells("inverse_scale")
        return {
            "scale_least": f"{LOSS_UNITS}/{inverse_scales.max()}",
            "scale_largest": f"{LOSS_UNITS}/{inverse_scales.min()}",
        }


def stored_sums(plan: StoredPlan, config: Config) -> list[StoredSum]:
    """Return each moment's sum of a plan. The configuration must be the one that it was made with."""
    moments = [moment for moment in MOMENTS if f"{moment}_inverse_scale" in plan.cells.columns]
    return [StoredSum(plan.published, plan.pairs, moment, config) for moment in moments]
