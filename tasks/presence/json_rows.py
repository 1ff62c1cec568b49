"""The records of JSON documents as texts, in bounded memory. What one record holds decides on no other.

A document is split by its quotes and by how deep its brackets are, and not parsed: so a record may be anything that
closes. How many records there are is never a reason to refuse: there is no limit, and a list that is absent is empty.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tasks.presence.config import PresenceConfig
from tasks.records.input_formats.archives import files_of_archive, is_archive
from tasks.records.input_formats.compressed import open_binary
from tasks.records.input_formats.json_paths import steps_to_list
from tasks.records.input_formats.text_lines import LONGEST_RECORD

_CHUNK = 1 << 20
_SCHEMA = pa.schema({"line": pa.string()})
_UNREADABLE = "null"
_MARK = b"\xef\xbb\xbf"  # some programs write it first, to say that a text is UTF-8
_BACKSLASH, _QUOTE, _COMMA, _COLON = b'\\",:'
_STEP = np.zeros(256, dtype=np.int64)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1
_IS_MARK = np.isin(np.arange(256), list(b"[]{},:"))


class JsonRows:
    """The records of a day's documents, and how many lists of them there were.

    Attributes:
        n_lists: How many, once all is read; for the curator alone.
    """

    def __init__(self, paths: list[Path], config: PresenceConfig) -> None:
        self.n_lists = 0
        self._paths, self._steps = paths, steps_to_list(config.dataset.records)
        self._is_declared = config.dataset.format is not None

    def reader(self) -> pa.RecordBatchReader:
        """Return the records, each as it is written, in the column ``line``; one that is too long or no UTF-8 is null.

        To read it raises ``ValueError`` if a file is no whole document, and other errors if it is damaged.
        """
        return pa.RecordBatchReader.from_batches(_SCHEMA, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for file in _files(self._paths, self._is_declared):
            document = _Document(self._steps)
            while chunk := file.read(_CHUNK):
                records = document.records_of(chunk)
                if records:
                    yield pa.RecordBatch.from_arrays([pa.array(records, pa.string())], schema=_SCHEMA)
            document.end()
            self.n_lists += document.n_lists


def _files(paths: Iterable[Path], is_declared: bool) -> Iterator[IO[bytes]]:
    for path in paths:
        if is_archive(path):
            yield from files_of_archive(path, is_declared)
        else:
            with open_binary(path, is_limited=False) as file:
                yield file


class _Document:
    """Goes through a document from its first byte to its last, and holds no more of it than one record.

    Attributes:
        n_lists: How many lists of records have begun.
    """

    def __init__(self, steps: list[str | int | None]) -> None:
        self._wanted, self._n_list = steps, len(steps) + 1  # how deep the records are
        self._here: list[str | int] = []  # the member that is read, of each list or object on the way to the records
        self._in_list = False
        self.n_lists = self._depth = self._n_backslashes = 0
        self._in_text = self._has_begun = False
        self._held = b""  # since the last mark that matters
        self._is_first = True

    def records_of(self, chunk: bytes) -> list[str]:
        """Return the records that end in the next part of the document.

        Raises:
            ValueError: It is no document.
        """
        if self._is_first:
            chunk, self._is_first = chunk.removeprefix(_MARK), False
        found, start = [], 0
        for at, depth in self._marks(np.frombuffer(chunk, np.uint8)):
            mark = chunk[at]
            if self._in_list and (depth, mark) == (self._n_list, _COMMA):
                found.append(_text(self._held + chunk[start:at]))
            elif self._in_list and depth < self._n_list:
                found.append(_text(self._held + chunk[start:at]))
                self._in_list = False
                self._here.pop()
            else:
                self._pass(mark, depth, self._held + chunk[start : min(at, start + LONGEST_RECORD)])
            start, self._held = at + 1, b""
        self._held = (self._held + chunk[start : start + LONGEST_RECORD + 1])[: LONGEST_RECORD + 1]
        return found

    def end(self) -> None:
        """Check that the document is whole.

        Raises:
            ValueError: It is not.
        """
        is_closed = self._has_begun and not self._depth and not self._in_text and not self._held.strip()
        if not is_closed and (self._has_begun or self._held.strip() != b"null"):
            raise ValueError

    def _pass(self, mark: int, depth: int, before: bytes) -> None:
        """Note what a mark means that is not in a list of records."""
        step, is_on_way = _STEP[mark], depth == len(self._here)
        if depth == 0 and (step == 0 or (step > 0 and before.strip())):
            raise ValueError
        if step > 0:
            self._has_begun = True
            if is_on_way and (depth == 0 or self._leads_on(depth)):
                self._in_list = depth + 1 == self._n_list and mark == ord("[")
                self.n_lists += self._in_list
                if self._in_list or depth + 1 < self._n_list:
                    self._here.append(0 if mark == ord("[") else "")
        elif step < 0 and depth + 1 == len(self._here):
            self._here.pop()
        elif is_on_way and mark == _COMMA and isinstance(self._here[-1], int):
            self._here[-1] += 1
        elif is_on_way and mark == _COLON and isinstance(self._here[-1], str):
            self._here[-1] = _name(before)

    def _leads_on(self, depth: int) -> bool:
        wanted, here = self._wanted[depth - 1], self._here[-1]
        return isinstance(here, int) if wanted is None else here == wanted and type(here) is type(wanted)

    def _marks(self, content: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
        """Yield where the brackets, commas and colons are that matter, and how deep is what each stands in."""
        quotes = self._quotes(content)
        at = np.flatnonzero(_IS_MARK[content])
        at = at[(np.searchsorted(quotes, at) + self._in_text) % 2 == 0]
        self._in_text ^= bool(quotes.size % 2)
        step = _STEP[content[at]]
        after = self._depth + np.cumsum(step)
        if after.size and after.min() < 0:
            raise ValueError
        self._depth = int(after[-1]) if after.size else self._depth
        depth = after - (step > 0)
        matters = (depth < self._n_list) | ((depth == self._n_list) & (content[at] == _COMMA))
        return zip(at[matters].tolist(), depth[matters].tolist(), strict=True)

    def _quotes(self, content: NDArray[np.uint8]) -> NDArray[np.intp]:
        """Return where texts begin and end: at quotes after an even number of backslashes."""
        quotes, other = np.flatnonzero(content == _QUOTE), content != _BACKSLASH
        if other.all():
            quotes = quotes[1:] if self._n_backslashes % 2 and content[0] == _QUOTE else quotes
            self._n_backslashes = 0
            return quotes
        place = np.arange(content.size)
        last_other = np.concatenate([[-1], np.maximum.accumulate(np.where(other, place, -1))])
        n_before = np.append(place, content.size) - 1 - last_other
        n_before += np.where(last_other < 0, self._n_backslashes, 0)
        self._n_backslashes = int(n_before[-1])
        return quotes[n_before[quotes] % 2 == 0]


def _name(written: bytes) -> str:
    with suppress(ValueError):
        return str(json.loads(written, strict=False))
    return ""


def _text(record: bytes) -> str:
    """Return a record, or one that cannot be read in place of one that is too long or no UTF-8."""
    with suppress(UnicodeDecodeError):
        return record.decode() if len(record) <= LONGEST_RECORD else _UNREADABLE
    return _UNREADABLE
