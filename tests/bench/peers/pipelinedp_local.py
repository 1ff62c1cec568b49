"""PipelineDP: the mean of each cell on its local backend, users' contributions sampled by the library."""
# pyright: reportMissingImports=false, reportMissingModuleSource=false

import csv
import sys
from pathlib import Path

import pipeline_dp
import pyarrow.parquet as pq

path, epsilon, n_cells, records_per_cell, upper, out = sys.argv[1:]
records = zip(*(pq.read_table(path)[name].to_pylist() for name in ("user_id", "cell", "value")), strict=True)
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=float(epsilon), total_delta=0)
parameters = pipeline_dp.AggregateParams(
    metrics=[pipeline_dp.Metrics.MEAN],
    noise_kind=pipeline_dp.NoiseKind.LAPLACE,
    max_partitions_contributed=int(n_cells),
    max_contributions_per_partition=int(records_per_cell),
    min_value=0,
    max_value=float(upper),
)
extractors = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda record: record[0],
    partition_extractor=lambda record: record[1],
    value_extractor=lambda record: record[2],
)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
result = engine.aggregate(list(records), parameters, extractors, public_partitions=list(range(200)))
accountant.compute_budgets()
with Path(out).open("w", newline="") as file:
    csv.writer(file).writerows([("cell", "mean"), *((cell, metrics.mean) for cell, metrics in result)])
