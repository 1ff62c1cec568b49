"""Reads JSON documents that hold a list of records. The document is split, and not parsed: a record may be anything."""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.base.errors import BadInput
from tasks.records.input_formats import compressed, json_paths, text_lines

_LARGEST = 1 << 28  # bytes
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:"]', re.DOTALL)
_NULL = re.compile(r"\s*null\b")
_OBJECT = re.compile(r"\s*\{\s*([}\s\S])")
CLOSING = {"{": "}", "[": "]"}


def count_records(path: Path, at: str | None) -> int:
    """Return how many records a document has, without the engine; raises what ``numbered_records`` does."""
    return len(_split(path, at)[1])


def numbered_records(path: Path, at: str | None, times: Iterable[str] = ()) -> pa.Table:
    """Return the records of a document as they are written, numbered from 1 as ``row_number``, in the column ``line``.

    Args:
        path: The file.
        at: The path to the list of records, or to several by `[*]`; None if the document is the list itself.
        times: Names of columns of times. What leads to a member beside the list becomes one of each record.

    Raises:
        BadInput: The file is no JSON document in UTF-8, is larger than 256 MiB, or has no list there.
    """
    text, spans = _split(path, at)
    records = [text[start:end] for start, end in spans]
    beside = _beside(text, spans, at, times)
    if beside:
        records = [_with_members(beside, one) for one in records]
    lines = pa.array(records, pa.string())
    return pa.table({"row_number": pa.array(range(1, len(spans) + 1), pa.int64()), "line": lines})


def _beside(text: str, spans: Sequence[tuple[int, int]], at: str | None, times: Iterable[str]) -> dict[str, Any]:
    """Return what some paths lead to in a document without its records.

    Of several lists each may have a time of its own beside it, which is not looked for.
    """
    if not spans or not times:
        return {}
    outer, around = None, json_paths.steps_to_list(at)
    with suppress(ValueError, RecursionError):
        outer = json.loads(text[: spans[0][0]] + text[spans[-1][1] :])
    steps = {name: json_paths.steps_of(name) for name in times}
    if None in around:
        steps = {name: one for name, one in steps.items() if around[0] not in (None, one[0])}
    found = {name: json_paths.found(outer, one) for name, one in steps.items()}
    return {name: one for name, one in found.items() if isinstance(one, str | int | float)}


def _with_members(members: dict[str, Any], record: str) -> str:
    """Return an object with those members that it has not itself, by its names and brackets: no value decides."""
    start = _OBJECT.match(record)
    lacking = {name: one for name, one in members.items() if not has_member(record, json_paths.steps_of(name))}
    if start is None or not lacking:
        return record
    comma = "" if start[1] == "}" else ","
    return f"{{{json.dumps(lacking)[1:-1]}{comma}{record[start.end() - len(start[1]) :]}"


def has_member(record: str, steps: Sequence[str | int]) -> bool:
    """Return whether steps lead through a JSON text to something that is not null, by names and brackets alone."""
    if "\\" not in record and f'"{steps[-1]}"' not in record and isinstance(steps[-1], str):
        return False
    opened: list[_Open] = []
    written = ""
    for token in TOKEN.finditer(record):
        mark, begins = token[0], False
        if mark in CLOSING:
            opened.append(_Open(mark, 0 if mark == "[" else ""))
            begins = mark == "["
        elif mark in ("]", "}"):
            if not opened:
                return False
            opened.pop()
        elif mark == "," and opened and isinstance(opened[-1].step, int):
            opened[-1].step += 1
            begins = True
        elif mark == ":" and opened:
            with suppress(ValueError):
                opened[-1].step = json.loads(written, strict=False)
            begins = True
        elif len(mark) > 1:
            written = mark
        if begins and [one.step for one in opened] == list(steps):
            return not record[token.end() :].lstrip().startswith(("null", "]"))
    return False


def is_whole(text: str, with_list: bool = False) -> bool:
    """Return whether a text is a whole JSON object or list, if asked with a list in it, by brackets and quotes alone.

    No value decides: it may be a number of any length, or nested as deep as it likes.
    """
    opened, has_list = [], False
    for token in TOKEN.finditer(text):
        mark = token[0]
        if mark in CLOSING:
            opened.append(CLOSING[mark])
            has_list = has_list or mark == "["
        elif mark in ("]", "}"):
            if not opened or opened.pop() != mark:
                return False
        elif mark == '"':
            return False  # it does not close
    return not opened and text.strip()[-1:] in ("]", "}") and (has_list or not with_list)


def outer_lists(text: str) -> dict[tuple[str, ...], bool]:
    """Return where a whole document has lists that are in no other list, and whether an object is directly in each.

    What is within the objects of a list does not matter, so no value does.

    Args:
        text: The document; its brackets must match.
    """
    found: dict[tuple[str, ...], bool] = {}
    names, written, depth = [""], "", 0  # depth: of what is open, from a list on
    for token in TOKEN.finditer(text):
        mark = token[0]
        if depth:
            found[tuple(names)] |= depth == 1 and mark == "{"
            depth += (mark in CLOSING) - (mark in ("]", "}"))
        elif mark == "[":
            depth = 1
            found.setdefault(tuple(names), False)
        elif mark == "{":
            names.append("")
        elif mark == "}":
            names.pop()
        elif mark == ":":
            names[-1] = written
        else:
            written = mark
    return found


def _split(path: Path, at: str | None) -> tuple[str, list[tuple[int, int]]]:
    text = whole_text(path)
    found = _Splitter(text, json_paths.steps_to_list(at)).spans()
    if found is not None:
        return text, found
    where = f'at dataset.records = "{at}"' if at else "at its top; set dataset.records to the path of the list"
    raise BadInput(f"{path}: it is no whole JSON document, or has no list {where}")


def whole_text(path: Path) -> str:
    """Return the text of a document.

    Raises:
        BadInput: The file is not in UTF-8, damaged, or larger than 256 MiB.
    """
    content = compressed.whole(
        path, _LARGEST, "a JSON document of more than 256 MiB; write one object per line, as .ndjson"
    )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = text_lines.not_utf8(path)
    raise problem


@dataclass
class _Open:
    """A list or object that is not closed yet.

    Attributes:
        kind: Its opening bracket.
        step: The name or position of the member that is being read.
    """

    kind: str
    step: str | int


class _Splitter:
    """Goes through the brackets, commas and texts of a document, and notes where each record begins and ends."""

    def __init__(self, text: str, steps: list[str | int | None]) -> None:
        self._text, self._steps = text, steps
        self._are_several = None in steps
        self._outer = steps[: steps.index(None)] if None in steps else None  # to the list of several lists
        self._is_empty = False  # whether there is null where the list would be, or none in the list of several
        self._open: list[_Open] = []
        self._found: list[tuple[int, int]] | None = None
        self._depth = -1  # of the list while it is read
        self._n_before = 0  # records of lists before it
        self._start = 0  # of the record that is read

    def spans(self) -> list[tuple[int, int]] | None:
        """Return the span of each record; None if the document is not whole, or has no such list.

        What has null in its place has no records, as where nothing is on its way.
        """
        written = ""
        for token in TOKEN.finditer(self._text):
            mark = token[0]
            if mark in CLOSING:
                self._begin(mark, token.end())
            elif mark in ("]", "}"):
                if not self._open or mark != CLOSING[self._open[-1].kind]:
                    return None
                self._close(token.start())
            elif mark == ",":
                self._next(token)
            elif mark == ":":
                self._name(written)
                if self._found is None and self._is_on_way and _NULL.match(self._text, token.end()):
                    self._is_empty = True
            elif len(mark) > 1:
                written = mark
            else:
                return None  # a quote that does not close
        found = [] if self._found is None and self._is_empty else self._found
        return None if self._open else found

    def _begin(self, mark: str, end: int) -> None:
        is_list = mark == "[" and self._is_looked_for and self._is_at_list
        if self._found is None and mark == "[" and [one.step for one in self._open] == self._outer:
            self._is_empty = True
        self._open.append(_Open(mark, 0 if mark == "[" else ""))
        if is_list:
            self._found, self._depth, self._start = self._found or [], len(self._open), end
            self._n_before = len(self._found)

    @property
    def _is_looked_for(self) -> bool:
        """Whether a list of records may begin here: the first, or where there are several, one after another."""
        return self._found is None or (self._are_several and self._depth < 0)

    @property
    def _is_at_list(self) -> bool:
        return len(self._open) == len(self._steps) and self._is_on_way

    @property
    def _is_on_way(self) -> bool:
        return len(self._open) <= len(self._steps) and all(
            isinstance(one.step, int) if wanted is None else one.step == wanted
            for one, wanted in zip(self._open, self._steps, strict=False)
        )

    def _close(self, start: int) -> None:
        if len(self._open) == self._depth:
            if len(self._found or ()) > self._n_before or self._text[self._start : start].strip():
                self._keep(start)
            self._depth = -1
        self._open.pop()

    def _next(self, token: re.Match[str]) -> None:
        if len(self._open) == self._depth:
            self._keep(token.start())
            self._start = token.end()
        elif self._open and isinstance(self._open[-1].step, int):
            self._open[-1].step += 1

    def _keep(self, end: int) -> None:
        if self._found is not None:
            self._found.append((self._start, end))

    def _name(self, written: str) -> None:
        """Note which member follows, if it may be on the way to the list."""
        if self._is_looked_for and self._open and self._open[-1].kind == "{":
            with suppress(ValueError):
                self._open[-1].step = json.loads(written, strict=False)
