"""Reading a dataset's files of a day, for tests of what becomes of them."""

import pytest
from support import DATE, Dataset

from tasks.base.errors import BadInput
from tasks.records.read.ingest import ingest_records

ROW = f"bus1,{DATE}T08:00:00Z,47.05,8.31,30\n"


def ingest(dataset: Dataset) -> None:
    """Read the files of ``DATE``."""
    ingest_records.fn(DATE, dataset.config)


def refusal(dataset: Dataset) -> str:
    """Return why they are refused, of which nothing else may hang on the error."""
    with pytest.raises(BadInput) as caught:
        ingest(dataset)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return str(caught.value)


def rows_of(dataset: Dataset) -> list[tuple[object, ...]]:
    """Return what was read, in one order."""
    return dataset.query("select user_id, epoch(observed_at), latitude, longitude, value from raw_record order by all")
