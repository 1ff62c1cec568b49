"""SmartNoise SQL: the mean of each cell by a query, users' records sampled by the library."""
# pyright: reportMissingImports=false, reportMissingModuleSource=false

import sys

import pandas as pd
from snsql import Privacy, from_df

path, epsilon, n_cells, records_per_cell, upper, out = sys.argv[1:]
table = {
    "max_ids": int(n_cells) * int(records_per_cell),
    "censor_dims": False,
    "user_id": {"type": "int", "private_id": True},
    "cell": {"type": "int"},
    "value": {"type": "float", "lower": 0.0, "upper": float(upper)},
}
records = pd.read_parquet(path, columns=["user_id", "cell", "value"])
privacy = Privacy(epsilon=float(epsilon) / 2, delta=1e-10)
reader = from_df(records, privacy=privacy, metadata={"": {"city": {"records": table}}})
rows = reader.execute("SELECT cell, AVG(value) AS mean FROM city.records GROUP BY cell")
pd.DataFrame(rows[1:], columns=rows[0]).to_csv(out, index=False)
