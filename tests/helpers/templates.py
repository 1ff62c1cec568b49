"""Released days that are copied: a step that equal datasets ask for is run for the first and copied for the others.

Equal means the same bytes in every file of the folder, so whatever a test changed first counts. One test never gets the
same release twice: its second dataset is released for itself, with noise of its own.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasks.base.config import load_config

_KEPT = ("dataset.toml", "raw")
"""What no step writes."""


class Templates:
    """The datasets as steps left them, for one process of tests."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._made: dict[str, tuple[Path, str]] = {}
        self._used: set[str] = set()
        self._may_copy = False
        self._alters: Callable[[], bool] = lambda: False

    def begin(self, may_copy: bool, alters: Callable[[], bool]) -> None:
        """Begin another test, and say whether it may get copies, and what tells whether it alters something now."""
        self._used.clear()
        self._may_copy, self._alters = may_copy, alters

    def of(self, folder: Path, asked: tuple[Any, ...], run: Callable[[], str]) -> str:
        """Run a step on a dataset, or copy what it left in an equal one; return its result."""
        if not self._may_copy or self._alters() or not _is_whole(folder):
            return run()
        key = _digest(folder, asked)
        if key in self._used:
            return run()
        self._used.add(key)
        if key in self._made:
            made, result = self._made[key]
            _copy(made, folder)
            return result
        result = run()
        made = Path(self._folder.name) / key
        made.mkdir()
        _copy(folder, made)
        self._made[key] = made, result
        return result


TEMPLATES = Templates()


def _is_whole(folder: Path) -> bool:
    """Return whether all that a dataset is of lies in its folder, on the same disk."""
    config = load_config(folder / "dataset.toml")
    is_own = config.storage_path.is_relative_to(folder.resolve()) and not config.storage_path.is_mount()
    return is_own and not any("://" in one or Path(one).is_absolute() for one in config.dataset.files)


def _digest(folder: Path, asked: tuple[Any, ...]) -> str:
    found = hashlib.sha256(repr(asked).encode())
    for path in sorted(folder.rglob("*")):
        found.update(f"\n{path.relative_to(folder)} {path.lstat().st_mode}\n".encode())
        if path.is_file():
            found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _copy(source: Path, target: Path) -> None:
    """Make all that steps write the same in the target as in the source."""
    for path in target.iterdir():
        if path.name not in _KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in source.iterdir():
        if path.name in _KEPT:
            continue
        if path.is_dir():
            shutil.copytree(path, target / path.name, symlinks=True)
        else:
            shutil.copy2(path, target / path.name)
