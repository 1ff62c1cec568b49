"""The ledger's file: the only operations on its bytes."""

import fcntl
import os
from pathlib import Path

from tasks.base.durable import flush_folder


def read_bytes(path: Path) -> bytes:
    """Return the ledger's bytes, never in the middle of an append; no bytes if there is no ledger."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return file.read()
    except FileNotFoundError:
        return b""


def append_line(path: Path, line: bytes) -> None:
    """Append a line and flush it to disk.

    Raises:
        OSError: It could not be written, and the ledger is as it was before.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, line) < len(line):
                raise OSError(28, os.strerror(28), str(path))
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, size)
            os.fsync(descriptor)
            raise
    finally:
        os.close(descriptor)
    flush_folder(path.parent)


def erase(path: Path, size: int = 0) -> None:
    """Overwrite and remove all of a file after ``size``: it may reveal a draw that was not charged."""
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        n_bytes = file.seek(0, os.SEEK_END) - size
        file.seek(size)
        file.write(bytes(n_bytes))
        file.flush()
        os.fsync(file.fileno())
        file.truncate(size)
        os.fsync(file.fileno())
