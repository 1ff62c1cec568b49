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

from tasks import durable
from tasks.config import Config
from tasks.errors import HexveilError
from tasks.locks import turn
from tasks.sections import is_remote
from tasks.warehouse import private_folder

_OWNER = "owner"


@dataclass(frozen=True)
class Store:
    """Where parts and what workers make of them lie.

    Attributes:
        address: A folder, or an fsspec address.
    """

    address: str

    @cached_property
    def _opened(self) -> tuple[fsspec.AbstractFileSystem, str]:
        return fsspec.url_to_fs(self.address)

    @property
    def _folder(self) -> Path | None:
        system, root = self._opened
        return Path(root) if isinstance(system, LocalFileSystem) else None

    def put(self, file: Path, name: str) -> None:
        """Store a file under a name: by one put, or under a temporary name that is then changed."""
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

    def names(self) -> list[str]:
        """Return the names of everything that is stored, half-written files of killed workers too."""
        system, root = self._opened
        system.invalidate_cache()
        found = system.find(root) if system.exists(root) else []
        return sorted(path.removeprefix(root).lstrip("/") for path in found)

    def remove(self, names: Iterable[str]) -> None:
        """Delete stored files, and folders that nothing is left in."""
        (system, root), gone = self._opened, list(names)
        if gone:
            system.rm([f"{root}/{name}" for name in gone])
        if self._folder is not None:
            folders = {folder for name in gone for folder in Path(name).parents} - {Path()}
            for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
                with suppress(OSError):  # it is not empty
                    (self._folder / folder).rmdir()


def open_store(config: Config) -> Store:
    """Return a dataset's shards' storage; a folder is made so that only its owner may enter."""
    place = config.engine.shards
    if place is not None and is_remote(place):
        return Store(place.rstrip("/"))
    folder = private_folder(config) / "shards" if place is None else (config.folder / place).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077 and not any(folder.iterdir()):
        folder.chmod(0o700)
    return Store(str(folder))


def sweep(wanted: set[str], config: Config) -> int:
    """Delete all that is stored but some names, and return how many files that were.

    What nobody wants is what a killed run left, what was merged, and what is to be forgotten.

    Raises:
        HexveilError: The storage is another's, whose files would be lost.
    """
    store = open_store(config)
    names = store.names()
    _claim(store, names, config)
    gone = [name for name in names if name not in wanted | {_OWNER}]
    store.remove(gone)
    return len(gone)


@contextmanager
def alone(config: Config) -> Iterator[None]:
    """Wait for one's turn at the shards' storage, if there is one: who forgets or sweeps must not meet who writes."""
    if config.engine.name == "local":
        yield
        return
    with turn(private_folder(config) / "shards.lock", "the shards"):
        yield


def _claim(store: Store, names: list[str], config: Config) -> None:
    """Note whose storage this is, and refuse another's."""
    mine = private_folder(config) / "shards-owner"
    if not mine.exists():
        durable.write_new(mine, uuid.uuid4().hex.encode())
    if not names:
        store.put(mine, _OWNER)
    elif store.read(_OWNER) != mine.read_bytes():
        raise HexveilError(f"{store.address} holds other files or the shards of another storage; give an empty one")
