"""Archives: tar and zip files of input files, unpacked some at a time into a private folder. What comes out is limited.

The files in an archive are together one file of the dataset.
"""

import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from tasks.base.errors import BadInput
from tasks.base.storage import own_folder
from tasks.records.input_formats.all_formats import format_by_name
from tasks.records.input_formats.compressed import decompressed, in_memory, most_of, open_binary, too_well_compressed
from tasks.records.input_formats.merged import LARGEST

ENDINGS = (".tar", ".tar.gz", ".tar.zst", ".tgz", ".zip")
"""What the name of an archive ends in."""
PACK = ".tar.zst"
"""What follows a pattern in the names of archives of files that it matches: so `hexveil record` packs them."""
_MOST_AT_ONCE = 1 << 26  # bytes
_CHUNK = 1 << 20
_NO_RECORDS = ("readme", "license", "licence", "copying", "changelog", "about", "notice")
_NO_DATA = (".md", ".pdf", ".html", ".htm", ".doc", ".docx", ".rtf")


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive, by its name."""
    return path.name.endswith(ENDINGS)


def unpacked(path: Path, folder: Path, is_declared: bool) -> Generator[list[Path], None, None]:
    """Yield the files in an archive, unpacked, some at a time; they are removed before the next ones.

    Hidden files are passed over, as are those with `_` in front, and what is named as a text about the data. So are
    files whose names do not say their format, unless it is declared.

    Args:
        path: The archive.
        folder: Where to unpack to. It is made and removed; it must be private.
        is_declared: Whether it is declared.

    Raises:
        BadInput: It is damaged, becomes too long, or has no file to read.
    """
    n_unpacked, n_left = 0, most_of(path)
    some, n_bytes = dict[Path, bytes | None](), 0
    with own_folder(folder):
        for name, file in _members(path):
            if not _is_wanted(PurePosixPath(name), is_declared):
                continue
            to = folder.joinpath(str(n_unpacked), *(one for one in PurePosixPath(name).parts if one not in ("/", "..")))
            some[to], n_more = _taken(file, to, n_left)
            n_bytes, n_left, n_unpacked = n_bytes + n_more, n_left - n_more, n_unpacked + 1
            if n_left < 0:
                raise too_well_compressed(path)
            if n_bytes > _MOST_AT_ONCE:
                yield from _held(some)
                some, n_bytes = {}, 0
        if some:
            yield from _held(some)
    if not n_unpacked:
        raise BadInput(f"{path}: has no file of records: their names must say their format, or set dataset.format")


@contextmanager
def naming(path: Path, folder: Path) -> Iterator[None]:
    """Name in errors about an unpacked file the archive that it is in."""
    try:
        yield
        return
    except BadInput as error:
        problem = re.sub(rf"{re.escape(str(folder))}/\d+", str(path), str(error))
    raise BadInput(problem)


def _is_wanted(name: PurePosixPath, is_declared: bool) -> bool:
    if any(part.startswith((".", "__MACOSX")) for part in name.parts) or name.name.startswith("_") or not name.name:
        return False
    if is_declared:
        return name.stem.lower() not in _NO_RECORDS and name.suffix.lower() not in _NO_DATA
    return format_by_name(Path(name.name)) is not None


def files_of_archive(path: Path, is_declared: bool) -> Iterator[IO[bytes]]:
    """Yield each file in an archive that ``unpacked`` would, to be read at once, however much comes out of it.

    To read it raises ``BadInput``, or what decompression raises, if it is damaged.
    """
    for name, file in _members(path, is_limited=False):
        if _is_wanted(PurePosixPath(name), is_declared):
            yield decompressed(file, name)


def _members(path: Path, is_limited: bool = True) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name of each file in an archive, and the file, to be read at once."""
    if path.suffix == ".zip":
        with _said(path), zipfile.ZipFile(path) as archive:
            for one in archive.infolist():
                if not one.is_dir():
                    with archive.open(one) as file:
                        yield one.filename, file
        return
    with _said(path), open_binary(path, is_limited) as stored:
        counted = _Counted(stored)
        with tarfile.open(fileobj=counted, mode="r|", bufsize=_CHUNK) as archive:
            for one in archive:
                file = archive.extractfile(one) if one.isfile() else None
                if file is not None:
                    yield one.name, file
            if counted.n_bytes + len(stored.read(1)) <= archive.offset:
                raise tarfile.ReadError  # nothing says that this is its end


class _Counted(io.RawIOBase):
    """A file that counts what was read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.n_bytes = file, 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.n_bytes += len(content)
        return content


def _held(some: Mapping[Path, bytes | None]) -> Iterator[list[Path]]:
    """Yield files, small ones held in memory; then remove them."""
    with in_memory({path: content for path, content in some.items() if content is not None}):
        yield list(some)
    for path in some:
        path.unlink(missing_ok=True)


def _taken(file: IO[bytes], to: Path, most: int) -> tuple[bytes | None, int]:
    """Return what a file holds, or copy it if that is much; and how many bytes it has, or a few more than the most."""
    chunk = file.read(LARGEST + 1)
    if len(chunk) <= LARGEST:
        return chunk, len(chunk)
    n_bytes = 0
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("wb") as copy:
        while chunk and n_bytes <= most:
            n_bytes += len(chunk)
            copy.write(chunk)
            chunk = file.read(_CHUNK)
    return None, n_bytes


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """Say which archive is damaged."""
    try:
        yield
        return
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        problem = "the archive is truncated, damaged or encrypted; fetch it again, or unpack it"
    raise BadInput(f"{path}: {problem}")
