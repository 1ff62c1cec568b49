import os
import re
import shutil
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import DATE, ENGINES, Dataset

from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.steps import Step
from tasks.engines import cluster, scratch, shard_store
from tasks.engines.sharded_ingest import ReadInput
from tasks.upkeep.forget import forget_days, held_days


@pytest.fixture
def engine() -> str:
    return ENGINES[1]


class Heard(NamedTuple):
    """What workers were given, and what they said."""

    step: Step[..., Any]
    calls: cluster.Calls
    outcomes: list[Any]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Heard]:
    """Return a list to which all that goes between this process and workers is added."""
    said: list[Heard] = []
    run_each = cluster.run_each

    def overheard(made: Step[..., Any], calls: cluster.Calls, config: Config) -> list[Any]:
        outcomes = run_each(made, calls, config)
        said.append(Heard(made, calls, outcomes))
        return outcomes

    monkeypatch.setattr(cluster, "run_each", overheard)
    return said


def stored(dataset: Dataset) -> list[str]:
    return shard_store.open_store(dataset.config).names()


def test_what_workers_are_given_and_say_of_new_files_is_the_same_whatever_the_values_are(
    busy_dataset: Dataset, heard: list[Heard]
) -> None:
    path = busy_dataset.folder / "raw" / "day.csv"
    said = []
    for _ in range(2):
        busy_dataset.prepare()
        steps = {one.step.fn.__name__: (one.calls, one.outcomes) for one in heard}
        assert set(steps) == {"read_input", "index_shard"}
        said.append(re.sub(r"\b[0-9a-f]{32}\b", "drawn", repr(steps)))
        shutil.rmtree(busy_dataset.folder / "store")
        path.write_text(re.sub(r"(?m),\d+$", ",87.1234", path.read_text()))
    assert "version=''" in said[0]
    assert said[0] == said[1]


def test_of_a_file_that_was_read_before_a_worker_says_whether_it_is_as_it_was_and_no_more(
    busy_dataset: Dataset, heard: list[Heard]
) -> None:
    path = busy_dataset.folder / "raw" / "day.csv"
    busy_dataset.prepare()
    os.utime(path, (1, 1))
    busy_dataset.prepare()
    path.write_text(path.read_text() + f"bus99,{DATE}T08:00:00Z,47.05,8.31,1\n")
    busy_dataset.prepare()
    first, same, changed = (one.outcomes for one in heard if one.step.fn.__name__ == "read_input")
    assert same == [ReadInput(1, None)]
    for file_id, (one,) in ((1, first), (2, changed)):
        assert vars(one).keys() == {"file_id", "folder"}
        assert one.file_id == file_id
        assert re.fullmatch(rf"parts/{file_id}/[0-9a-f]{{32}}", one.folder)


@pytest.mark.quick(1)
@pytest.mark.parametrize("step", ["read_input", "index_shard"])
def test_a_worker_that_outlives_its_run_keeps_nothing_of_a_day_that_was_forgotten_meanwhile(
    busy_dataset: Dataset, heard: list[Heard], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    busy_dataset.prepare()
    made, calls, _ = next(one for one in heard if one.step.fn.__name__ == step)
    here, put = busy_dataset.config, shard_store.Store.put
    busy_dataset.set(scratch="disk-of-another-machine")

    def forget_and_put(store: shard_store.Store, file: Path, name: str) -> None:
        forget_days([DATE], here)
        put(store, file, name)

    monkeypatch.setattr(shard_store.Store, "put", forget_and_put)
    with pytest.raises(HexveilError, match="the run that gave out this work is over"):
        made.fn(**{**calls[0], "config": busy_dataset.config})
    assert stored(busy_dataset) == ["fence", "owner"]


def test_forgetting_waits_for_a_worker_in_the_scratch_folder_that_it_sees(busy_dataset: Dataset) -> None:
    busy_dataset.prepare()
    forgetting = threading.Thread(target=forget_days, args=([DATE], busy_dataset.config))
    with scratch.scratch(busy_dataset.config):
        forgetting.start()
        forgetting.join(timeout=0.5)
        assert forgetting.is_alive()
        assert held_days(busy_dataset.config) == {DATE: 288}
    forgetting.join(timeout=60)
    assert held_days(busy_dataset.config) == {}


def test_what_is_stored_after_a_sweep_has_looked_is_not_kept(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    config, names = dataset.config, shard_store.Store.names
    (dataset.folder / "store" / "private").mkdir(parents=True)
    shard_store.sweep(set(), "earlier", config)
    worker = shard_store.open_store(config, "earlier")
    worker.put(dataset.config_file, "parts/1")
    assert stored(dataset) == ["fence", "owner", "parts/1"]

    def names_and_then_one_more(store: shard_store.Store) -> list[str]:
        found = names(store)
        with pytest.raises(HexveilError, match="the run that gave out this work is over"):
            worker.put(dataset.config_file, "parts/2")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(shard_store.Store, "names", names_and_then_one_more)
        assert shard_store.sweep(set(), "later", config) == 1
    assert stored(dataset) == ["fence", "owner"]
