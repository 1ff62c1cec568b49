"""A stop that is killed: the count is drawn and charged once, and what was drawn beside it is nowhere."""

import json

import pytest
import victim
from screened import N_BUSES, screen, write_day
from support import Campaign, Dataset, Say, slow


@pytest.fixture
def unreadable(dataset: Dataset) -> Dataset:
    screen(dataset, "zcdp", "planned")
    write_day(dataset, N_BUSES)
    return dataset


@pytest.mark.parametrize("share", [0.2, 1, *map(slow, (0, 0.999))])
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
    unreadable: Dataset, campaign: Campaign, say: Say
) -> None:
    n_killed, n = victim.killed_before_each(
        unreadable.folder, victim.stopped_day_killed_at, victim.check_stopped_once, campaign
    )
    say(f"{n_killed} stops were killed before one of {n} changes of files, and all was well after")
