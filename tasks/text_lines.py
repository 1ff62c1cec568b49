"""Text files from their first byte to their last: in blocks of whole lines, and never more than one block in memory."""

import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tasks.errors import BadInput

_LONGEST_RECORD = 1 << 16
_BLOCK = 1 << 22
_LINE_END, _QUOTE = b"\n", b'"'
_SCHEMA = pa.schema({"row_number": pa.int64(), "line": pa.string()})


def open_binary(path: Path) -> BinaryIO | gzip.GzipFile:
    """Open a file, unpacked if its name ends in .gz."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def first_line(path: Path) -> bytes:
    """Return a file's first line; of one that is too long only its beginning."""
    with open_binary(path) as file:
        return file.readline(_LONGEST_RECORD)


def blocks(path: Path) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines, each ended by a line feed but perhaps the last.

    Raises:
        BadInput: The file is truncated or damaged, or a line is longer than 64 KiB.
    """
    n_lines, rest = 0, b""
    try:
        with open_binary(path) as file:
            while chunk := file.read(_BLOCK):
                whole, end, rest = (rest + chunk).rpartition(_LINE_END)
                lengths = np.diff(_line_ends(whole + end), prepend=-1)
                too_long = np.flatnonzero(np.append(lengths, len(rest)) > _LONGEST_RECORD)
                if too_long.size:
                    number = n_lines + int(too_long[0]) + 1
                    raise BadInput(f"{path}: line {number} is longer than 64 KiB; check the line ends and quotes")
                n_lines += lengths.size
                if end:
                    yield whole + end
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadInput(f"{path}: the gzip file is truncated or damaged; fetch it again") from None
    if rest:
        yield rest


def count_lines(path: Path) -> int:
    """Return how many lines of a file are not blank, white space being that of ASCII.

    Raises:
        BadInput: What ``blocks`` raises, or a line is not UTF-8.
    """
    return sum(_n_lines(block) - _n_blank(block) for block in _utf8_blocks(path))


def count_csv_rows(path: Path, delimiter: str) -> int:
    """Return how many rows a CSV file has, its header not counted, without the engine.

    Where no quote occurs a row is a line. Where one does, Python's own reader tells the rows, which is slow. An empty
    line is no row.

    Raises:
        BadInput: What ``blocks`` raises, or a record is longer than 64 KiB, or a carriage return stands alone.
    """
    n_rows = -1
    for block in blocks(path):
        if _QUOTE in block:
            return sum(1 for record in _csv_records(path, delimiter) if record) - 1
        if block.count(b"\r") != block.count(b"\r\n"):
            raise _carriage_return(path)
        n_rows += _n_lines(block) - _n_empty(block)
    return max(n_rows, 0)


def numbered_lines(path: Path) -> pa.RecordBatchReader:
    """Return the lines of a file as Arrow batches, each with its line end, numbered from 1 as ``row_number``.

    Raises:
        BadInput: What ``count_lines`` raises, but only when the batches are read.
    """
    return pa.RecordBatchReader.from_batches(_SCHEMA, _batches(path))


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    n_before = 0
    for block in _utf8_blocks(path):
        starts = _line_starts(block)
        numbers = pa.array(np.arange(1, starts.size + 1) + n_before)
        offsets = np.append(starts, len(block)).astype(np.int32)
        lines = pa.StringArray.from_buffers(starts.size, pa.py_buffer(offsets), pa.py_buffer(block))
        yield pa.RecordBatch.from_arrays([numbers, lines], schema=_SCHEMA)
        n_before += starts.size


def _utf8_blocks(path: Path) -> Iterator[bytes]:
    n_before = 0
    for block in blocks(path):
        try:
            block.decode()
        except UnicodeDecodeError as error:
            number = n_before + block.count(_LINE_END, 0, error.start) + 1
        else:
            yield block
            n_before += _n_lines(block)
            continue
        raise BadInput(f"{path}: line {number} is not UTF-8; convert the file, for example with iconv")


def _csv_records(path: Path, delimiter: str) -> Iterator[list[str]]:
    """Yield the records of a CSV file as Python reads them: one reader, which never has to guess where it is."""
    lines = _RecordLines(path)
    try:
        for record in csv.reader(lines, delimiter=delimiter):
            if lines.ended and record:  # a record asks for more lines only while a quote is open
                raise BadInput(f"{path}: a quote opened in line {lines.first} does not close; mend it")
            lines.begin_record()
            yield record
    except csv.Error:
        raise _carriage_return(path) from None


class _RecordLines:
    """The lines of a CSV file, for a reader that takes as many as a record has.

    Attributes:
        first: Number of the line that the record begins in.
        ended: Whether more lines were asked for than there are.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = itertools.chain.from_iterable(map(io.BytesIO, blocks(path)))
        self._last, self._n_bytes = 0, 0
        self.first, self.ended = 1, False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            self.ended = True
            raise StopIteration
        self._last, self._n_bytes = self._last + 1, self._n_bytes + len(line)
        if self._n_bytes > _LONGEST_RECORD:
            raise BadInput(
                f"{self._path}: the record that begins in line {self.first} is longer than 64 KiB; check that its "
                "quotes close"
            )
        return line.decode("utf-8", "replace")

    def begin_record(self) -> None:
        self.first, self._n_bytes = self._last + 1, 0


def _carriage_return(path: Path) -> BadInput:
    return BadInput(f"{path}: a line ends in a carriage return alone, or holds one outside of quotes; convert it")


def _n_lines(block: bytes) -> int:
    return block.count(_LINE_END) + (not block.endswith(_LINE_END))


def _n_empty(block: bytes) -> int:
    """Return how many lines of a block have nothing but their end."""
    return sum(not line.strip(b"\r\n") for line in _beginning_with(b"\r\n", block))


def _n_blank(block: bytes) -> int:
    """Return how many lines of a block have nothing but white space of ASCII."""
    return sum(not line.strip() for line in _beginning_with(b" \t\n\v\f\r", block))


def _beginning_with(characters: bytes, block: bytes) -> Iterator[bytes]:
    """Yield the lines of a block that begin with one of some characters."""
    starts = _line_starts(block)
    first = np.frombuffer(block, np.uint8)[starts]
    for start in starts[np.isin(first, np.frombuffer(characters, np.uint8))]:
        yield block[start : block.find(_LINE_END, start) + 1 or len(block)]


def _line_starts(block: bytes) -> NDArray[np.int64]:
    starts = np.concatenate([np.zeros(1, np.int64), _line_ends(block) + 1])
    return starts[starts < len(block)]


def _line_ends(block: bytes) -> NDArray[np.int64]:
    return np.flatnonzero(np.frombuffer(block, np.uint8) == _LINE_END[0]).astype(np.int64)
