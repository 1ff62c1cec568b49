"""A kind of release is one value: given random bytes make the same day, and a new kind takes a value and two rows."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandera.polars as pa
import polars as pl
import pytest
from screened import screen, write_day
from support import CLIP_USER, DATE, Dataset, choose, table

from tasks.account import ledger, mirror
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.kinds.cell_sums.stored_sum import StoredSum
from tasks.kinds.clipped.kind import Clipped
from tasks.kinds.kind import Drawing, Drawn
from tasks.kinds.table import KINDS, kind_of
from tasks.output_formats.columns import COLUMNS, meaning
from tasks.planning.plan import plan_release
from tasks.proposals.mechanisms import MECHANISMS
from tasks.release.draw import release_with
from tasks.release.publish import publish_files
from tasks.upkeep.verify import verify_ledger


def source(seed: int) -> Callable[[int], bytes]:
    """Return a source of bytes that gives the same ones each time."""
    return np.random.default_rng(seed).bytes


def released_with(dataset: Dataset, *seeds: int) -> list[list[float]]:
    """Return the means of a planned day that is released with some bytes, each time as if for the first time."""
    dataset.prepare()
    plan_hash, found = plan_release.fn(DATE, dataset.config), []
    store, planned = dataset.folder / "store", dataset.folder / "planned"
    store.rename(planned)
    for seed in seeds:
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(planned, store)
        publish_files.fn(release_with(DATE, plan_hash, dataset.config, source(seed)), dataset.config)
        found.append(table(dataset)["mean"].to_list())
    return found


@pytest.mark.quick(1)
@pytest.mark.parametrize("mechanism", ["estimated", "planned", "array-averaging", "quantile"])
def test_given_random_bytes_release_the_same_day_again_and_others_another(
    uneven: Dataset, mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every draw takes its bytes from the one source: none is left to the system's."""
    choose(uneven, mechanism)
    monkeypatch.setattr("tasks.base.randomness.random_bytes", lambda _: pytest.fail("bytes of another source"))
    first, again, other = released_with(uneven, 1, 1, 2)
    assert first == again
    assert first != other
    assert verify_ledger(uneven.config).n_releases == 1


def test_the_count_that_screens_a_day_takes_its_bytes_from_the_same_source(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen(dataset, "zcdp", "estimated")
    write_day(dataset, 0)
    monkeypatch.setattr("tasks.base.randomness.random_bytes", lambda _: pytest.fail("bytes of another source"))
    released_with(dataset, 1)
    (entry,) = ledger.read_entries(dataset.config)
    assert entry.stated["screening"]["n_asked"] > 0


class Toy(Clipped):
    """Clipped sums that state one thing more: a kind of its own."""

    def described_sum(self, stored: StoredSum) -> dict[str, Any]:
        """Return what the ledger states, and that it is this kind."""
        return {**super().described_sum(stored), "toy": True}


def test_a_new_kind_is_a_value_and_two_rows(uneven: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    row = replace(MECHANISMS["planned"], name="toy", kind="toy", in_words="a toy")
    monkeypatch.setitem(MECHANISMS, "toy", row)
    monkeypatch.setitem(KINDS, "toy", Toy())
    choose(uneven, "toy")
    uneven.run_day()
    (entry,) = ledger.read_entries(uneven.config)
    assert entry.stated["mechanism"] == "toy"
    assert entry.stated["sums"]["mean"]["toy"] is True
    assert (table(uneven)["mean_error_bound"] > 0).all()
    assert verify_ledger(uneven.config).n_releases == 1


def test_every_column_of_every_kind_has_a_meaning_and_a_place_in_the_mirror(uneven: Dataset) -> None:
    """A test for who adds a kind: without these a release would be refused, or paid and then not published."""
    uneven.run_day()
    with mirror.connect(uneven.config) as connection:
        mirrored = {row[0] for row in connection.execute("select column_name from duckdb_columns()").fetchall()}
    for mechanism in MECHANISMS:
        choose(uneven, mechanism)
        for column in kind_of(uneven.config).schema(uneven.config).columns:
            assert meaning(column)
            assert column in mirrored


class Wider(Clipped):
    """Clipped sums with a column that nobody explains."""

    def release(self, drawing: Drawing) -> Drawn:
        """Draw, and add the column."""
        return Drawn(super().release(drawing).statistics.with_columns(unheard_of=pl.lit(1.0)))

    def schema(self, config: Config) -> pa.DataFrameSchema:
        """Return the schema with that column."""
        return super().schema(config).add_columns({"unheard_of": pa.Column(pl.Float64)})


def test_a_column_without_a_meaning_is_not_charged(uneven: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    uneven.set(**CLIP_USER)
    monkeypatch.setitem(KINDS, "clipped", Wider())
    with pytest.raises(HexveilError, match="unheard_of"):
        uneven.run_day()
    assert ledger.read_entries(uneven.config) == []


def test_a_column_that_the_mirror_lacks_is_published_all_the_same(
    uneven: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is charged before the mirror is written, so the mirror must not be what refuses it."""
    uneven.set(**CLIP_USER)
    monkeypatch.setitem(KINDS, "clipped", Wider())
    monkeypatch.setitem(COLUMNS, "unheard_of", "a column of a new kind")
    uneven.run_day()
    assert table(uneven)["unheard_of"].to_list() == [1.0] * len(table(uneven))
    known, entries = mirror.known_releases(uneven.config), ledger.read_entries(uneven.config)
    assert known == {entries[0].stated["release_id"]: entries[0].hash}
    mirror.check_rows(known, entries, uneven.config)
