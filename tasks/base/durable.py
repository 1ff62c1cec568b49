"""Write files that are complete or absent, and flushed to disk before the next step relies on them."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return the only form in which JSON is hashed: sorted keys, no white space, ASCII, no floats."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def readable_json(value: Any) -> bytes:
    """Return JSON for people: sorted keys, indented, one line end at the end, no floats."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False).encode() + b"\n"


def sha256(content: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_whole(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a file under a temporary name, flush it to disk, then rename it."""
    make_folder(path.parent)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        os.fchmod(descriptor, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise
    flush_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Create a folder, and those above it, which others cannot write whatever the process allows to new files.

    Its name is flushed: otherwise a power cut may take it away with all that was flushed in it.
    """
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o755, exist_ok=True)
        flush_folder(folder.parent)


def close_to_others(path: Path) -> None:
    """Let nobody but the owner write a file or a folder, if everybody could."""
    mode = path.stat().st_mode
    if mode & 0o002:
        path.chmod(mode & 0o7755)


def write_new(path: Path, content: bytes) -> None:
    """Write a file only if it does not exist. If two processes write it, the first one wins and both can read it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    write_whole(temporary, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    flush_folder(path.parent)


def write_named_by_hash(folder: Path, content: bytes) -> str:
    """Write bytes to a file named by their hash, and return the hash. Such a file never changes."""
    name = sha256(content)
    if not (folder / name).exists():
        write_whole(folder / name, content)
    return name


def read_named_by_hash(folder: Path, name: str) -> bytes | None:
    """Return the bytes of a file named by its hash; None if it is missing or its content has another hash."""
    try:
        content = (folder / name).read_bytes()
    except FileNotFoundError:
        return None
    return content if sha256(content) == name else None


def flush_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, so that a new name in it survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_floats(value: Any) -> None:
    if isinstance(value, float):
        raise TypeError("a float has no canonical form; write a decimal string")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        _refuse_floats(part)
