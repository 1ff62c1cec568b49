"""Text files from their first byte to their last: in blocks of whole lines, and never more than one block in memory."""

import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tasks.errors import BadInput

_LONGEST_RECORD = 1 << 16
_BLOCK = 1 << 22
_BATCH = 1 << 16
_MOST_MALFORMED = 10_000
_LINE_END, _QUOTE = b"\n", b'"'
_BLANK = b" \t\n\v\f\r"
_SCHEMA = pa.schema({"row_number": pa.int64(), "line": pa.string()})


def open_binary(path: Path) -> BinaryIO | gzip.GzipFile:
    """Open a file, unpacked if its name ends in .gz."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def first_line(path: Path) -> bytes:
    """Return a file's first line; of one that is too long only its beginning."""
    with open_binary(path) as file:
        return file.readline(_LONGEST_RECORD)


class Block(NamedTuple):
    """Some whole lines of a file, each ended by a line feed but perhaps the file's last.

    Attributes:
        content: Their bytes.
        starts: Where in these each line begins, shape (number of lines,).
    """

    content: bytes
    starts: NDArray[np.int64]

    def is_row(self, blank: bytes) -> NDArray[np.bool_]:
        """Tell of each line whether it holds more than some characters, shape (number of lines,)."""
        content = np.frombuffer(self.content, np.uint8)
        is_blank = np.isin(np.arange(256), np.frombuffer(blank, np.uint8))
        if not is_blank[content[self.starts]].any():
            return np.ones(self.starts.size, np.bool_)
        return ~np.logical_and.reduceat(is_blank[content], self.starts)

    def n_fields(self, delimiter: bytes) -> NDArray[np.int64]:
        """Return how many fields each line has if every delimiter ends one, shape (number of lines,)."""
        content = np.frombuffer(self.content, np.uint8)
        found = content == delimiter[0]
        for place, byte in enumerate(delimiter[1:], start=1):
            found[:-place] &= content[place:] == byte
        ends = np.append(self.starts, content.size)
        return np.diff(np.searchsorted(np.flatnonzero(found), ends)) + 1


def blocks(path: Path) -> Iterator[Block]:
    """Yield a file in blocks of whole lines.

    Raises:
        BadInput: The file is truncated or damaged, or a line is longer than 64 KiB.
    """
    rest = b""
    try:
        with open_binary(path) as file:
            while chunk := file.read(_BLOCK):
                whole = rest + chunk
                if _has_long_line(whole):
                    raise _too_long(path)
                end = whole.rfind(_LINE_END) + 1
                rest = whole[end:]
                if end:
                    yield _block(whole[:end])
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the gzip file is truncated or damaged; fetch it again") from None
    if rest:
        yield _block(rest)


def count_lines(path: Path) -> int:
    """Return how many lines of a file are not blank, white space being that of ASCII.

    Raises:
        BadInput: What ``blocks`` raises, or a line is not UTF-8.
    """
    return sum(int(np.count_nonzero(block.is_row(_BLANK))) for block in _utf8_blocks(path))


def count_csv_rows(path: Path, delimiter: str) -> int:
    """Return how many rows a CSV file has, its header not counted, without the engine.

    Where no quote occurs a row is a line. Where one does, Python's own reader tells the rows, which is slow. An empty
    line is no row.

    Raises:
        BadInput: What ``blocks`` raises, its quotes or line ends break the rules of RFC 4180, or so many rows have not
            the header's number of fields that the engine, which keeps them all in memory, cannot be given the file.
    """
    try:
        n_rows, n_malformed = _tally(_fields_by_lines(path, delimiter))
    except _QuoteOccurs:
        n_rows, n_malformed = _tally(_fields_by_records(path, delimiter))
    if n_malformed > max(_MOST_MALFORMED, n_rows // 100):
        raise BadInput(
            f"{path}: {n_malformed:,} of {n_rows:,} rows have not as many fields as the header; check dataset.delimiter"
        )
    return n_rows


def numbered_lines(path: Path) -> pa.RecordBatchReader:
    """Return the lines of a file as Arrow batches, each with its line end, numbered from 1 as ``row_number``.

    Raises:
        BadInput: What ``count_lines`` raises, but only when the batches are read.
    """
    return pa.RecordBatchReader.from_batches(_SCHEMA, _batches(path))


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    n_before = 0
    for content, starts in _utf8_blocks(path):
        numbers = pa.array(np.arange(1, starts.size + 1) + n_before)
        offsets = np.append(starts, len(content)).astype(np.int32)
        lines = pa.StringArray.from_buffers(starts.size, pa.py_buffer(offsets), pa.py_buffer(content))
        yield pa.RecordBatch.from_arrays([numbers, lines], schema=_SCHEMA)
        n_before += starts.size


def _utf8_blocks(path: Path) -> Iterator[Block]:
    n_before = 0
    for block in blocks(path):
        try:
            block.content.decode()
        except UnicodeDecodeError as error:
            number = n_before + block.content.count(_LINE_END, 0, error.start) + 1
        else:
            yield block
            n_before += block.starts.size
            continue
        raise BadInput(f"{path}: line {number} is not UTF-8; convert the file, for example with iconv")


class _QuoteOccurs(Exception):
    """A line of a CSV file may not be a record."""


def _fields_by_lines(path: Path, delimiter: str) -> Iterator[NDArray[np.int64]]:
    """Yield how many fields each record of a CSV file has, the header first, where every line is one; shape (some,)."""
    for block in blocks(path):
        if _QUOTE in block.content:
            raise _QuoteOccurs
        if block.content.count(b"\r") != block.content.count(b"\r\n"):
            raise unreadable(path, "csv")
        yield block.n_fields(delimiter.encode())[block.is_row(b"\r\n")]


def _fields_by_records(path: Path, delimiter: str) -> Iterator[NDArray[np.int64]]:
    """Yield the same of any CSV file."""
    counts = (len(record) for record in _csv_records(path, delimiter) if record)
    while some := list(itertools.islice(counts, _BATCH)):
        yield np.array(some)


def _tally(counts: Iterator[NDArray[np.int64]]) -> tuple[int, int]:
    """Return how many rows follow a header, and how many have not its number of fields."""
    n_rows, n_malformed, n_columns = -1, 0, None
    for some in counts:
        n_columns = some[0] if n_columns is None and some.size else n_columns
        n_rows += some.size
        n_malformed += int(np.count_nonzero(some != n_columns))
    return max(n_rows, 0), n_malformed


def _csv_records(path: Path, delimiter: str) -> Iterator[list[str]]:
    """Yield the records of a CSV file as Python reads them: one reader, which never has to guess where it is.

    What is said of a file that breaks the rules is told by records and not by lines, which may be within values.
    """
    lines, n_records = _RecordLines(path), 0
    try:
        for record in csv.reader(lines, delimiter=delimiter, strict=True):
            n_records += 1
            lines.begin_record()
            yield record
    except csv.Error:
        broken = f"a quote opened in record {n_records + 1} does not close" if lines.ended else None
    else:
        return
    raise BadInput(f"{path}: {broken}; mend it") if broken else unreadable(path, "csv")


class _RecordLines:
    """The lines of a CSV file, for a reader that takes as many as a record has.

    Attributes:
        ended: Whether more lines were asked for than there are.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = itertools.chain.from_iterable(io.BytesIO(block.content) for block in blocks(path))
        self._n_bytes = 0
        self.ended = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.ended = True
            raise StopIteration
        self._n_bytes += len(line)
        if self._n_bytes > _LONGEST_RECORD:
            raise _too_long(self._path)
        return line.decode("utf-8", "replace")

    def begin_record(self) -> None:
        self._n_bytes = 0


def unreadable(path: Path, kind: str) -> BadInput:
    """Return what is said of a file whose records cannot be told, the same whatever the values are."""
    return BadInput(f"{path}: cannot be read as {kind}; check its encoding (UTF-8), line ends and quotes")


def _too_long(path: Path) -> BadInput:
    return BadInput(f"{path}: a record is longer than 64 KiB; check the line ends, and that quotes close")


def _has_long_line(block: bytes) -> bool:
    """Tell whether a line is longer than 64 KiB; looks at few bytes."""
    start = 0
    while len(block) - start > _LONGEST_RECORD:
        end = block.rfind(_LINE_END, start, start + _LONGEST_RECORD)
        if end < 0:
            return True
        start = end + 1
    return False


def _block(content: bytes) -> Block:
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == _LINE_END[0])
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
    return Block(content, starts[:-1] if content.endswith(_LINE_END) else starts)
