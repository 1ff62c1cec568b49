"""Replays: runs over two datasets that differ in one user's values, with the same random bytes, and all that differs.

In the second run each noisy sum is made that of the first: the noise is what would have given it. So whatever differs
still was not told by a noisy sum. How far the sums are apart is compared with what the user is charged for.
"""

import hashlib
import math
import re
import shutil
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest
from fixed import fix, fixed_bytes
from support import Dataset, Hexveil

from dpmath.arrays import cell as array_cell
from dpmath.arrays.intervals import LevyInterval
from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import GAUSSIAN, LAPLACE
from dpmath.noise.noisy_cell import NoisyCellSum
from dpmath.noise.private_quantiles import PrivateQuantile
from dpmath.noise.sampling import NOISES
from tasks.account import ledger, private_files, user_keys
from tasks.account.entry import Charge
from tasks.account.user_keys import UserKeys, known_users
from tasks.base import progress, provenance, steps, tables
from tasks.base.provenance import code_hash
from tasks.planning import preview
from tasks.release import draw

OF_VALUES = {
    "raw_record": {"value"},
    "raw_file": {"content_hash"},
    "seen_file": {"version"},
    "user_cell": {"total_ticks", "total_squares", "n_missing"},
    "value_repair": {"local_date", "repair", "n_records"},
    "quarantine": {"line_number"},
}
"""The columns of the warehouse that may depend on values, as `sql/schema` says; all others may not."""

PRIVATE = ("raw", "store/private/shards", "store/private/scratch", "store/private/values", "store/private/fetched")
PRIVATE += ("store/private/warehouse", "store/private/errors.log", "store/private/evaluations", "store/spill")
PRIVATE += ("store/private/reports",)
"""What may depend on values, as docs/reference/files.md says: the beginnings of paths."""

_NOT_SAME = re.compile(rb"\b[0-9a-f]{32}\b|\d\d:\d\d:\d\d(?= \|)")
"""Random names, and the time before each line of a log."""


@dataclass
class Draw:
    """One vector of noisy sums, or one draw by the exponential mechanism.

    Attributes:
        noise: Which kind.
        inverse_scale: LOSS_UNITS over the scales.
        noises: What was drawn.
        private_sums: What it was added to.
        outcome: For the exponential mechanism: what was drawn.
        log_share: For the exponential mechanism: the logarithm of the outcome's probability.
    """

    noise: str
    inverse_scale: list[int] = field(default_factory=list)
    noises: list[int] = field(default_factory=list)
    private_sums: list[int | None] = field(default_factory=list)
    outcome: int = 0
    log_share: float = 0.0

    def loss(self, other: "Draw", is_pure: bool) -> float:
        """Return how far two draws are apart, in epsilon or in rho."""
        apart = [abs(a - b) for a, b in zip(self.private_sums, other.private_sums, strict=True)]  # pyright: ignore[reportOperatorIssue]
        moved = [one * scale / LOSS_UNITS for one, scale in zip(apart, self.inverse_scale, strict=True)]
        shares = abs(self.log_share - other.log_share)
        if is_pure:
            assert self.noise != GAUSSIAN
            return sum(moved) + shares
        return sum(one**2 / 2 for one in moved) + shares**2 / 8


class _Noise(int):
    """A noise that notes what it is added to, and then gives the sum of the first run if there was one."""

    note: Callable[[int], int]

    def __radd__(self, private_sum: Any) -> int:
        return self.note(int(private_sum))

    __add__ = __radd__


@dataclass
class Source:
    """Random bytes, the same for each draw of a number; notes the draws.

    Attributes:
        earlier: The draws of the first run, whose noisy sums are given again; None in the first.
        only_counts: Whether only counts that screen a day are given again; what the others give must not show at all.
        is_count: Whether a count is being drawn.
        draws: The draws so far.
        charged: How many there were when each entry was appended to the ledger.
    """

    earlier: list[Draw] | None = None
    only_counts: bool = False
    is_count: bool = False
    draws: list[Draw] = field(default_factory=list)
    charged: list[int] = field(default_factory=list)

    def begin(self, drawn: Draw) -> tuple[Callable[[int], bytes], Draw | None]:
        """Note a draw; return its bytes, and the same draw of the first run."""
        number = len(self.draws)
        self.draws.append(drawn)
        is_given = self.earlier is not None and (self.is_count or not self.only_counts)
        again = self.earlier[number] if self.earlier is not None and is_given else None
        assert again is None or again.noise == drawn.noise
        return fixed_bytes(f"draw {number}: "), again

    def noise(self, kind: str, real: Callable[..., Any], inverse_scale: Any) -> np.ndarray:
        """Return noise that notes its sums."""
        drawn = Draw(kind, [int(one) for one in inverse_scale])
        stream, again = self.begin(drawn)
        drawn.noises = [int(one) for one in real(inverse_scale, stream)]
        drawn.private_sums = [None] * len(drawn.noises)
        assert again is None or (again.noises, again.inverse_scale) == (drawn.noises, drawn.inverse_scale)

        def noted(place: int, private_sum: int) -> int:
            drawn.private_sums[place] = private_sum
            first = again.private_sums[place] if again is not None else None
            return (private_sum if first is None else first) + drawn.noises[place]

        made = np.empty(len(drawn.noises), dtype=object)
        for place, one in enumerate(drawn.noises):
            made[place] = _Noise(one)
            made[place].note = lambda private_sum, place=place: noted(place, private_sum)
        return made

    def noisy_cell_sum(self, real: Callable[..., NoisyCellSum], private_sum: int, *others: Any) -> NoisyCellSum:
        """Return a cell's sum of array means."""
        *public, _ = others
        drawn = Draw(LAPLACE)
        stream, again = self.begin(drawn)
        made = real(private_sum, *public, stream)
        drawn.inverse_scale, drawn.noises = [made.inverse_scale], [made.noisy_sum - private_sum]
        drawn.private_sums = [private_sum]
        assert again is None or (again.noises, again.inverse_scale) == (drawn.noises, drawn.inverse_scale)
        first = private_sum if again is None else again.private_sums[0]
        return replace(made, noisy_sum=(first or 0) + drawn.noises[0])

    def chosen(self, draws: Callable[[Callable[[int], bytes]], int], log_share: Callable[[int], float]) -> int:
        """Return what the exponential mechanism draws."""
        drawn = Draw("exponential mechanism")
        stream, again = self.begin(drawn)
        drawn.outcome = draws(stream) if again is None else again.outcome
        drawn.log_share = log_share(drawn.outcome)
        return drawn.outcome

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of all that draws."""
        for kind, real in list(NOISES.items()):
            patch.setitem(NOISES, kind, lambda scales, _, kind=kind, real=real: self.noise(kind, real, scales))
        real_sum = array_cell.noisy_cell_sum
        patch.setattr(array_cell, "noisy_cell_sum", lambda *given: self.noisy_cell_sum(real_sum, *given))
        real_point = PrivateQuantile.draw

        def draw_point(of: PrivateQuantile, _: Any) -> int:
            return self.chosen(lambda stream: real_point(of, stream), lambda point: _log_share_of_point(of, point))

        def draw_interval(of: LevyInterval, _: Any) -> tuple[int, int]:
            shares = of.mechanism.probabilities()
            return of.around(
                self.chosen(lambda stream: of.mechanism.draw(stream)[0], lambda one: math.log(shares[one]))
            )

        real_append = ledger.append

        def append(*given: Any) -> Any:
            self.charged.append(len(self.draws))
            return real_append(*given)

        real_screening = draw.screen_day

        def screen_day(*given: Any) -> Any:
            self.is_count = True
            stated = real_screening(*given)
            self.is_count = False
            return stated

        patch.setattr(ledger, "append", append)
        patch.setattr(draw, "screen_day", screen_day)
        patch.setattr(PrivateQuantile, "draw", draw_point)
        patch.setattr(LevyInterval, "draw", draw_interval)


def _log_share_of_point(of: PrivateQuantile, point: int) -> float:
    run = bisect_right(of.starts, point) - 1
    return math.log(of.mechanism.probabilities()[run] / of.mechanism.sizes[run])


@dataclass(frozen=True)
class Replay:
    """What two runs left.

    Attributes:
        first: All that anybody may see, by its name.
        second: The same of the other run.
        losses: How far the sums of each charge are apart in epsilon or rho, and what the user was charged.
    """

    first: dict[str, bytes]
    second: dict[str, bytes]
    losses: list[tuple[float, float]]

    @property
    def differences(self) -> list[str]:
        """The names of all that differs, and the charges that are too small."""
        names = self.first.keys() | self.second.keys()
        unlike = sorted(name for name in names if self.first.get(name) != self.second.get(name))
        short = [f"charge {number}" for number, (moved, paid) in enumerate(self.losses) if moved > paid * (1 + 1e-9)]
        return unlike + short


Write = Callable[[Dataset, bool], None]
"""Writes a dataset's files; with True, those in which one user's values are others."""


Around = Callable[[], AbstractContextManager[dict[str, bytes]]]


@dataclass(frozen=True)
class Auditor:
    """Runs commands over two datasets.

    Attributes:
        folder: Where the datasets are, one after the other: paths are said too.
        configuration: Their text.
        runs: Calls the command line.
        user: Whose values differ.
        only_counts: See ``Source``.
        around: Is entered for each dataset; its value holds at its end what more was left.
    """

    folder: Path
    configuration: str
    runs: Hexveil
    user: str
    only_counts: bool = False
    around: Around = lambda: nullcontext({})

    def replay(self, write: Write, *commands: Sequence[object]) -> Replay:
        """Return what two runs left; a path in a command is one in the dataset's folder."""
        first = Source()
        seen = self._seen(first, write, False, commands)
        second = Source(first.draws, self.only_counts)
        other = self._seen(second, write, True, commands)
        return Replay(seen, other, self._losses(first, second))

    def _seen(self, source: Source, write: Write, is_other: bool, commands: Sequence[Sequence[object]]) -> Any:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / "dataset.toml").write_text(self.configuration)
        dataset, found = Dataset(self.folder), {}
        write(dataset, is_other)
        with ExitStack() as surroundings:
            patch = surroundings.enter_context(pytest.MonkeyPatch.context())
            fix(patch)
            patch.setattr(provenance, "code_hash", code_hash)  # workers, who are other processes, have the same
            source.install(patch)
            stop_clocks(patch)
            _fix_digests_of_files(patch)
            further = surroundings.enter_context(self.around())
            for number, (command, *arguments) in enumerate(commands):
                given = [self.folder / one if isinstance(one, Path) else one for one in arguments]
                words = [*str(command).split(), "--config", dataset.config_file, *given]
                ended = self.runs(*words)
                said = {"code": str(ended.returncode), "out": ended.stdout, "err": ended.stderr}
                found |= {f"{number} {command}: {name}": alike(text.encode()) for name, text in said.items()}
        return found | further | files_of(self.folder) | tables_of(dataset)

    def _losses(self, first: Source, second: Source) -> list[tuple[float, float]]:
        """Return what the draws of each charge cost the user, and what the user was charged.

        A stopped day is charged for its last draw, the count; nobody sees the others.
        """
        config = Dataset(self.folder).config
        entries, is_pure = ledger.read_entries(config), config.privacy.currency.name == "pure"
        if first.charged != second.charged or not entries:
            return []
        (user,) = known_users(config, entries).users([self.user])
        moved = [one.loss(other, is_pure) for one, other in zip(first.draws, second.draws, strict=True)]
        found = []
        for entry, start, end in zip(entries, [0, *first.charged], first.charged, strict=False):
            if isinstance(entry, Charge):
                paid = private_files.losses(entry, config).get(user, 0) / 2**config.privacy.currency.unit_bits
                found.append((sum(moved[start:end][-1 if entry.kind == "stopped" else 0 :]), paid))
        return found


def stop_clocks(patch: pytest.MonkeyPatch) -> None:
    still = SimpleNamespace(monotonic=lambda: 0.0, perf_counter=lambda: 0.0, sleep=lambda _: None)
    for module in (steps, progress, preview):
        patch.setattr(module, "time", still)


def _fix_digests_of_files(patch: pytest.MonkeyPatch) -> None:
    """Have the keyed digest of an input file be a number: nobody who has not the key can tell it from a random one."""
    real, n_files = UserKeys.digest, [0]

    def digest(self: UserKeys, purpose: str, message: bytes) -> str:
        if purpose != "file":
            return real(self, purpose, message)
        n_files[0] += 1
        return hashlib.sha256(str(n_files[0]).encode()).hexdigest()

    patch.setattr(user_keys.UserKeys, "digest", digest)


def alike(content: bytes) -> bytes:
    return _NOT_SAME.sub(b"*", content)


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file that must not depend on values, of the mirror its size."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(PRIVATE):
            is_engine = path.suffix in (".duckdb", ".wal")
            content = str(path.stat().st_size).encode() if is_engine else path.read_bytes()
            found[name] = alike(content) if path.name == "shards-owner" else content  # it holds a random name
    return found


def tables_of(dataset: Dataset) -> dict[str, bytes]:
    """Return the rows of the mirror, and those of the warehouse in columns that must not depend on values."""
    store, found = dataset.folder / "store", {}
    for path, names in (
        (store / "release.duckdb", tables.MIRRORED),
        (store / "private" / "warehouse.duckdb", tables.PRIVATE),
    ):
        if not path.exists():
            continue
        with duckdb.connect(path, read_only=True) as connection:
            for name in names:
                columns = [one for one, *_ in connection.execute(f"describe {name}").fetchall()]
                public = ", ".join(one for one in columns if one not in OF_VALUES.get(name, ()))
                if public:
                    rows = connection.execute(f"select {public} from {name}").fetchall()
                    found[f"{path.name}: {name}"] = b"\n".join(sorted(alike(repr(row).encode()) for row in rows))
    return found
