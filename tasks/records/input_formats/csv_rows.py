"""Counts the rows of a CSV file without the engine, to check the engine's count. Has a fast and a slow reader."""

import csv
import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tasks.base.errors import BadInput
from tasks.records.input_formats.compressed import open_binary
from tasks.records.input_formats.text_lines import (
    LONGEST_RECORD,
    Block,
    block_of,
    blocks,
    has_long_line,
    too_long,
    unreadable,
)

_BATCH = 1 << 16
MOST_MALFORMED = 10_000
"""How many rows of any file may have another number of fields than the header."""
_LINE_FEED = ord("\n")
_RETURN, _QUOTE = b"\r", b'"'

DECIMAL_COMMAS = (
    "A number with a decimal comma must be in quotes, or the delimiter must be another character. If rows end in a "
    "delimiter, the header must end in one too."
)

Counts = NDArray[np.int64]


def count_csv_rows(path: Path, delimiter: str, headerless: int = 0) -> int:
    """Return how many rows a CSV file has, without its header. An empty line is not a row.

    Args:
        path: The file.
        delimiter: The character between its fields.
        headerless: How many columns a file without a header has; 0 if it has a header, which says that.

    Raises:
        BadInput: As for ``blocks``, or quotes or line ends break the rules of RFC 4180. Or too many rows do not have as
            many fields as the header: the engine would keep them all in memory.
    """
    try:
        n_rows, n_malformed = _tally(_regular_fields(path, delimiter), headerless)
    except _Irregular:
        n_rows, n_malformed = _tally(_fields_by_records(path, delimiter), headerless)
    if n_malformed > max(MOST_MALFORMED, n_rows // 100):
        raise BadInput(
            f"{path}: {n_malformed:,} of {n_rows:,} rows have not as many fields as the header; check "
            f"dataset.delimiter. {DECIMAL_COMMAS}"
        )
    return n_rows


class _Irregular(Exception):
    """A quote or a line end is misplaced, or a record is too long or not closed: use the slow reader."""


def _regular_fields(path: Path, delimiter: str) -> Iterator[Counts]:
    """Yield how many fields each record of a CSV file has, the header first, shape (some records,).

    Quotes come in pairs, and the text between the two quotes of a pair is inside a field. This follows from RFC 4180 if
    each quote opens a field, closes one or is doubled. The bytes before and after a quote show whether it does.

    Raises:
        _Irregular: A quote does something else, or the file must be refused.
    """
    regular = _Regular(delimiter)
    for block in blocks(path):
        yield regular.fields(block)
    if regular.is_open:
        raise _Irregular


def regular_counts(content: bytes, delimiter: str) -> Counts | None:
    """Return how many fields each record of a CSV text has, which ends in a line end; None if the text is irregular."""
    if has_long_line(content):
        return None
    regular = _Regular(delimiter)
    try:
        fields = regular.fields(block_of(content))
    except _Irregular:
        return None
    return None if regular.is_open else fields


class _Regular:
    """Counts the fields of records, one block after the other.

    Attributes:
        is_open: Whether the text read so far ends inside quotes.
    """

    def __init__(self, delimiter: str) -> None:
        if len(delimiter.encode()) > 1:
            raise _Irregular
        self._delimiter = ord(delimiter)
        self._n_delimiters = self._n_bytes = 0  # of a record that has not ended
        self.is_open = False

    def fields(self, block: Block) -> Counts:
        """Return the number of fields of each record that ends in the next block, without blank lines."""
        text = np.frombuffer(block.content, np.uint8)
        is_delimiter, ends = text == self._delimiter, np.append(block.starts[1:], text.size) - 1
        if text[-1] != _LINE_FEED:
            ends[-1] += 1  # the end of the file
        outside = self._outside(text) if self.is_open or _QUOTE in block.content else None
        if outside is not None:
            is_delimiter &= outside[:-1]
            ends = ends[outside[ends]]
        if _RETURN in block.content:
            _check_returns(text, outside)
        return self._between(text, ends, np.flatnonzero(is_delimiter))

    def _outside(self, text: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return for each byte, and for the end, whether it is outside quotes, shape (number of bytes + 1,)."""
        quotes = np.flatnonzero(text == ord(_QUOTE))
        opening, closing = quotes[int(self.is_open) :: 2], quotes[1 - int(self.is_open) :: 2]
        before, after = text[opening[opening > 0] - 1], text[closing[closing < text.size - 1] + 1]
        if not np.isin(before, [self._delimiter, _LINE_FEED, ord(_QUOTE)]).all():
            raise _Irregular
        if not np.isin(after, [self._delimiter, _LINE_FEED, ord(_RETURN), ord(_QUOTE)]).all():
            raise _Irregular
        is_outside = np.arange(quotes.size + 1) % 2 == int(self.is_open)
        self.is_open = not is_outside[-1]
        return np.repeat(is_outside, np.diff(quotes, prepend=0, append=text.size + 1))

    def _between(self, text: NDArray[np.uint8], ends: Counts, delimiters: Counts) -> Counts:
        """Return the number of fields of each record that ends here; the first may have begun in an earlier block."""
        starts = np.append(0, ends + 1)  # the last one is the record that continues in the next block
        n_delimiters = np.diff(np.searchsorted(delimiters, np.append(starts, text.size)))
        n_bytes = np.append(ends, text.size) - starts
        n_delimiters[0] += self._n_delimiters
        n_bytes[0] += self._n_bytes
        self._n_delimiters, self._n_bytes = n_delimiters[-1], n_bytes[-1]
        if n_bytes.max() >= LONGEST_RECORD:
            raise _Irregular
        n_delimiters, n_bytes = n_delimiters[:-1], n_bytes[:-1]
        is_blank = (n_bytes == 0) | ((n_bytes == 1) & (text[starts[:-1]] == ord(_RETURN)))
        return n_delimiters[~is_blank] + 1


def _check_returns(text: NDArray[np.uint8], outside: NDArray[np.bool_] | None) -> None:
    """Raise ``_Irregular`` for a carriage return that is not at the end of a line."""
    returns = np.flatnonzero(text == ord(_RETURN))
    if outside is not None:
        returns = returns[outside[returns]]
    if not np.array_equal(text[(returns + 1).clip(max=text.size - 1)], np.full(returns.size, _LINE_FEED)):
        raise _Irregular


def _fields_by_records(path: Path, delimiter: str) -> Iterator[Counts]:
    """Yield the same for any CSV file, with Python's own reader. This takes five times as long."""
    counts = (len(record) for record in csv_records(path, delimiter) if record)
    while some := list(itertools.islice(counts, _BATCH)):
        yield np.array(some)


def _tally(counts: Iterator[Counts], headerless: int) -> tuple[int, int]:
    """Return how many rows there are, and how many of them do not have the header's number of fields."""
    n_rows, n_malformed, n_columns = 0 if headerless else -1, 0, headerless or None
    for some in counts:
        n_columns = some[0] if n_columns is None and some.size else n_columns
        n_rows += some.size
        n_malformed += int(np.count_nonzero(some != n_columns))
    return max(n_rows, 0), n_malformed


def first_line_end(path: Path) -> str:
    r"""Return how the first record of a CSV file ends, as the engine writes it: ``\n`` or ``\r\n``, with backslashes.

    What is within quotes is no end.
    """
    n_quotes, n_bytes = 0, 0
    with open_binary(path) as file:
        while line := file.readline(LONGEST_RECORD):
            n_quotes, n_bytes = n_quotes + line.count(_QUOTE), n_bytes + len(line)
            if n_quotes % 2 == 0 or n_bytes > LONGEST_RECORD:
                return r"\r\n" if line.endswith(b"\r\n") else r"\n"
    return r"\n"


def csv_records(path: Path, delimiter: str) -> Iterator[list[str]]:
    """Yield the records of a CSV file as Python reads them, from start to end.

    Errors name the number of the record and not of the line, because a value may hold line ends.
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
    """The lines of a CSV file, for a reader that takes as many lines as a record has.

    Attributes:
        ended: Whether the reader asked for a line after the last one.
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
        if self._n_bytes > LONGEST_RECORD:
            raise too_long(self._path)
        return line.decode("utf-8", "replace")

    def begin_record(self) -> None:
        self._n_bytes = 0
