"""The table from which follows the share of records above a limit in any area and period."""

import polars as pl

from dpmath.estimate.asked import Asked
from dpmath.estimate.law_bins import Bins
from dpmath.estimate.law_shares import shares_above
from dpmath.estimate.posterior import Estimate
from dpmath.estimate.state import POINTS
from tasks.base.config import Config
from tasks.kinds.estimated.asked_day import limits_in_points
from tasks.kinds.estimated.laws import seen_of
from tasks.output_formats.joint import JOINT_SHARES, joint_frame, says_another


def share_tables(cells: pl.DataFrame, estimate: Estimate, asked: Asked, config: Config) -> dict[str, pl.DataFrame]:
    """Return the table by the name of its file, one row per limit and cell; none if no limit is published.

    Args:
        cells: One row per cell, in the order of the statistics: h3_cell, as text, slot_start and n_records.
        estimate: The estimate of the day.
        asked: What its questions were made from.
        config: Says which limits.
    """
    limits = config.statistics.limits
    if not limits:
        return {}
    seen, bins, tables = seen_of(estimate, asked), Bins(asked.value_range), []
    for limit, point in zip(limits, limits_in_points(config), strict=True):
        found = shares_above(seen, bins, point)
        numbers = {
            "limit": pl.repeat(float(limit), cells.height, dtype=pl.Float64, eager=True),
            "n_records": cells["n_records"],
            "share_above": found.above,
            "by_mean": found.by_mean * POINTS / float(config.value.span),
        }
        tables.append(joint_frame(cells.select("h3_cell", "slot_start"), numbers, found.apart, 1.0))
    return {JOINT_SHARES: pl.concat(tables)}


def says_other_shares(expected: pl.DataFrame, found: pl.DataFrame, tolerance: float, config: Config) -> bool:
    """Return whether a table says something else than the one that is made again.

    Args:
        expected: The table as it is made again.
        found: The released table.
        tolerance: How far a share may be from that made again.
        config: Gives the range of values.
    """
    if expected.schema != found.schema or not expected["limit"].equals(found["limit"]):
        return True
    ours, theirs = (
        one.with_columns(by_mean=float(config.value.span) * pl.col("by_mean")).partition_by(
            "limit", maintain_order=True
        )
        for one in (expected, found)
    )
    return any(says_another(one, other, tolerance) for one, other in zip(ours, theirs, strict=True))
