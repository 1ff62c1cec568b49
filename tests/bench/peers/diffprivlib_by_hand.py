"""diffprivlib: the mean of each cell; it knows records only, so users' contributions are bounded by hand."""
# pyright: reportMissingImports=false, reportMissingModuleSource=false

import sys
from pathlib import Path

import pandas as pd
from diffprivlib.tools import sum as noisy_sum

path, epsilon, n_cells, records_per_cell, upper, out = sys.argv[1:]
records = pd.read_parquet(path, columns=["user_id", "cell", "value"]).sample(frac=1)
visited = records.drop_duplicates(["user_id", "cell"]).groupby("user_id").head(int(n_cells))
kept = records.merge(visited[["user_id", "cell"]]).groupby(["user_id", "cell"]).head(int(records_per_cell))
share, most = float(epsilon) / int(n_cells) / 2, float(upper) * int(records_per_cell)
with Path(out).open("w") as file:
    file.write("cell,mean\n")
    for cell, values in kept.groupby("cell"):
        users = values.groupby("user_id")["value"].agg(["sum", "size"])
        total = noisy_sum(users["sum"], epsilon=share, bounds=(0, most))
        size = noisy_sum(users["size"], epsilon=share, bounds=(0, int(records_per_cell)))
        file.write(f"{cell},{total / max(size, 1)}\n")
