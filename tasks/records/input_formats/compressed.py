"""Opens input files, compressed or not. What comes out of a compressed one is limited while it is decompressed."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, Any, BinaryIO

import pyarrow as pa

from tasks.base.errors import BadInput

_LARGEST_IN_ANY_CASE = 1 << 28  # bytes
_MOST_FOLD = 200  # how many times longer than itself a compressed text may become; zeros become 1,000 times longer
PACKINGS = (".gz", ".zst")
"""What the name of a compressed file ends in, after the ending of its format."""
_BUFFER = 1 << 17
_in_memory: dict[Path, bytes] = {}
_KINDS = {".gz": "gzip", ".tgz": "gzip", ".zst": "zstd"}


class TooLarge(ValueError):
    """There is more than may be held."""


def open_binary(path: Path, is_limited: bool = True) -> BinaryIO:
    """Open a file, and decompress it if its name ends in .gz or .zst.

    To read it raises ``BadInput``, with the file's name, if it is damaged or, if it is limited, becomes longer than 256
    MiB and than 200 times itself.
    """
    return io.BufferedReader(_Decompressed(path, is_limited), _BUFFER) if path.suffix in _KINDS else _as_stored(path)


@contextmanager
def in_memory(contents: Mapping[Path, bytes]) -> Iterator[None]:
    """Hold small files in memory while they are read: to write each to a disk takes longer than to read it."""
    _in_memory.update(contents)
    try:
        yield
    finally:
        for path in contents:
            del _in_memory[path]


def put_on_disk(path: Path) -> None:
    """Write a file to its place that is held in memory, if it is, because the engine reads it there."""
    if path in _in_memory:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_in_memory[path])


def _as_stored(path: Path) -> BinaryIO:
    return io.BytesIO(_in_memory[path]) if path in _in_memory else path.open("rb")


def packed(*endings: str) -> tuple[str, ...]:
    """Return the ends of names of files that may be compressed; the first is the first that is given."""
    return (*endings, *(ending + packing for ending in endings for packing in PACKINGS))


def most_of(path: Path) -> int:
    """Return how long a compressed file may become."""
    size = len(_in_memory[path]) if path in _in_memory else path.stat().st_size
    return max(_LARGEST_IN_ANY_CASE, _MOST_FOLD * size)


def too_well_compressed(path: Path) -> BadInput:
    """Return the error for a file of which more comes out than ``most_of`` allows."""
    return BadInput(
        f"{path}: becomes {_MOST_FOLD} times longer when it is decompressed, as no records do; fetch it again"
    )


def whole(path: Path, largest: int, problem: str) -> bytes:
    """Return all bytes of a file, decompressed if its name ends in .gz or .zst.

    Args:
        path: The file.
        largest: How many bytes it may be.
        problem: What to say and do if it is larger.

    Raises:
        BadInput: It is larger, or damaged.
    """
    with open_binary(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise BadInput(f"{path}: {problem}")
    return content


def unzipped(content: bytes, largest: int) -> bytes:
    """Return what some bytes hold in gzip.

    Raises:
        TooLarge: That is more than ``largest`` bytes.
        OSError, EOFError, zlib.error: They are damaged.
    """
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        found = file.read(largest + 1)
    if len(found) > largest:
        raise TooLarge
    return found


class _Decompressed(io.RawIOBase):
    """What a file holds in gzip or zstd."""

    def __init__(self, path: Path, is_limited: bool) -> None:
        self._path, self._stored = path, _as_stored(path)
        self._file = _decompressing(self._stored, _KINDS[path.suffix])
        self._left = most_of(path) if is_limited else sys.maxsize

    def readable(self) -> bool:
        return True

    def readinto(self, into: "memoryview | bytearray") -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            n_read = self._file.readinto(into)
        except (EOFError, zlib.error, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the file cannot be read at all
            problem = BadInput(
                f"{self._path}: the {_KINDS[self._path.suffix]} file is truncated or damaged; fetch it again"
            )
        else:
            self._left -= n_read
            if self._left >= 0:
                return n_read
            problem = too_well_compressed(self._path)
        raise problem

    def close(self) -> None:
        self._file.close()
        self._stored.close()
        super().close()


def decompressed(file: IO[bytes], name: str) -> Any:
    """Return a file that is read, or what it holds if its name ends in .gz or .zst."""
    kind = _KINDS.get(PurePath(name).suffix)
    return file if kind is None else _decompressing(file, kind)


def _decompressing(file: IO[bytes], kind: str) -> Any:
    return gzip.open(file) if kind == "gzip" else pa.CompressedInputStream(file, "zstd")
