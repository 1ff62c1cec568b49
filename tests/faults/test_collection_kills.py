"""Steps of a collection that are killed wherever they are, and done again: the same bytes, and one entry each."""

import json
import random
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import pytest
import victim
from collected import Collected
from support import Campaign, Say

from dpmath.local.device import round_of
from tasks.collect.rounds import estimate, localise
from tasks.collect.verify import verify_collection
from tasks.device.account import read_account

N_KILLS = 100
KINDS = {"localise": ["collection-opened", "collection-localised"]}
KINDS["estimate"] = [*KINDS["localise"], "collection-estimated"]
Kill = Callable[[Path], bool]
Trials = Callable[[str, list[Kill]], int]


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a folder for each step, just before it."""
    folder = tmp_path_factory.mktemp("ready")
    collected = Collected(folder)
    found = {}
    for number, name in ((1, "localise"), (2, "estimate")):
        collected.report(number)
        found[name] = folder.with_name(f"before-{name}")
        shutil.copytree(folder, found[name])
    return found


@pytest.fixture
def trials(ready: dict[str, Path], tmp_path: Path) -> Trials:
    """Return a function that tries ways to be killed in a step, and returns how many were."""
    numbers = count()

    def tried(name: str, expected: dict[str, bytes], kill: Kill) -> bool:
        folder = tmp_path / str(next(numbers))
        shutil.copytree(ready[name], folder)
        was_killed = kill(folder)
        collected = Collected(folder, anew=False)
        assert collected.published().items() <= (expected | leftovers(collected)).items()
        victim.run(victim.collection_step, folder, name)
        assert collected.published() == expected | leftovers(collected)
        assert [one["kind"] for one in collected.entries()] == KINDS[name]
        verify_collection(collected.config)
        shutil.rmtree(folder)
        return was_killed

    def run(name: str, kills: list[Kill]) -> int:
        expected = reference(ready[name], tmp_path, name)
        with ThreadPoolExecutor(2) as pool:
            return sum(pool.map(lambda kill: tried(name, expected, kill), kills))

    return run


def leftovers(collected: Collected) -> dict[str, bytes]:
    """Return the unfinished files that a killed step left: hidden, and of no entry."""
    return {name: content for name, content in collected.published().items() if name.startswith(".")}


def reference(folder: Path, tmp_path: Path, name: str) -> dict[str, bytes]:
    """Return what a step publishes that nobody kills."""
    shutil.copytree(folder, tmp_path / "reference")
    collected = Collected(tmp_path / "reference", anew=False)
    {"localise": localise, "estimate": estimate}[name].fn(victim.COLLECTED, collected.config)
    return collected.published()


def n_operations(folder: Path, tmp_path: Path, name: str) -> int:
    shutil.copytree(folder, tmp_path / "counted")
    return victim.n_operations(victim.collection_step_killed_at, tmp_path / "counted", name)


def kill_at(name: str, number: int, folder: Path) -> bool:
    return victim.killed(600, victim.collection_step_killed_at, folder, name, number)


def kill_after(name: str, seconds: float, folder: Path) -> bool:
    return victim.killed(seconds, victim.collection_step, folder, name)


@pytest.mark.parametrize("name", KINDS)
def test_a_step_killed_before_some_operations_and_done_again_gives_the_same_bytes(
    name: str, ready: dict[str, Path], trials: Trials, tmp_path: Path
) -> None:
    n = n_operations(ready[name], tmp_path, name)
    chosen = random.sample(range(1, n + 1), 3)
    assert trials(name, [partial(kill_at, name, number) for number in chosen]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_step_killed_before_every_operation_and_done_again_gives_the_same_bytes(
    name: str, ready: dict[str, Path], campaign: Campaign, trials: Trials, tmp_path: Path, say: Say
) -> None:
    n = n_operations(ready[name], tmp_path, name)
    chosen = campaign.of(range(1, n + 1))
    assert trials(name, [partial(kill_at, name, number) for number in chosen]) == len(chosen)
    say(f"{len(chosen)} runs of {name} were killed before one of {n} changes of files, and all was well after")


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_step_killed_at_random_moments_and_done_again_gives_the_same_bytes(
    name: str, ready: dict[str, Path], campaign: Campaign, trials: Trials, tmp_path: Path, say: Say
) -> None:
    shutil.copytree(ready[name], tmp_path / "timed")
    longest = victim.seconds_of(victim.collection_step, tmp_path / "timed", name)
    moments = [random.uniform(0, longest) for _ in range(campaign.size(N_KILLS))]
    n_killed = trials(name, [partial(kill_after, name, seconds) for seconds in moments])
    assert n_killed > len(moments) // 4
    say(f"{n_killed} runs of {name} were killed at a random moment, and all was well after")


def test_a_device_killed_before_any_operation_answers_once(ready: dict[str, Path], tmp_path: Path) -> None:
    """What was sent before and after the kill is one report, and the account has one answer."""
    asked = Collected(ready["localise"], anew=False).asked(1)
    name = next(one for one in map("a-{}".format, range(99)) if round_of(asked.key, one) == 1)

    def device(folder: Path) -> Path:
        folder.mkdir()
        stated = json.loads(asked.as_file())
        stated["areas"] = {"north": None}
        (folder / "round.json").write_text(json.dumps(stated))
        (folder / "values.txt").write_text("31.5\n" * 500)
        (folder / "account.json").write_text(json.dumps({"device": name, "limit": "10", "answers": []}))
        return folder

    counted = device(tmp_path / "counted")
    n = victim.n_operations(victim.report_killed_at, counted)
    assert n >= 3, "at least the account's flush, its rename, and the flush of its folder"
    for number in range(1, n + 1):
        folder = device(tmp_path / str(number))
        assert victim.killed(600, victim.report_killed_at, folder, number)
        victim.run(victim.report_killed_at, folder, 0)
        sent = set((folder / "sent.txt").read_text().splitlines())
        (answer,) = read_account(folder / "account.json").answers
        assert [json.loads(one) for one in sent] == [answer.report]
