"""Work that was done on the same bytes is not done again: for tests that try many storages which differ in little.

What is left out depends on nothing but what it is remembered by, so its result would be the same. All that reads or
writes the storage otherwise is done each time.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import Dataset

from dpmath.presence.user_cells import UserCells
from tasks.account import mirror
from tasks.account.entry import Entry
from tasks.base import warehouse
from tasks.base.durable import write_whole
from tasks.base.owner import Spender
from tasks.base.storage import private_folder
from tasks.kinds.estimated.replay import Replay
from tasks.presence import release, verify
from tasks.presence.config import PresenceConfig
from tasks.presence.reading import report_path

_HASH = re.compile(r"\b[0-9a-f]{64}\b")


@contextmanager
def made_once() -> Iterator[None]:
    """Make estimates again, read the mirror, and prepare days only of files that were not seen yet in the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Replay, "problems", _problems_once(Replay.problems))
        patch.setattr(verify, "_unlike_answers", _unlike_answers_once(verify._unlike_answers))
        patch.setattr(mirror, "known_releases", _known_once(mirror.known_releases))
        patch.setattr(mirror, "check_rows", _rows_checked_once(mirror.check_rows))
        patch.setattr(Dataset, "prepare", _prepared_once(Dataset.prepare))
        patch.setattr(release, "read_day", _read_once(release.read_day))
        yield


def _problems_once(problems: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
    """An estimate follows from its entry, which names those before it by their hash, and from the files they name."""
    found: dict[Any, tuple[list[str], dict[str, Any]]] = {}

    def once(
        replay: Replay, entry: Entry, plan: Any, table: Any, before: Sequence[Entry], config: Any
    ) -> Iterator[str]:
        key = entry.hash, _files_of([*before, entry], config)
        if key not in found:
            found[key] = list(problems(replay, entry, plan, table, before, config)), dict(replay._after)
        replay._after.update(found[key][1])
        yield from found[key][0]

    return once


def _unlike_answers_once(unlike_answers: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
    found: dict[Any, list[str]] = {}

    def once(entry: Entry, before: Sequence[Entry], tables: Any, settings: Any, made: Any) -> Iterator[str]:
        key = entry.hash, _files_of([*before, entry], settings)
        if key not in found:
            found[key] = list(unlike_answers(entry, before, tables, settings, made))
        yield from found[key]

    return once


def _known_once(known_releases: Callable[..., dict[str, str | None]]) -> Callable[..., dict[str, str | None]]:
    found: dict[Any, dict[str, str | None]] = {}

    def once(config: Any, make_anew: bool = False) -> dict[str, str | None]:
        if make_anew:
            return known_releases(config, make_anew)
        key = _engines(config.storage_path, "release.duckdb")
        if key not in found:
            found[key] = known_releases(config)
        return dict(found[key])

    return once


def _rows_checked_once(check_rows: Callable[..., None]) -> Callable[..., None]:
    good: set[Any] = set()

    def once(known: dict[str, str | None], entries: Sequence[Entry], config: Any) -> None:
        key = _engines(config.storage_path, "release.duckdb"), _files_of(entries, config), tuple(known.items())
        if key not in good:
            check_rows(known, entries, config)
            good.add(key)

    return once


def _prepared_once(prepare: Callable[..., None]) -> Callable[..., None]:
    """A prepared day follows from its files, the settings, and what the warehouse held."""
    made: dict[Any, tuple[tuple[str, bytes], ...]] = {}

    def once(dataset: Dataset, *date: Any) -> None:
        folder, config = private_folder(dataset.config), dataset.config
        forgotten = folder / "forgotten"
        told = dataset.config_file.read_bytes(), forgotten.read_bytes() if forgotten.exists() else b""
        key = date, told, _all_in(dataset.folder / "raw", "*"), _engines(folder, "warehouse.duckdb")
        if key not in made:
            prepare(dataset, *date)
            warehouse._of_thread.kept[config.storage_path].let_go()
            made[key] = _engines(folder, "warehouse.duckdb")
            return
        for path in folder.glob("warehouse.duckdb*"):
            path.unlink()
        for name, content in made[key]:
            (folder / name).write_bytes(content)

    return once


def _read_once(read_day: Callable[..., UserCells]) -> Callable[..., UserCells]:
    """What users brought to a day where presence is secret follows from its files and the settings."""
    found: dict[Any, tuple[UserCells, bytes]] = {}

    def once(date: dt.date, config: PresenceConfig, read_for: str = "") -> UserCells:
        key = date, repr(config), _all_in(config.storage_path.parent / "raw", "*")
        report = report_path(date, config, read_for)
        if key not in found:
            found[key] = read_day(date, config, read_for), report.read_bytes()
        write_whole(report, found[key][1])
        return found[key][0]

    return once


def _files_of(entries: Sequence[Entry], config: Spender) -> str:
    """Return a hash of the private files that entries name, each by the hash that it should have."""
    named, digest = set(_HASH.findall(str([one.stated for one in entries]))), hashlib.blake2b()
    for path in sorted(private_folder(config).glob("*/*")):
        if path.name in named:
            digest.update(f"{path.parent.name}/{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


def _engines(folder: Path, name: str) -> tuple[tuple[str, bytes], ...]:
    """Return a file of the engine with its log."""
    return _all_in(folder, f"{name}*")


def _all_in(folder: Path, pattern: str) -> tuple[tuple[str, bytes], ...]:
    return tuple((path.name, path.read_bytes()) for path in sorted(folder.glob(pattern)))
