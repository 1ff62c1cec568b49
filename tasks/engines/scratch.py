"""Scratch: makes a worker's temporary warehouse. It is deleted after the work or, after a kill, by the next worker."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.locks import turn
from tasks.base.storage import private_folder

_PREFIX = "work-"


@contextmanager
def scratch(config: Config) -> Iterator[Config]:
    """Make an empty storage in a folder that only its owner may enter, and delete it afterwards.

    Args:
        config: Gives the place in ``engine.scratch``; by default it is among the dataset's private files.

    Yields:
        The configuration with that storage: with it, any function on a warehouse uses the temporary one.
    """
    root = _root(config)
    with _door(root):
        _remove_abandoned(root)
        folder = Path(tempfile.mkdtemp(dir=root, prefix=_PREFIX))
        lock = (folder / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        storage = config.storage.model_copy(update={"path": str(folder)})
        yield config.model_copy(update={"storage": storage})
    finally:
        with _door(root):
            shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def remove_abandoned(config: Config) -> None:
    """Wait for the workers in the scratch folder that this machine sees, and delete what killed workers left there.

    A worker may go on after its run was killed. What it has read is deleted only when it is done.
    """
    root = _root(config)
    for folder in _folders(root):
        with suppress(FileNotFoundError), turn(folder / "lock", "the scratch folder"):
            pass
    with _door(root):
        _remove_abandoned(root)


def _door(root: Path) -> AbstractContextManager[None]:
    """Let one process at a time make or delete folders, so that no other process sees a half-made one."""
    return turn(root / "door")


def _root(config: Config) -> Path:
    """Return this dataset's own folder inside the configured place. Other files in that place are not touched.

    Raises:
        HexveilError: The folder belongs to another user, or others may enter it.
    """
    place = config.engine.scratch
    if place is None:
        root = private_folder(config) / "scratch"
    else:
        root = (config.folder / place).resolve() / f"hexveil-{config.dataset.name}"
    root.parent.mkdir(parents=True, exist_ok=True)
    root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.geteuid() or root.stat().st_mode & 0o077:
        raise HexveilError(
            f"{root} belongs to another user, or other users may enter it; remove it, or name another engine.scratch"
        )
    return root


def _folders(root: Path) -> list[Path]:
    return [folder for folder in root.glob(f"{_PREFIX}*") if folder.is_dir() and not folder.is_symlink()]


def _remove_abandoned(root: Path) -> None:
    """Delete folders whose lock is free, because the process that made them has ended."""
    for folder in _folders(root):
        with (folder / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(folder, ignore_errors=True)
