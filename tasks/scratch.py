"""Scratch: a worker's temporary warehouse, gone when its work is done or, if it was killed, when the next begins."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.config import Config
from tasks.warehouse import private_folder


@contextmanager
def scratch(config: Config) -> Iterator[Config]:
    """Make an empty storage in a folder that only its owner may enter, and delete it afterwards.

    Args:
        config: Says where, in ``engine.scratch``; else it is among the dataset's private files.

    Yields:
        The configuration with that storage: whatever works on a warehouse works on this one.
    """
    root = _root(config)
    with (root / "door").open("a") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        _remove_abandoned(root)
        folder = Path(tempfile.mkdtemp(dir=root))
        lock = (folder / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        storage = config.storage.model_copy(update={"path": str(folder)})
        yield config.model_copy(update={"storage": storage})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def remove_abandoned(config: Config) -> None:
    """Delete what killed workers left in the scratch folder that this machine sees."""
    root = _root(config)
    with (root / "door").open("a") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        _remove_abandoned(root)


def _root(config: Config) -> Path:
    place = config.engine.scratch
    root = private_folder(config) / "scratch" if place is None else (config.folder / place).resolve()
    root.mkdir(parents=True, exist_ok=True)
    if root.stat().st_mode & 0o077:
        root.chmod(0o700)
    return root


def _remove_abandoned(root: Path) -> None:
    """Delete folders whose lock nobody holds: the system lets go of a lock when its process ends, however it ends."""
    for folder in root.iterdir():
        if folder.is_dir():
            with (folder / "lock").open("a") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(folder, ignore_errors=True)
