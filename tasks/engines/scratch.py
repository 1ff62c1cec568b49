"""Scratch: a worker's temporary warehouse, gone when its work is done or, if it was killed, when the next begins."""

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
        config: Says where, in ``engine.scratch``; else it is among the dataset's private files.

    Yields:
        The configuration with that storage: whatever works on a warehouse works on this one.
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
    """Delete what killed workers left in the scratch folder that this machine sees, and wait for who is at work there.

    That may be a worker whose run was killed: what it has read is gone only when it is done.
    """
    root = _root(config)
    for folder in _folders(root):
        with suppress(FileNotFoundError), turn(folder / "lock", "the scratch folder"):
            pass
    with _door(root):
        _remove_abandoned(root)


def _door(root: Path) -> AbstractContextManager[None]:
    """Let one process at a time make or delete folders, so that none is seen half made or half deleted."""
    return turn(root / "door")


def _root(config: Config) -> Path:
    """Return a folder of this dataset's own, within the place that is given: what is beside it is not ours.

    Raises:
        HexveilError: Somebody else made it.
    """
    place = config.engine.scratch
    if place is None:
        root = private_folder(config) / "scratch"
    else:
        root = (config.folder / place).resolve() / f"hexveil-{config.dataset.name}"
    root.parent.mkdir(parents=True, exist_ok=True)
    root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.geteuid() or root.stat().st_mode & 0o077:
        raise HexveilError(f"{root} is another user's, or open to others; remove it, or name another engine.scratch")
    return root


def _folders(root: Path) -> list[Path]:
    return [folder for folder in root.glob(f"{_PREFIX}*") if folder.is_dir() and not folder.is_symlink()]


def _remove_abandoned(root: Path) -> None:
    """Delete folders whose lock nobody holds, for whoever made them has ended."""
    for folder in _folders(root):
        with (folder / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(folder, ignore_errors=True)
