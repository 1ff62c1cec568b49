"""Of two runs, one without one user, with the same random bytes, nothing differs but noisy sums, by a ball's radius."""

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import called_here, environment_of
from present import LATER, SHAPES, Line, Sums, lines_of, of_shape, seen
from support import DATE, Hexveil, Say, slow

COMMANDS = (
    ("run", "--date", DATE, "--verbose"),
    ("run", "--date", DATE),
    ("run", "--date", LATER, "--json"),
    ("run", "--date", DATE, "--revision", "again"),
    ("plan", "--date", LATER),
    ("explore", "--date", LATER),
    ("evaluate", "--date", LATER),
    ("ledger show",),
    ("ledger export",),
    ("ledger head",),
    ("backup", "--to", Path("copy")),
    ("ledger verify", "--json"),
)
FEW = COMMANDS[:3]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Hexveil:
    return called_here(environment_of(tmp_path_factory.mktemp("prefect")))


Replay = Callable[..., tuple[float, dict[str, bytes]]]


@pytest.fixture(scope="module")
def replay(runs: Hexveil, tmp_path_factory: pytest.TempPathFactory) -> Replay:
    folder = tmp_path_factory.mktemp("replayed") / "dataset"

    def both(
        shape: str, form: str, seed: int, others: int = 12, commands: tuple = FEW
    ) -> tuple[float, dict[str, bytes]]:
        """Return how far the sums are apart, in rho, after a check that nothing else differs."""
        rng = random.Random(seed)
        dates = (DATE, LATER)
        files: dict[dt.date, list[Line]] = {
            date: [line for n in range(others) for line in lines_of(f"u{n}", date, rng)] for date in dates
        }
        one = {date: of_shape(shape, "somebody", date, rng) for date in dates}
        found = []
        sums = Sums()
        for without in (False, True):
            days = {}
            for date, lines in files.items():
                order = random.Random(seed + 1)
                placed = [(order.random(), line) for line in lines]
                mine = [] if without else [(order.random(), line) for line in one[date]]
                days[date] = ([line for _, line in sorted(placed + mine)], form)
            found.append(seen(folder, days, sums, runs, commands))
            sums = Sums(sums.given) if not without else sums
        first, second = found
        unlike = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
        assert unlike == []
        return sums.moved(), first

    return both


@pytest.mark.parametrize("shape", SHAPES)
def test_without_one_user_nothing_else_differs(shape: str, replay: Replay) -> None:
    moved, first = replay(shape, "csv", 5)
    assert first["0 run: code"] == first["2 run: code"] == b"0"
    assert (moved > 0) == (shape not in ("outside the area", "bad rows alone"))


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_in_every_format_nothing_else_differs(form: str, replay: Replay) -> None:
    moved, first = replay("usual", form, 6)
    assert moved > 0
    assert first["0 run: code"] == b"0"


def test_a_day_of_one_user_is_as_a_day_of_nobody(replay: Replay) -> None:
    moved, first = replay("usual", "csv", 7, others=0)
    assert moved > 0
    assert first["0 run: code"] == b"0"


def test_whatever_is_asked_of_a_dataset_nothing_else_differs(replay: Replay, say: Say) -> None:
    """Commands that would need to know who was where refuse, and read nothing."""
    _, first = replay("every cell", "csv", 8, commands=COMMANDS)
    codes = {name: text for name, text in first.items() if name.endswith(": code")}
    assert {name.split()[1].removesuffix(":") for name, text in codes.items() if text == b"1"} == {
        "plan",
        "explore",
        "evaluate",
    }
    say(f"{len(first)} outputs of replayed runs, with and without one user, were the same")


@pytest.mark.parametrize("seed", [slow(seed) for seed in range(100, 140)])
def test_of_many_users_of_every_shape_none_is_told(seed: int, replay: Replay) -> None:
    rng = random.Random(seed)
    replay(rng.choice(SHAPES), rng.choice(["csv", "ndjson", "parquet"]), seed, others=rng.randrange(30))
