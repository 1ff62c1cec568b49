"""Reads XML documents: the elements that are records, one after the other, as JSON objects.

An element is an object of its attributes and of the elements in it, by their names without a namespace; of several of
one name it is the first. An element with text of its own is this text, and an empty one is null. Nothing outside the
document is read: a document type, which could name files and entities, is refused.
"""

import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.parsers import expat

from tasks.base.errors import BadInput
from tasks.records.input_formats import json_paths
from tasks.records.input_formats.compressed import open_binary
from tasks.records.input_formats.roles import recognise_roles

_CHUNK = 1 << 18
_DEEPEST = 64
_LONGEST = 1 << 22  # bytes of a record, or of what is between two
_PER_ELEMENT = 16  # bytes that one counts for, beside its name and its texts
_LOOKED_AT = 1 << 23
"""How many bytes are looked at to find out which elements are records."""
_NOT_ITS_OWN = ("xmlns", "xsi")

_Tree = Mapping[str, Any] | None
_Start = Callable[[str, dict[str, str]], None]
_End = Callable[[str], Any]


class _Refused(Exception):
    """The document is refused, for the reason that is said."""


def steps_of(at: str) -> list[str]:
    """Return the names of the elements that a path to records goes through; positions in lists mean nothing."""
    return [re.sub(r"\[[\d*]+\]", "", one) for one in at.split(".")]


def records(path: Path, at: str, names: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield each element of a document that is a record.

    Args:
        path: The file.
        at: What the path of a record's element ends in: its name, after those of elements that it is in.
        names: The columns that are wanted, which is faster; None for all that there are.

    Raises:
        BadInput: The file is no whole XML document, or an element is too long or too deep.
    """
    reader = _Records(steps_of(at), None if names is None else _tree(names))
    for _ in _parsed(path, reader.start, reader.end, reader.text):
        yield from reader.found
        reader.found.clear()


def _tree(names: Collection[str]) -> dict[str, Any]:
    """Return by the name of each wanted member the members in it that are; None for all."""
    tree: dict[str, Any] = {}
    for name in names:
        inner = tree
        *around, last = map(str, json_paths.steps_of(name))
        for step in around:
            inner = inner.setdefault(step, {})
            if inner is None:
                break
        else:
            inner[last] = None
        tree[name] = None
    return tree


def record_element(path: Path, known: tuple[str, ...]) -> str | None:
    """Return the name of the element that is a record; None if no element is named like a place.

    That is a known one, or else the outermost element, but for that of the whole document, with one place.

    Args:
        path: The file.
        known: Names of elements that are records in published forms.
    """
    names: dict[str, None] = {}
    stack: list[str] = []

    def note(name: str, attributes: dict[str, str]) -> None:
        stack.append(name)
        names.update(dict.fromkeys(".".join([*stack, *one]) for one in ([], *([it] for it in attributes))))

    _see(path, note, lambda _: stack.pop())
    elements = {part for name in names for part in name.split(".")}
    if found := next((one for one in known if one in elements), None):
        return found
    place = recognise_roles(list(names)).get("latitude")
    return None if place is None else _holds_one(path, place.split("."))


def _holds_one(path: Path, place: list[str]) -> str | None:
    """Return the outermost element, below that of the document, of which none has several places of a path."""
    stack: list[str] = []
    counts, most = [0] * len(place), [0] * len(place)

    def start(name: str, attributes: dict[str, str]) -> None:
        stack.append(name)
        if len(stack) < len(place):
            counts[len(stack)] = 0
        for whole in ([*stack], [*stack, place[-1]] if place[-1] in attributes else []):
            if whole == place:
                for depth in range(1, len(place)):
                    counts[depth] += 1
                    most[depth] = max(most[depth], counts[depth])

    _see(path, start, lambda _: stack.pop())
    return next((name for name, n in zip(place[1:-1], most[2:], strict=False) if n == 1), None)


def _see(path: Path, start: _Start, end: _End) -> None:
    """Tell of the elements at the beginning of a document."""
    n_seen = 0
    for n_bytes in _parsed(path, start, end, lambda _: None):
        n_seen += n_bytes
        if n_seen > _LOOKED_AT:
            return


def _parsed(path: Path, start: _Start, end: _End, text: Callable[[str], None]) -> Iterator[int]:
    """Parse a document and yield after each chunk of bytes how many it had.

    Raises:
        BadInput: It is no whole document, or must not be read.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    depth = _Depth()

    def on_start(name: str, attributes: dict[str, str]) -> None:
        depth.enter()
        start(_plain(name), _own(attributes) if attributes else attributes)

    def on_end(name: str) -> None:
        depth.leave()
        end(_plain(name))

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = on_start, on_end, text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    problem, n_fed = "", 0
    with open_binary(path) as file:
        try:
            while chunk := file.read(_CHUNK):
                parser.Parse(chunk, False)
                n_fed += len(chunk)
                if n_fed - parser.CurrentByteIndex > _LONGEST:
                    raise _Refused("has an attribute or a comment of many megabytes")
                yield len(chunk)
            parser.Parse(b"", True)
            yield 0
        except expat.ExpatError as error:
            problem = f"is no whole XML document ({expat.ErrorString(error.code)}, line {error.lineno}); fetch it again"
        except _Refused as refused:
            problem = f"{refused}; write the records as CSV or as JSON"
    if problem:
        raise BadInput(f"{path}: {problem}")


class _Depth:
    """How deep the parser is in a document."""

    def __init__(self) -> None:
        self._now = 0

    def enter(self) -> None:
        self._now += 1
        if self._now > _DEEPEST:
            raise _Refused(f"has elements more than {_DEEPEST} deep")

    def leave(self) -> None:
        self._now -= 1


def _refuse_doctype(*_: Any) -> None:
    raise _Refused("has a document type (DOCTYPE), which is not read: it may be a web page, or name entities")


def _own(attributes: dict[str, str]) -> dict[str, str]:
    return {_plain(name): of for name, of in attributes.items() if name.partition(":")[0] not in _NOT_ITS_OWN}


@functools.lru_cache(1 << 12)
def _plain(name: str) -> str:
    return name.rpartition(":")[2]


class _Records:
    """Makes objects of the elements that are records, as the parser tells of them.

    Attributes:
        found: Those that are whole.
    """

    def __init__(self, steps: list[str], wanted: _Tree) -> None:
        self.found: list[dict[str, Any]] = []
        self._steps = steps
        self._wanted = [wanted]  # of each open element
        self._n_skipped = 0  # open elements that are not wanted
        self._names: list[str] = []  # of the elements around a record
        self._open: list[dict[str, Any]] = []  # elements from a record on
        self._text: list[str] = []  # since the last beginning or end of an element
        self._n_characters = 0  # of a record

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._open:
            self._text.clear()
            wanted = self._wanted[-1]
            if self._n_skipped or (wanted is not None and name not in wanted):
                self._n_skipped += 1
                return
            self._wanted.append(None if wanted is None else wanted[name])
            self._open.append(attributes)
            self._count(_PER_ELEMENT + len(name) + sum(map(len, attributes.values())))
            return
        self._names.append(name)
        if name == self._steps[-1] and self._names[-len(self._steps) :] == self._steps:
            self._open.append(attributes)
            self._n_characters = 0

    def text(self, characters: str) -> None:
        if self._open and not self._n_skipped:
            self._text.append(characters)
            self._count(len(characters))

    def end(self, name: str) -> None:
        if not self._open:
            self._names.pop()
            return
        if self._n_skipped:
            self._n_skipped -= 1
            self._text.clear()
            return
        element = self._open.pop()
        if self._open:
            self._wanted.pop()
            self._open[-1].setdefault(name, "".join(self._text).strip() or element or None)
        else:
            self._names.pop()
            self.found.append(element)
        self._text.clear()

    def _count(self, n: int) -> None:
        self._n_characters += n
        if self._n_characters > _LONGEST:
            raise _Refused(f"has an element {self._steps[-1]} of many megabytes")


def n_records(path: Path, at: str) -> int:
    """Return how many elements of a document are records; raises what ``records`` does."""
    return sum(1 for _ in records(path, at, ()))
