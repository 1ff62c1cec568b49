"""Opens input files, compressed or not. What comes out of a compressed one is limited while it is decompressed."""

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO

from tasks.base.errors import BadInput

_LARGEST_IN_ANY_CASE = 1 << 28  # bytes
_MOST_FOLD = 200  # how many times longer than itself a compressed text may become; zeros become 1,000 times longer
_ENDING = ".gz"
BOMB = f"becomes {_MOST_FOLD} times longer when it is decompressed, as no records do; fetch it again"
"""What is wrong with a file of which more comes out than ``most_of`` allows."""


class TooLarge(ValueError):
    """There is more than may be held."""


def most_of(path: Path) -> int:
    """Return how many bytes may come out of a compressed file."""
    return max(_LARGEST_IN_ANY_CASE, _MOST_FOLD * path.stat().st_size)


def open_binary(path: Path) -> BinaryIO:
    """Open a file, and decompress it if its name ends in .gz.

    To read it raises ``BadInput``, with the file's name, if it is damaged, or becomes longer than 256 MiB and than 200
    times itself.
    """
    return io.BufferedReader(_Decompressed(path)) if path.suffix == _ENDING else path.open("rb")


def whole(path: Path, largest: int, problem: str) -> bytes:
    """Return all bytes of a file, decompressed if its name ends in .gz.

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
    """What a file holds in gzip."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, gzip.open(path)  # noqa: SIM115 closed with this
        self._left = most_of(path)

    def readable(self) -> bool:
        return True

    def readinto(self, into: "memoryview | bytearray") -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        try:
            n_read = self._file.readinto(into)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            problem = "the gzip file is truncated or damaged; fetch it again"
        else:
            self._left -= n_read
            if self._left >= 0:
                return n_read
            problem = BOMB
        raise BadInput(f"{self._path}: {problem}")

    def close(self) -> None:
        self._file.close()
        super().close()
