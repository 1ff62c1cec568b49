"""Tumult Analytics: the mean of each cell, users' contributions truncated by the library."""
# pyright: reportMissingImports=false, reportMissingModuleSource=false

import sys

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

path, epsilon, n_cells, records_per_cell, upper, out = sys.argv[1:]
records = SparkSession.builder.getOrCreate().read.parquet(path).select("user_id", "cell", "value")
budget = PureDPBudget(float(epsilon))
session = Session.from_dataframe(budget, "records", records, protected_change=AddRowsWithID("user_id"))
query = (
    QueryBuilder("records")
    .enforce(MaxGroupsPerID("cell", int(n_cells)))
    .enforce(MaxRowsPerGroupPerID("cell", int(records_per_cell)))
    .groupby(KeySet.from_dict({"cell": range(200)}))
    .average("value", low=0, high=float(upper), name="mean")
)
session.evaluate(query, budget).toPandas().to_csv(out, index=False)
