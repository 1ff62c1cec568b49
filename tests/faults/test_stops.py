"""A stop that is killed: the count is drawn and charged once, and what was drawn beside it is nowhere."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import victim
from screened import N_BUSES, screen, write_day
from support import Campaign, Dataset, Say


@pytest.fixture
def unreadable(dataset: Dataset) -> Dataset:
    screen(dataset, "zcdp", "planned")
    write_day(dataset, N_BUSES)
    return dataset


@pytest.mark.parametrize("share", [0, 0.2, 0.999, 1])
def test_a_stop_killed_in_the_middle_of_its_append_is_charged_once(unreadable: Dataset, share: float) -> None:
    store = unreadable.folder / "store"
    assert victim.killed(600, victim.whole_day_killed_in_append, unreadable.folder, share)
    line = (store / "private" / "pending-entry").read_bytes()
    assert json.loads(line)["kind"] == "stopped"
    assert (store / "ledger.jsonl").read_bytes() == line[: round(share * len(line))]
    victim.run(victim.check_stopped_once, unreadable.folder)
    assert (store / "ledger.jsonl").read_bytes() == line
    assert not (store / "private" / "pending-entry").exists()


@pytest.mark.slow
def test_a_stop_killed_before_every_operation_on_files_is_charged_once(
    unreadable: Dataset, campaign: Campaign, tmp_path: Path, say: Say
) -> None:
    counted = tmp_path.with_name(f"{tmp_path.name}-counted")
    shutil.copytree(unreadable.folder, counted)
    victim.run(victim.stopped_day_killed_at, counted, 0)
    n_operations = int((counted / "n_operations").read_text())
    chosen = campaign.of(range(1, n_operations + 1))

    def tried(number: int) -> bool:
        folder = tmp_path.with_name(f"{tmp_path.name}-{number}")
        shutil.copytree(unreadable.folder, folder)
        was_killed = victim.killed(600, victim.stopped_day_killed_at, folder, number)
        victim.run(victim.check_stopped_once, folder)
        shutil.rmtree(folder)
        return was_killed

    with ThreadPoolExecutor(2) as pool:
        n_killed = sum(pool.map(tried, chosen))
    say(f"{n_killed} stops were killed before one of {n_operations} changes of files, and all was well after")
    assert n_killed >= max(1, len(chosen) - 2)
