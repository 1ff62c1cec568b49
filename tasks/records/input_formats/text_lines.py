"""Reads text files from the first byte to the last, in blocks of whole lines, with one block in memory at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tasks.base.errors import BadInput
from tasks.records.input_formats.compressed import open_binary

LONGEST_RECORD = 1 << 16
_BLOCK = 1 << 20
_LINE_END = b"\n"
_MARK = b"\xef\xbb\xbf"  # some programs write it first, to say that a text is UTF-8
BLANK = " \t\n\v\f\r"
"""The characters of a line that is no row."""
_SCHEMA = pa.schema({"row_number": pa.int64(), "line": pa.string()})
_RAW_SCHEMA = pa.schema({"row_number": pa.int64(), "line": pa.binary()})


def first_line(path: Path) -> bytes:
    """Return a file's first line, or only its beginning if it is too long."""
    with open_binary(path) as file:
        return file.readline(LONGEST_RECORD)


class Block(NamedTuple):
    """Some whole lines of a file; each ends in a line feed, except perhaps the file's last.

    Attributes:
        content: The bytes of the lines.
        starts: Where each line begins in ``content``, shape (number of lines,).
    """

    content: bytes
    starts: NDArray[np.int64]

    def n_rows(self, blank: bytes) -> int:
        """Return how many of the lines hold other characters than those in ``blank``."""
        content = np.frombuffer(self.content, np.uint8)
        is_blank = np.isin(np.arange(256), np.frombuffer(blank, np.uint8))
        if not is_blank[content[self.starts]].any():
            return self.starts.size
        return self.starts.size - int(np.count_nonzero(np.logical_and.reduceat(is_blank[content], self.starts)))


def blocks(path: Path, *, cut: bool = False) -> Iterator[Block]:
    """Yield a file in blocks of whole lines.

    Args:
        path: The file.
        cut: Whether a line that is longer than 64 KiB may lose bytes from its middle; it stays longer than that.

    Raises:
        BadInput: As for ``open_binary``, or a line is longer than 64 KiB and may not be cut.
    """
    rest = b""
    with open_binary(path) as file:
        while chunk := file.read(_BLOCK):
            whole = rest + chunk
            if not cut and has_long_line(whole):
                raise too_long(path)
            end = whole.rfind(_LINE_END) + 1
            rest = whole[end:][: LONGEST_RECORD + 1]  # so a line without an end takes no more memory
            if end:
                yield block_of(whole[:end])
    if rest:
        yield block_of(rest)


def count_lines(path: Path) -> int:
    """Return how many lines of a file are not blank; only ASCII white space counts as blank.

    Raises:
        BadInput: As for ``blocks``, or a line is not UTF-8.
    """
    return sum(block.n_rows(BLANK.encode()) for block in _utf8_blocks(path))


def numbered_lines(path: Path) -> pa.RecordBatchReader:
    """Return the lines of a file as Arrow batches, each with its line end, numbered from 1 as ``row_number``.

    Raises:
        BadInput: As for ``count_lines``, but only when the batches are read.
    """
    return pa.RecordBatchReader.from_batches(_SCHEMA, _batches(path))


def numbered_raw_lines(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a file as ``numbered_lines`` does, but as bytes, whatever they hold; long ones are cut.

    Raises:
        BadInput: As for ``open_binary``.
    """
    n_before = 0
    for content, starts in blocks(path, cut=True):
        numbers = pa.array(np.arange(1, starts.size + 1) + n_before)
        offsets = np.append(starts, len(content)).astype(np.int32)
        lines = pa.Array.from_buffers(pa.binary(), starts.size, [None, pa.py_buffer(offsets), pa.py_buffer(content)])
        yield pa.RecordBatch.from_arrays([numbers, lines], schema=_RAW_SCHEMA)
        n_before += starts.size


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
    for block in _unmarked(blocks(path)):
        try:
            block.content.decode()
        except UnicodeDecodeError as error:
            number = n_before + block.content.count(_LINE_END, 0, error.start) + 1
        else:
            yield block
            n_before += block.starts.size
            continue
        raise BadInput(f"{path}: line {number} {_not_utf8(path)}")


def _unmarked(whole: Iterator[Block]) -> Iterator[Block]:
    """Yield the blocks of a file, the first without the mark that the file is UTF-8."""
    first = next(whole, None)
    if first is not None:
        content = first.content.removeprefix(_MARK)
        yield from [block_of(content)] if content else []
    yield from whole


def not_utf8(path: Path) -> BadInput:
    """Return the error for a text file in another encoding than UTF-8. It does not depend on values."""
    return BadInput(f"{path}: {_not_utf8(path)}")


def utf16_of(start: bytes) -> str | None:
    """Return which UTF-16 a text is in, by its first bytes, as iconv calls it; None if it is in none."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    return {(True, False): "UTF-16BE", (False, True): "UTF-16LE"}.get((start[:1] == b"\0", start[1:2] == b"\0"))


def _not_utf8(path: Path) -> str:
    with open_binary(path) as file:
        encoding = utf16_of(file.read(2))
    found = f"in {encoding}, not UTF-8" if encoding else "not UTF-8"
    return f"is {found}; convert the file, for example with iconv -f {encoding or 'LATIN1'} -t UTF-8"


def refuse_separator(path: Path, first_line: str) -> None:
    """Refuse a CSV file whose first line is one such as `sep=;`.

    Raises:
        BadInput: So it is.
    """
    if first_line.lower().startswith("sep=") and len(first_line.strip()) <= len("sep=;"):
        raise BadInput(
            f"{path}: its first line only says what the delimiter is, and must be the header; remove it, for example "
            "with sed 1d"
        )


def unreadable(path: Path, kind: str) -> BadInput:
    """Return the error for a file whose records cannot be read. It does not depend on values."""
    return BadInput(f"{path}: cannot be read as {kind}; check its encoding (UTF-8), line ends and quotes")


def too_long(path: Path) -> BadInput:
    """Return the error for a file with a record that is too long."""
    return BadInput(f"{path}: a record is longer than 64 KiB; check the line ends, and that quotes close")


def has_long_line(block: bytes) -> bool:
    """Return whether a line is longer than 64 KiB; looks at few bytes."""
    start = 0
    while len(block) - start > LONGEST_RECORD:
        end = block.rfind(_LINE_END, start, start + LONGEST_RECORD)
        if end < 0:
            return True
        start = end + 1
    return False


def block_of(content: bytes) -> Block:
    """Return some whole lines as a block."""
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == _LINE_END[0])
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
    return Block(content, starts[:-1] if content.endswith(_LINE_END) else starts)
