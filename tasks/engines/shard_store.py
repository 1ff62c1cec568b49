"""The shards' storage: a folder or an object store whose files are complete or absent. As private as the warehouse."""

import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from tasks.base import durable
from tasks.base.config import Config
from tasks.base.config_types import is_remote
from tasks.base.errors import HexveilError
from tasks.base.locks import turn
from tasks.base.storage import private_folder

_OWNER = "owner"
_FENCE = "fence"


@dataclass(frozen=True)
class Store:
    """Where parts, and the workers' results from them, are stored.

    Attributes:
        address: A folder, or an fsspec address.
        fence: For a worker, the fencing token of its run. What it stores after another run has begun, or after a day
            was forgotten, is not kept. A run that was killed or lost its connection cannot stop its workers.
    """

    address: str
    fence: str | None = None

    @cached_property
    def _opened(self) -> tuple[fsspec.AbstractFileSystem, str]:
        return fsspec.url_to_fs(self.address)

    @property
    def _folder(self) -> Path | None:
        system, root = self._opened
        return Path(root) if isinstance(system, LocalFileSystem) else None

    def put(self, file: Path, name: str) -> None:
        """Store a file under a name: by one put, or under a temporary name and then a rename.

        Raises:
            HexveilError: The worker's run is over.
        """
        self._put(file, name)
        if self.fence is not None and self.read(_FENCE) != self.fence.encode():
            self.remove([name])
            raise HexveilError("the run that gave out this work is over, so nothing more of it is kept")

    def _put(self, file: Path, name: str) -> None:
        if self._folder is None:
            system, root = self._opened
            system.put_file(str(file), f"{root}/{name}")
            return
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with file.open("rb") as source, os.fdopen(descriptor, "wb") as copy:
            shutil.copyfileobj(source, copy)
            copy.flush()
            os.fsync(copy.fileno())
        temporary.replace(path)
        durable.flush_folder(path.parent)

    def fetch(self, name: str, folder: Path) -> Path:
        """Return the path of a stored file, or of a copy of it in a folder.

        Raises:
            HexveilError: The file is missing.
        """
        path, (system, root) = self._folder, self._opened
        if path is not None and (path / name).exists():
            return path / name
        copy = folder / name.replace("/", "-")
        try:
            system.get_file(f"{root}/{name}", str(copy))
        except FileNotFoundError:
            problem = f"{self.address}/{name} is missing"
        else:
            return copy
        raise HexveilError(
            f"{problem}; remove private/warehouse.duckdb from storage.path: it is made again from the input files"
        )

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a stored file, or None if it is missing."""
        system, root = self._opened
        try:
            content = system.cat_file(f"{root}/{name}")
        except FileNotFoundError:
            return None
        return content if isinstance(content, bytes) else content.encode()

    def set_fence(self, token: str) -> None:
        """Shut out the workers of all other runs: after they store a file they check the fence, and find this token."""
        system, root = self._opened
        system.pipe_file(f"{root}/{_FENCE}", token.encode())

    def names(self) -> list[str]:
        """Return the names of all stored files, including half-written files of killed workers."""
        system, root = self._opened
        system.invalidate_cache()
        found = system.find(root) if system.exists(root) else []
        return sorted(path.removeprefix(root).lstrip("/") for path in found)

    def remove(self, names: Iterable[str]) -> None:
        """Delete stored files, and folders that become empty. A worker that was shut out may do this too."""
        (system, root), gone = self._opened, list(names)
        if self._folder is None:
            if gone:
                system.rm([f"{root}/{name}" for name in gone])
            return
        for name in gone:
            (self._folder / name).unlink(missing_ok=True)
        folders = {folder for name in gone for folder in Path(name).parents} - {Path()}
        for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
            with suppress(OSError):  # it is not empty
                (self._folder / folder).rmdir()


def open_store(config: Config, fence: str | None = None) -> Store:
    """Return a dataset's shards' storage; a worker gives its run's fence. Only the owner may enter a new folder."""
    place = config.engine.shards
    if place is not None and is_remote(place):
        return Store(place.rstrip("/"), fence)
    folder = private_folder(config) / "shards" if place is None else (config.folder / place).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077 and not any(folder.iterdir()):
        folder.chmod(0o700)
    return Store(str(folder), fence)


def sweep(wanted: set[str], fence: str, config: Config) -> int:
    """Delete all stored files except some, and return how many were deleted.

    Deleted are the files that a killed run left, results that were merged, and forgotten records.

    Args:
        wanted: The names of the files to keep.
        fence: The fencing token of this turn; workers of all other runs are shut out.
        config: Gives the place of the storage.

    Raises:
        HexveilError: The storage belongs to another dataset, whose files would be lost.
    """
    store = open_store(config)
    _claim(store, config)
    store.set_fence(fence)  # before the list of names, so that a file stored after the list is not kept
    gone = [name for name in store.names() if name not in wanted | {_OWNER, _FENCE}]
    store.remove(gone)
    return len(gone)


@contextmanager
def exclusive_shards(config: Config) -> Iterator[str]:
    """Wait for a turn at the shards' storage, if shards are used: nothing may be written while another run deletes.

    The lock ends with its process. Workers on other machines may live longer; the fence shuts them out.

    Yields:
        The fencing token of this turn, for ``sweep`` and for workers.
    """
    fence = uuid.uuid4().hex
    if config.engine.name == "local":
        yield fence
        return
    with turn(private_folder(config) / "shards.lock", "the shards"):
        yield fence


def _claim(store: Store, config: Config) -> None:
    """Mark the storage as this dataset's, and refuse one that belongs to another."""
    mine = private_folder(config) / "shards-owner"
    if not mine.exists():
        durable.write_new(mine, uuid.uuid4().hex.encode())
    if store.read(_OWNER) == mine.read_bytes():
        return
    if store.names():
        raise HexveilError(f"{store.address} holds other files or the shards of another storage; give an empty one")
    store.put(mine, _OWNER)
