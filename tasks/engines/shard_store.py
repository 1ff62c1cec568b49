"""The shards' storage: a folder or an object store, in which a file is whole or absent. As private as the warehouse."""

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
    """Where parts and what workers make of them lie.

    Attributes:
        address: A folder, or an fsspec address.
        fence: For a worker, the fencing token of the run that it works for; what it stores after another has begun, or
            a day was forgotten, is not kept. A run that was killed or cut off cannot call its workers back.
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
        """Store a file under a name: by one put, or under a temporary name that is then changed.

        Raises:
            HexveilError: The run that a worker works for is over.
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
        """Return where a stored file can be read: itself, or a copy of it in a folder.

        Raises:
            HexveilError: It is missing.
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
            f"{problem}; remove private/warehouse.duckdb from storage.path: it is made anew from the input files"
        )

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a stored file; None where it is missing."""
        system, root = self._opened
        try:
            content = system.cat_file(f"{root}/{name}")
        except FileNotFoundError:
            return None
        return content if isinstance(content, bytes) else content.encode()

    def set_fence(self, token: str) -> None:
        """Shut out the workers of every other run: their next check comes after what they stored, and finds this."""
        system, root = self._opened
        system.pipe_file(f"{root}/{_FENCE}", token.encode())

    def names(self) -> list[str]:
        """Return the names of everything that is stored, half-written files of killed workers too."""
        system, root = self._opened
        system.invalidate_cache()
        found = system.find(root) if system.exists(root) else []
        return sorted(path.removeprefix(root).lstrip("/") for path in found)

    def remove(self, names: Iterable[str]) -> None:
        """Delete stored files, which a worker that was shut out may do too, and folders that nothing is left in."""
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
    """Return a dataset's shards' storage, for a worker with its run's fence; only its owner may enter a new folder."""
    place = config.engine.shards
    if place is not None and is_remote(place):
        return Store(place.rstrip("/"), fence)
    folder = private_folder(config) / "shards" if place is None else (config.folder / place).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077 and not any(folder.iterdir()):
        folder.chmod(0o700)
    return Store(str(folder), fence)


def sweep(wanted: set[str], fence: str, config: Config) -> int:
    """Delete all that is stored but some names, and return how many files that were.

    What nobody wants is what a killed run left, what was merged, and what is to be forgotten.

    Args:
        wanted: The names that stay.
        fence: Of whose turn it is; workers of every other run are shut out.
        config: Says where the storage is.

    Raises:
        HexveilError: The storage is another's, whose files would be lost.
    """
    store = open_store(config)
    _claim(store, config)
    store.set_fence(fence)  # before the names are listed, so that what is stored after that is not kept
    gone = [name for name in store.names() if name not in wanted | {_OWNER, _FENCE}]
    store.remove(gone)
    return len(gone)


@contextmanager
def exclusive_shards(config: Config) -> Iterator[str]:
    """Wait for one's turn at the shards' storage, if there is one: who forgets or sweeps must not meet who writes.

    The lock goes with its process, but workers elsewhere may outlive that: they are shut out by a fence.

    Yields:
        The fencing token of this turn, to sweep with and to give to workers.
    """
    fence = uuid.uuid4().hex
    if config.engine.name == "local":
        yield fence
        return
    with turn(private_folder(config) / "shards.lock", "the shards"):
        yield fence


def _claim(store: Store, config: Config) -> None:
    """Note whose storage this is, and refuse another's."""
    mine = private_folder(config) / "shards-owner"
    if not mine.exists():
        durable.write_new(mine, uuid.uuid4().hex.encode())
    if store.read(_OWNER) == mine.read_bytes():
        return
    if store.names():
        raise HexveilError(f"{store.address} holds other files or the shards of another storage; give an empty one")
    store.put(mine, _OWNER)
