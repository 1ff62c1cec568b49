"""Of two runs, one without one user, with the same random bytes, nothing differs but noisy sums, by a ball's radius."""

import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import called_here, environment_of
from present import CONFIGS, LATER, OF_DOCUMENTS, OF_LINES, SHAPES, with_and_without
from support import DATE, Hexveil, Say, slow

from dpmath.presence.ball import Ball
from dpmath.presence.user_cells import UserCells
from tasks.base.errors import HexveilError
from tasks.base.logs import say as log_line
from tasks.presence import release

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
    ("ledger registry", "--to", Path("registry")),
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
        return with_and_without(folder, shape, form, seed, others, runs, commands)

    return both


@pytest.mark.parametrize("shape", [one if one == "bad rows alone" else slow(one) for one in SHAPES])
def test_without_one_user_nothing_else_differs(shape: str, replay: Replay) -> None:
    moved, first = replay(shape, "csv", 5)
    assert first["0 run: code"] == first["2 run: code"] == b"0"
    assert (moved > 0) == (shape not in ("outside the area", "bad rows alone"))


@pytest.mark.parametrize("shape", [one if one in OF_DOCUMENTS else slow(one) for one in (*SHAPES, *OF_DOCUMENTS)])
@pytest.mark.parametrize("form", ["json", slow("json.gz"), slow("speeds.json")])
def test_without_one_user_of_a_document_nothing_else_differs(shape: str, form: str, replay: Replay) -> None:
    moved, first = replay(shape, form, 9)
    assert first["0 run: code"] == first["2 run: code"] == b"0"
    assert moved > 0 or shape not in ("usual", "every cell", "far over the cap", "odd records")


@pytest.mark.parametrize("form", ["ndjson", slow("csv")])
def test_without_one_user_of_odd_lines_nothing_else_differs(form: str, replay: Replay) -> None:
    moved, first = replay(*OF_LINES, form, 12)
    assert moved > 0
    assert first["0 run: code"] == first["2 run: code"] == b"0"


@pytest.mark.parametrize("shape", [one if one == "every cell" else slow(one) for one in SHAPES])
def test_without_one_user_of_positions_nothing_else_differs(shape: str, replay: Replay) -> None:
    moved, first = replay(shape, "speeds.csv", 10)
    assert first["0 run: code"] == first["2 run: code"] == b"0"
    assert (moved > 0) == (shape in ("usual", "every cell", "far over the cap", "extreme values"))


@pytest.mark.parametrize("form", ["json", "speeds.json"])
def test_a_document_of_one_user_is_as_one_of_nobody(form: str, replay: Replay) -> None:
    moved, first = replay("usual", form, 11, others=0)
    assert moved > 0
    assert first["0 run: code"] == b"0"


@pytest.mark.parametrize("form", [slow("ndjson"), "parquet"])
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
    moved, first = replay("every cell", "csv", 8, commands=COMMANDS)
    assert moved > 0
    codes = {name: text for name, text in first.items() if name.endswith(": code")}
    assert {name.split()[1].removesuffix(":") for name, text in codes.items() if text == b"1"} == {
        "explore",
        "evaluate",
    }
    say(f"{len(first)} outputs of replayed runs, with and without one user, were the same")


@pytest.mark.parametrize("seed", [slow(seed) for seed in range(100, 140)])
def test_of_many_users_of_every_shape_none_is_told(seed: int, replay: Replay) -> None:
    rng = random.Random(seed)
    form = rng.choice(["csv", "ndjson", "parquet", *CONFIGS])
    shapes = (*SHAPES, *OF_DOCUMENTS) if "json" in form.split(".") else SHAPES
    replay(rng.choice(shapes), form, seed, others=rng.randrange(30))


Patch = pytest.MonkeyPatch
Leak = Callable[[UserCells, Any], object]


def of_private_day(patch: Patch, leak: Leak) -> None:
    """Have something done with what users brought as soon as it is read."""
    real = release.read_day

    def read_day(date: Any, config: Any, *read_for: Any) -> UserCells:
        day = real(date, config, *read_for)
        leak(day, config)
        return day

    patch.setattr(release, "read_day", read_day)


def in_a_line_of_the_log(patch: Patch) -> None:
    of_private_day(patch, lambda day, _: log_line(logging.getLogger("hexveil.release"), "read", users=day.n_users))


def in_an_error_message(patch: Patch) -> None:
    def refuse(day: UserCells, _: Any) -> None:
        raise HexveilError(f"{day.n_users} users are too few")

    of_private_day(patch, refuse)


def in_an_exit_code(patch: Patch) -> None:
    def leave(day: UserCells, _: Any) -> None:
        raise SystemExit(2 + day.n_users)

    of_private_day(patch, leave)


def in_the_size_of_a_file(patch: Patch) -> None:
    def pad(day: UserCells, config: Any) -> None:
        (config.storage_path / "private" / "pad").write_bytes(bytes(day.n_users))

    of_private_day(patch, pad)


def in_a_chosen_cell(patch: Patch) -> None:
    """As if fewer cells were published of fewer users."""
    seen, real = list[int](), release.table_of
    of_private_day(patch, lambda day, _: seen.append(day.n_users))
    patch.setattr(release, "table_of", lambda *given: real(*given)[: seen[-1] - N_OTHERS])


def in_a_count(patch: Patch) -> None:
    seen, real = list[int](), release.described_cost
    of_private_day(patch, lambda day, _: seen.append(day.n_users))
    patch.setattr(release, "described_cost", lambda *given: {**real(*given), "n_users": seen[-1]})


def in_a_sum_that_moves_too_far(patch: Patch) -> None:
    real = Ball.inside
    patch.setattr(Ball, "inside", lambda *given: real(*given) * 3)


def in_what_is_drawn(patch: Patch) -> None:
    """As if the noise were chosen by how many are there."""
    real = Ball.inside

    def inside(ball: Ball, vectors: Any) -> Any:
        object.__setattr__(ball, "inverse_scale", ball.inverse_scale // (1 + vectors.shape[0]))
        return real(ball, vectors)

    patch.setattr(Ball, "inside", inside)


LEAKS: dict[Callable[[Patch], None], str] = {
    in_a_line_of_the_log: "0 run: err",
    in_an_error_message: "0 run: err",
    in_an_exit_code: "0 run: code",
    in_the_size_of_a_file: "private/pad",
    in_a_chosen_cell: "statistics.csv",
    in_a_count: "ledger.jsonl",
    in_a_sum_that_moves_too_far: "too far",
    in_what_is_drawn: "ledger.jsonl",
}
"""Each leak, and where it must be found."""
N_OTHERS = 60
"""So many that a cell is published."""
AT_LENGTH = (in_an_error_message, in_an_exit_code, in_the_size_of_a_file)
"""Found by the same comparison as another one."""


@pytest.mark.parametrize(
    "plant", [slow(one) if one in AT_LENGTH else one for one in LEAKS], ids=lambda plant: plant.__name__
)
def test_a_leak_that_is_planted_is_found(plant: Callable[[Patch], None], replay: Replay, monkeypatch: Patch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=LEAKS[plant]):
        replay("every cell", "csv", 5, N_OTHERS, FEW[:1])
