"""An insider changes an estimate, and every hash with it. Verify says what it was."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from estimates import day, released, write_day
from insider import Change, of_table, rewrite
from support import Dataset, table

from tasks.account.entry import Stated
from tasks.base.errors import LedgerBroken
from tasks.upkeep.verify import verify_ledger


@pytest.fixture
def dataset(dataset: Dataset) -> Dataset:
    """Return a dataset with an estimated day, with percentiles and shares."""
    dataset.set(mechanism="estimated", target_error=None, epsilon_per_day=60.0, epsilon_total=100.0)
    dataset.set(percentiles=[50], limits=[30])
    write_day(dataset, day(0), seed=0)
    dataset.run_day()
    return dataset


def of_column(name: str, by: float = 0.9) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(pl.col(name) * by)


def other_support(frame: pl.DataFrame) -> pl.DataFrame:
    other = {"measured": "modelled", "modelled": "measured"}
    return frame.with_columns(pl.col("support").replace(other))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (of_column("mean"), "the released table does not follow from the noisy answers"),
        (of_column("mean_day_share"), "mean_day_share does not follow from the noisy answers"),
        (other_support, "support does not follow from mean_area and mean_day_share"),
        (lambda frame: frame.with_columns(n_users=pl.col("n_users") + 1), "the released table is not what was planned"),
        (lambda frame: frame.drop("p50"), "columns of percentiles or shares are missing"),
    ],
)
def test_a_changed_table_is_found_though_every_hash_agrees(
    change: Callable[[pl.DataFrame], pl.DataFrame], reason: str, dataset: Dataset
) -> None:
    rewrite(dataset, change(table(dataset)))
    with pytest.raises(LedgerBroken, match=reason):
        verify_ledger(dataset.config)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("joint.parquet", of_column("cell_mean")),
        ("joint_shares.parquet", of_column("share_above")),
        ("typical.parquet", of_column("typical_mean")),
        ("typical.parquet", lambda frame: frame.head(2)),
        ("typical.parquet", lambda frame: frame.with_columns(kind_of_day=pl.lit("sunday"))),
        ("typical.parquet", lambda frame: frame.with_columns(typical_mean=pl.lit(None, pl.Float64))),
        ("measurements.parquet", of_column("noise_sd")),
    ],
)
def test_a_further_table_that_is_changed_is_found_though_every_hash_agrees(
    name: str, change: Callable[[pl.DataFrame], pl.DataFrame], dataset: Dataset
) -> None:
    rewrite(dataset, table(dataset), {name: of_table(change)})
    with pytest.raises(LedgerBroken, match=f"{name} does not follow from the noisy answers"):
        verify_ledger(dataset.config)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda _: {"learned_from": 1}, "learned_from is not what the plans give"),
        (lambda _: {"states": {}}, "the state after it is missing, or is of a revision"),
        (lambda entry: {"states": entry["states"] | {"before": "0" * 64}}, "state before it is not that of what it"),
        (lambda _: {"joint_error": {"least": "1.00", "largest": "9.00"}}, "joint_error does not follow"),
        (lambda entry: {"whole_day": entry["whole_day"] | {"mean": "1.5"}}, "whole_day does not follow"),
        (lambda _: {"user_key_fingerprint": "0" * 64}, "is not the key the ledger was written with"),
        (lambda entry: {"rows": entry["rows"] | {"kept": 1}}, "rows"),
    ],
)
def test_a_changed_statement_is_found_though_every_hash_agrees(
    change: Callable[[Stated], dict[str, Any]], reason: str, dataset: Dataset
) -> None:
    (entry,) = released(dataset)
    rewrite(dataset, table(dataset), stated=change(dict(entry.stated)))
    with pytest.raises(LedgerBroken, match=reason):
        verify_ledger(dataset.config)


def test_a_day_that_was_only_written_again_is_sound(dataset: Dataset) -> None:
    """So what is found above is the change."""
    unchanged: dict[str, Change | None] = {"typical.parquet": of_table(lambda frame: frame)}
    rewrite(dataset, table(dataset), unchanged)
    assert verify_ledger(dataset.config).n_releases == 1
