"""A power cut at any moment: one release, one charge, no entry lost, and nothing that was seen is ever another.

`make test` tries some hundred states that a cut may leave, `make test-slow` thousands.
"""

import os
import random
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import powercuts
import pytest
from made_once import made_once
from powercuts import Cut, Recorder, State
from present import CONFIG, LATER, lines_of, write
from screened import N_BUSES, screen, write_day
from support import DATE, Campaign, Dataset, Say, all_files, choose, examples, later_day
from templates import TEMPLATES

from tasks.account import ledger, ledger_file, private_files
from tasks.account.amendments import amend_budget
from tasks.account.chain import releases
from tasks.account.presence_release import presence_releases
from tasks.base import durable, warehouse
from tasks.base.errors import DayStopped, HexveilError, WarehouseDamaged
from tasks.base.owner import Spender
from tasks.presence.backup import back_up_presence
from tasks.presence.config import load_presence
from tasks.presence.publish import publish_day
from tasks.presence.release import release_day
from tasks.presence.verify import verify_presence
from tasks.upkeep.backup import back_up
from tasks.upkeep.forget import forget_days, held_days
from tasks.upkeep.verify import verify_ledger

WHAT_TO_DO = re.compile("[Rr]estore|[Rr]un|delete")


def seen_days(state: State) -> dict[str, bytes]:
    """Return the published files of days in a state, which somebody may have read."""
    found = {name.removeprefix("published/"): content for name, content in state.items() if "published/date=" in name}
    return {name: content for name, content in found.items() if content and not Path(name).name.startswith(".")}


def ledger_lines(state: State) -> list[bytes]:
    return (state.get("ledger.jsonl") or b"").split(b"\n")[:-1]


def is_refused(work: Callable[[], object]) -> bool:
    """Return whether work is refused; then it must say what to do. Any other end fails the test."""
    refused = None
    try:
        work()
    except HexveilError as error:
        refused = str(error)
    assert refused is None or WHAT_TO_DO.search(refused), refused
    return refused is not None


def run_again(run: Callable[[], object], store: Path) -> bool:
    """Do again what was cut off; if the warehouse is damaged, do first what the error says, and return True."""
    try:
        run()
    except WarehouseDamaged:
        for path in (store / "private").glob("warehouse.duckdb*"):
            path.unlink()
        run()
        return True
    return False


@dataclass(frozen=True)
class Commands:
    """What an operator may try on a storage.

    Attributes:
        verify: Verifies it, and returns how many releases there are.
        back_up: Copies it to a folder, and returns how many there are.
        config: The configuration.
    """

    verify: Callable[[], int]
    back_up: Callable[[Path], int]
    config: Spender


def commands_of(dataset: Dataset) -> Commands:
    config = dataset.config
    return Commands(lambda: verify_ledger(config).n_releases, partial(back_up, config=config), config)


def check(cut: Cut, before: State, dataset: Dataset, commands: Commands, run: Callable[[], object]) -> str:
    """Check what the commands make of what a cut left; return a word for it.

    Args:
        cut: The cut.
        before: What anybody could read before it.
        dataset: Whose storage it becomes.
        commands: The commands.
        run: Does again what was cut off.
    """
    store, copy, config = dataset.folder / "store", dataset.folder / "copy", commands.config
    for folder in (store, copy):
        shutil.rmtree(folder, ignore_errors=True)
    powercuts.write(cut.state, store)
    tried = (commands.verify, partial(ledger.list_entries, config), partial(commands.back_up, copy))
    refused = [is_refused(one) for one in tried]
    was_damaged = run_again(run, store)

    lines, entries = (store / "ledger.jsonl").read_bytes().split(b"\n")[:-1], ledger.read_entries(config)
    assert lines[: len(ledger_lines(before))] == ledger_lines(before), "an entry was lost, or drawn a second time"
    files = all_files(dataset)
    assert all(files[name] == content for name, content in seen_days(before).items()), "what was seen is another now"
    released = [*releases(entries), *presence_releases(entries)]
    assert commands.verify() == len(released) == commands.back_up(copy)
    left = {path.name for path in private_files.releases(config).glob("*")}
    assert left == {name for one in released for name in (*one.files.values(), *one.kept.values())}, "unpaid files"
    return "damaged" if was_damaged else "refused first" if any(refused) else "went on"


def first_day(dataset: Dataset) -> Callable[[], object]:
    return dataset.run_day


def second_day(dataset: Dataset) -> Callable[[], object]:
    dataset.set(epsilon_total=50.0)
    dataset.run_day()
    return partial(dataset.run_day, later_day(dataset, 1))


def second_estimate(dataset: Dataset) -> Callable[[], object]:
    choose(dataset, "estimated", epsilon="4.0")
    return second_day(dataset)


def day_of_sums(dataset: Dataset) -> Callable[[], object]:
    choose(dataset, "clip-user")
    return dataset.run_day


def stopped_day(dataset: Dataset) -> Callable[[], object]:
    (dataset.folder / "raw" / "day.csv").unlink()
    write_day(dataset, N_BUSES)
    screen(dataset, "zcdp", "estimated")

    def run() -> None:
        with suppress(DayStopped):
            dataset.run_day()

    return run


def looser_budget(dataset: Dataset) -> Callable[[], object]:
    dataset.run_day()
    dataset.set(epsilon_total=60.0)

    def run() -> None:
        if len(ledger.read_entries(dataset.config)) < 2:
            amend_budget("more days", dataset.config)

    return run


def forgotten_day(dataset: Dataset) -> Callable[[], object]:
    dataset.run_day()

    def run() -> None:
        forget_days([DATE], dataset.config)
        assert not held_days(dataset.config)

    return run


SCENARIOS = {
    first_day: 12,
    second_day: 8,
    second_estimate: 4,
    day_of_sums: 12,
    stopped_day: 30,
    looser_budget: 30,
    forgotten_day: 40,
}
"""How many states of each are tried in `make test`: fewer where the rest of a day takes long."""
TRIED = [
    *(pytest.param(scenario, few, id=scenario.__name__) for scenario, few in SCENARIOS.items()),
    *(pytest.param(scenario, 700, id=f"{scenario.__name__}-700", marks=pytest.mark.slow) for scenario in SCENARIOS),
]


@pytest.mark.parametrize(("scenario", "n_examples"), TRIED)
def test_whatever_a_power_cut_leaves_is_released_once(
    scenario: Callable[[Dataset], Callable[[], object]],
    n_examples: int,
    busy_dataset: Dataset,
    campaign: Campaign,
    say: Say,
) -> None:
    run = scenario(busy_dataset)
    TEMPLATES.begin(may_copy=False, alters=lambda: True)  # it is watched what a run does, and not what a copy does
    outcomes = made_good(busy_dataset, commands_of(busy_dataset), run, campaign.size(n_examples))
    say(f"{sum(outcomes.values())} power cuts in {scenario.__name__} were made good: {in_words(outcomes)}")


@examples(80, 700)
def test_so_it_is_where_presence_is_secret(n_examples: int, dataset: Dataset, campaign: Campaign, say: Say) -> None:
    dataset.config_file.write_text(CONFIG)
    config = load_presence(dataset.config_file)
    for date in (DATE, LATER):
        lines = [line for number in range(30) for line in lines_of(f"u{number}", date, random.Random(number))]
        write(dataset, date, lines)
    publish_day.fn(release_day.fn(DATE, config), config)
    commands = Commands(lambda: verify_presence(config).n_releases, partial(back_up_presence, config=config), config)
    run = lambda: publish_day.fn(release_day.fn(LATER, config), config)  # noqa: E731
    outcomes = made_good(dataset, commands, run, campaign.size(n_examples))
    assert "damaged" not in outcomes
    say(f"{sum(outcomes.values())} power cuts in a day of secret presence were made good: {in_words(outcomes)}")


def made_good(dataset: Dataset, commands: Commands, run: Callable[[], object], n_examples: int) -> Counter[str]:
    """Cut the power while something is run, and return how often each word was said of what was left."""
    store, seed = dataset.folder / "store", random.getrandbits(32)
    store.mkdir(exist_ok=True)
    recorder = Recorder(store)
    with recorder.watching():
        run()
    outcomes = Counter[str]()
    with made_once():
        for cut in powercuts.cuts(recorder, n_examples, random.Random(seed)):
            try:
                outcomes[check(cut, powercuts.visible(recorder, cut.n_changes), dataset, commands, run)] += 1
            except (AssertionError, HexveilError) as error:
                where = f"seed {seed}, {cut.model}, after {cut.n_changes}"
                raise AssertionError(f"{where}: {error}; left: {sorted(cut.state)}") from error
    return outcomes


class Forgetful:
    """The module `os`, but it forgets to flush some of what is open."""

    def __init__(self, is_forgotten: Callable[[int], bool]) -> None:
        self._is_forgotten = is_forgotten

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def fsync(self, descriptor: int) -> None:
        if not self._is_forgotten(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)


@pytest.mark.parametrize(
    ("module", "is_forgotten"),
    [(durable, stat.S_ISREG), (durable, stat.S_ISDIR), (ledger_file, stat.S_ISREG)],
    ids=["of a file", "of a folder", "of the ledger"],
)
def test_a_missing_flush_is_found(
    module: ModuleType, is_forgotten: Callable[[int], bool], busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three of eight cuts show it, or more, and the first that does is the last: of 60 none does once in 1e12 runs."""
    TEMPLATES.begin(may_copy=False, alters=lambda: True)
    run = day_of_sums(busy_dataset)
    monkeypatch.setattr(module, "os", Forgetful(is_forgotten))
    with pytest.raises(AssertionError, match=r"seed \d+, (journal|weak), after \d+"):
        made_good(busy_dataset, commands_of(busy_dataset), run, 60)


def in_words(outcomes: Counter[str]) -> str:
    return ", ".join(f"{n} {word}" for word, n in sorted(outcomes.items()))


@examples(8, 400)
def test_a_backup_is_whole_once_it_is_said_to_be_and_a_later_one_makes_any_other_whole(
    n_examples: int, busy_dataset: Dataset, campaign: Campaign
) -> None:
    """A file that a cut tore has the size and the time of a whole one, by which a backup knows what it has."""
    busy_dataset.run_day()
    copy, seed = busy_dataset.folder / "copy", random.getrandbits(32)
    copy.mkdir()
    recorder = Recorder(copy)
    with recorder.watching():
        back_up(copy, busy_dataset.config)
    wanted = powercuts.visible(recorder, len(recorder.changes))
    assert all(left == wanted for left in powercuts.left_at_the_end(recorder))
    times = {name: (copy / name).stat().st_mtime_ns for name in wanted}
    for cut in powercuts.cuts(recorder, campaign.size(n_examples), random.Random(seed)):
        shutil.rmtree(copy)
        powercuts.write(cut.state, copy, times)
        back_up(copy, busy_dataset.config)
        assert {name: (copy / name).read_bytes() for name, content in wanted.items() if content is not None} == {
            name: content for name, content in wanted.items() if content is not None
        }, f"seed {seed}, {cut.model}, after {cut.n_changes}"


@pytest.mark.parametrize("writes", [durable.write_whole, durable.write_new])
def test_what_is_written_is_there_after_any_cut_and_its_folders_too(
    writes: Callable[[Path, bytes], object], tmp_path: Path
) -> None:
    recorder = Recorder(tmp_path)
    with recorder.watching():
        writes(tmp_path / "a" / "b" / "file", b"content")
    for left in powercuts.left_at_the_end(recorder):
        assert left == {"a": None, "a/b": None, "a/b/file": b"content"}


def test_files_of_a_stopped_day_that_come_back_are_removed_again(busy_dataset: Dataset) -> None:
    """That a file was removed is not flushed."""
    run = stopped_day(busy_dataset)
    run()
    come_back = private_files.releases(busy_dataset.config) / ("0" * 64)
    come_back.write_bytes(b"a noisy sum")
    run()
    assert not come_back.exists()


def test_a_log_of_the_engine_that_comes_back_is_in_nobodys_way(busy_dataset: Dataset) -> None:
    """The engine removes its log once all is in the database, and that is not flushed either."""
    busy_dataset.prepare()
    with warehouse.connect(busy_dataset.config) as connection:
        connection.execute("create table one as select 1 as number")
        log = warehouse.log_of(busy_dataset.folder / "store" / "private" / "warehouse.duckdb")
        content = log.read_bytes()
    assert not log.exists()
    log.write_bytes(content)
    assert busy_dataset.query("select number from one") == [(1,)]
    busy_dataset.run_day()
