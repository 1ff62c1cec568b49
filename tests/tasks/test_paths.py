"""What the path of a file says is not what its records say, unless the configuration asks for it."""

import polars as pl
import pytest
from reading import ROW, ingest, rows_of
from support import Dataset

HEADER = "bus,time,lat,lon,speed\n"


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("folder", ["bus=other", "speed=99", "user_id=other/value=99/latitude=1", "time=2020-01-01"])
def test_no_name_of_a_folder_takes_the_place_of_a_column(name: str, folder: str, dataset: Dataset) -> None:
    dataset.set(files=["raw/**/a.*"])
    (dataset.folder / "raw" / folder).mkdir(parents=True)
    path = dataset.write(f"{folder}/{name}", HEADER + ROW)
    if name == "a.parquet":
        pl.read_csv(path).write_parquet(path)
    ingest(dataset)
    assert [row[:1] + row[2:] for row in rows_of(dataset)] == [("bus1", 47.05, 8.31, 30)]
