"""A leak of each kind is planted, and the replay finds it where it is: so it would have found one of ours."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from configurations import with_settings
from replayed import Auditor
from support import CONFIG, DATE, HEADER, Dataset, slow

from dpmath.core.accounting import LOSS_UNITS
from tasks.account import ledger, mirror
from tasks.base import warehouse
from tasks.base.errors import HexveilError
from tasks.base.logs import say
from tasks.kinds.clipped.kind import Clipped

Patch = pytest.MonkeyPatch
RUN = ("run", "--date", DATE, "--verbose")


def write_day(dataset: Dataset, is_other: bool) -> None:
    lines = [
        f"bus{bus:02},{DATE}T0{hour}:{minute:02}:00Z,{place},8.31,{(90 if is_other else 10) if bus == 3 else 40}"
        for bus in range(8)
        for hour, place in ((8, 47.05), (9, 47.25))
        for minute in range(0, 60, 10)
    ]
    dataset.write("day.csv", HEADER + "\n".join(lines) + "\n")


def total(rows: pl.DataFrame) -> int:
    return int(rows["private_mean_sum"].cast(pl.Int64).sum())


def of_private_sums(patch: Patch, leak: Callable[[pl.DataFrame], pl.DataFrame | None]) -> None:
    """Have something done with the private sums as soon as they are read; what it returns takes their place."""
    real = warehouse.frame

    def frame(connection: Any, name: str, parameters: Any = None) -> pl.DataFrame:
        rows = real(connection, name, parameters)
        changed = leak(rows) if name == "read/cell_sum" else None
        return rows if changed is None else changed

    patch.setattr(warehouse, "frame", frame)


def of_statements(patch: Patch, **replaced: tuple[str, str]) -> None:
    """Have text in statements replaced, whose names are those given, with a slash for two underscores."""
    real = warehouse.statement

    def statement(name: str) -> str:
        old, new = replaced.get(name.replace("/", "__"), ("", ""))
        assert old in real(name)
        return real(name).replace(old, new) if old else real(name)

    patch.setattr(warehouse, "statement", statement)


def in_a_line_of_the_log(patch: Patch) -> None:
    log = logging.getLogger("hexveil.release")
    of_private_sums(patch, lambda rows: say(log, "summed", total=total(rows)))


def in_an_error_message(patch: Patch) -> None:
    def refuse(rows: pl.DataFrame) -> None:
        raise HexveilError(f"{total(rows)} is too much")

    of_private_sums(patch, refuse)


def in_an_exit_code(patch: Patch) -> None:
    def leave(rows: pl.DataFrame) -> None:
        raise SystemExit(2 + total(rows) // 100_000)

    of_private_sums(patch, leave)


def in_a_count(patch: Patch) -> None:
    """As if a rule for records looked at values."""
    counted = "n_records + (total_ticks > 30000)::bigint as n_records, total_ticks"
    of_statements(patch, write__user_cell=("n_records, total_ticks", counted))


def in_a_chosen_cell(patch: Patch) -> None:
    day = "where local_date = $date"
    low = f"{day} and h3_cell in (select h3_cell from user_cell group by all having max(total_ticks) < 40000)"
    of_statements(patch, read__occupancy_cells=(day, low), read__occupancy_pairs=(day, low))


def in_the_size_of_a_file(patch: Patch) -> None:
    sizes, real = [], ledger.append

    def append(entry: Any, entries: Any, config: Any) -> Any:
        (config.storage_path / "private" / "pad").write_bytes(bytes(sizes[-1]))
        return real(entry, entries, config)

    of_private_sums(patch, lambda rows: sizes.append(total(rows) // 1000))
    patch.setattr(ledger, "append", append)


def in_a_public_table(patch: Patch) -> None:
    real, totals = mirror.bring_in_line, []

    def bring_in_line(entries: Any, config: Any) -> None:
        real(entries, config)
        with mirror.connect(config) as connection:
            connection.execute(f"update statistic set n_records = {totals[-1]}")

    of_private_sums(patch, lambda rows: totals.append(total(rows)))
    patch.setattr(mirror, "bring_in_line", bring_in_line)


def in_a_sum_that_moves_too_far(patch: Patch) -> None:
    of_private_sums(patch, lambda rows: rows.with_columns(pl.col("private_mean_sum") * 3))


def in_what_is_drawn(patch: Patch) -> None:
    """As if a scale were chosen by the values."""
    real = Clipped.drawn

    def drawn(self: Clipped, stored: Any, private: pl.DataFrame, random_bytes: Any) -> Any:
        scale = pl.lit(LOSS_UNITS // (1 + total(private)))
        cells = stored.cells.with_columns(mean_inverse_scale=scale)
        return real(self, replace(stored, cells=cells), private, random_bytes)

    patch.setattr(Clipped, "drawn", drawn)


CONFIGURATION = with_settings(CONFIG, mechanism="exact", target_error=40.0, epsilon_per_day=40.0, epsilon_total=40.0)
LEAKS: dict[Callable[[Patch], None], str] = {
    in_a_line_of_the_log: "0 run: err",
    in_an_error_message: "0 run: err",
    in_an_exit_code: "0 run: code",
    in_a_count: "store/ledger.jsonl",
    in_a_chosen_cell: "store/published/date=2026-01-15/statistics.csv",
    in_the_size_of_a_file: "store/private/pad",
    in_a_public_table: "release.duckdb: statistic",
    in_a_sum_that_moves_too_far: "charge 0",
    in_what_is_drawn: "0 run: code",
}
"""Each leak, and the first place to look for it."""


AT_LENGTH = (in_an_error_message, in_an_exit_code, in_the_size_of_a_file, in_a_public_table)
"""Found by the same comparison as another one."""


@pytest.mark.parametrize(
    "plant", [slow(one) if one in AT_LENGTH else one for one in LEAKS], ids=lambda plant: plant.__name__
)
def test_a_leak_is_found(plant: Callable[[Patch], None], auditor: Callable[..., Auditor], monkeypatch: Patch) -> None:
    plant(monkeypatch)
    assert LEAKS[plant] in auditor(CONFIGURATION).replay(write_day, RUN).differences


def test_where_nothing_leaks_nothing_is_found(auditor: Callable[..., Auditor]) -> None:
    replay = auditor(CONFIGURATION).replay(write_day, RUN)
    assert replay.differences == []
    assert replay.losses
