"""The warehouse: kept open between steps, and let go of."""

import fcntl
from pathlib import Path

import pytest
from support import Dataset

from tasks.base import warehouse


def is_free(dataset: Dataset) -> bool:
    """Tell whether another process would get its turn at the warehouse now."""
    with Path(dataset.folder / "store" / "private" / "warehouse.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def fail(dataset: Dataset) -> None:
    with warehouse.connect(dataset.config) as connection, warehouse.any_order(connection):
        connection.sql("from nowhere")


def test_a_warehouse_is_kept_open_from_its_first_connection_to_the_end_of_the_block(dataset: Dataset) -> None:
    with warehouse.connect(dataset.config):
        assert not is_free(dataset)
    with warehouse.kept_open(dataset.config):
        assert is_free(dataset), "nobody waits for one who has not come"
        with warehouse.connect(dataset.config) as connection:
            connection.execute("create temp table passing (number integer)")
            connection.execute("insert into late_day values (date '2026-01-15', 3)")
        assert not is_free(dataset)
        with warehouse.connect(dataset.config) as connection:
            assert connection.sql("from late_day").fetchall()[0][1] == 3
            with pytest.raises(warehouse.EngineError, match="passing"):
                connection.sql("from passing")
    assert is_free(dataset)


def test_a_block_within_another_changes_nothing(dataset: Dataset) -> None:
    with warehouse.kept_open(dataset.config):
        with warehouse.kept_open(dataset.config), warehouse.connect(dataset.config):
            pass
        assert not is_free(dataset)
    assert is_free(dataset)


def test_an_error_lets_go_of_a_warehouse_that_is_kept_open(dataset: Dataset) -> None:
    """What ends one step may have damaged what is open; and the next attempt may be a minute away."""
    with warehouse.kept_open(dataset.config):
        with pytest.raises(warehouse.EngineError):
            fail(dataset)
        assert is_free(dataset)
        with warehouse.connect(dataset.config) as connection:
            assert connection.sql("select current_setting('preserve_insertion_order')").fetchall() == [(True,)]
        assert not is_free(dataset)
    assert is_free(dataset)
