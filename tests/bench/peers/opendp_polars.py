"""OpenDP: the mean of each cell by its Polars queries, users' records sampled by the library.

It samples a user's records over all cells: its sampling of cells fails with the Polars that it comes with.
"""
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportAttributeAccessIssue=false

import sys

import opendp.prelude as dp
import polars as pl

path, epsilon, n_cells, records_per_cell, upper, out = sys.argv[1:]
dp.enable_features("contrib")
context = dp.Context.compositor(
    data=pl.scan_parquet(path).select("user_id", "cell", "value"),
    privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
    privacy_loss=dp.loss_of(epsilon=float(epsilon)),
    split_evenly_over=1,
    margins=[dp.polars.Margin(max_length=2_000_000, max_groups=200), dp.polars.Margin(by=["cell"], max_groups=200)],
)
query = (
    context.query()
    .truncate_per_group(int(n_cells) * int(records_per_cell))
    .group_by("cell")
    .agg(mean=pl.col("value").fill_null(0.0).fill_nan(0.0).dp.mean((0.0, float(upper))))
    .with_keys(pl.LazyFrame({"cell": range(200)}))
)
query.release().collect().write_csv(out)
