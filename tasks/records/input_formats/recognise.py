"""Recognises the form of a source: its columns and the form of its times. Nothing here reads a value.

Each function is given, or reads, only names, types, and the columns of time and place, which are public.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tasks.base.config_source import TimeUnit

UNITS: dict[TimeUnit, int] = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""How many of each unit of time a second has."""

_EARLIEST, _LATEST = 631_152_000, 4_102_444_800  # 1990 and 2100, in seconds since 1970
_ENOUGH = 0.9
csv.field_size_limit(1 << 30)  # the usual limit would refuse a file for one long value
_OTHERS = (b"<", b"\x1f\x8b", b"PK")  # markup, gzip, zip
_DELIMITERS = (",", ";", "\t", "|", " ")
_LISTS_LOOKED_FOR = 6  # levels of a JSON document
_LEVELS_OF_RECORD = 8
_FEWEST_MEMBERS = 4  # of a list that is a record: user, time and place


def time_unit(times: Iterable[Any]) -> TimeUnit | None:
    """Return what times count that are numbers since 1970; None if they are no such numbers.

    Nine in ten must be of the years 1990 to 2100 in one unit. Their ranges are far apart, so no two units fit.

    Args:
        times: Some times of a source, numbers or texts; empty ones do not count.
    """
    written = [one for one in times if one not in (None, "")]
    fitting: Counter[TimeUnit | None] = Counter()
    fitting.update(map(_unit, written))
    commonest = max(fitting, key=lambda unit: fitting[unit], default=None)
    return commonest if fitting[commonest] >= _ENOUGH * len(written) else None


def without_blanks(start: bytes) -> bytes:
    """Return the first bytes of a text from its first character on that is neither blank nor the mark of UTF-8."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()


def is_text(start: bytes) -> bool:
    """Return whether the first bytes of a file are text in UTF-8, but no markup."""
    return not without_blanks(start).startswith(_OTHERS) and _is_text(start)


def is_binary(start: bytes) -> bool:
    """Return whether the first bytes of a file are no text, but neither a compressed file nor an archive."""
    return not without_blanks(start).startswith(_OTHERS) and not _is_text(start)


def n_csv_columns(start: str) -> int:
    """Return how many columns the first line of a CSV file has: no value of a later line matters."""
    first = next((line for line in start.splitlines() if line), "")
    return max(len(split(first, one)) for one in _DELIMITERS)


def split(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line of a CSV file."""
    return next(csv.reader([line], delimiter=delimiter), [])


def delimiter_of(header: str) -> str:
    """Return the character that splits a header into the most names; a space only if no other splits it."""
    widths = {one: len(split(header, one)) for one in _DELIMITERS}
    return max(_DELIMITERS, key=lambda one: (widths[one] > 1 and one != " ", widths[one]))


def is_header(line: str, delimiter: str | None) -> bool:
    """Return whether the first line of a CSV file names columns: no name is a number or of several lines.

    One name may be empty, such as that of an index. The first line of a file without a header is a record. It has a
    place, which is a number, or two empty fields for it, or a value of several lines. So that no value can hide this,
    every character that may be the delimiter is tried, unless it is known.

    Args:
        line: The line.
        delimiter: The character between its fields; None if it is not known.
    """
    if line.count('"') % 2 or "\r" in line:
        return False
    tried = {one: split(line, one) for one in (_DELIMITERS if delimiter is None else (delimiter,))}
    if any(sum(not field.strip() for field in fields) > 1 for one, fields in tried.items() if one != " "):
        return False
    return not any(is_number(field) for fields in tried.values() for field in fields)


def is_comment(line: str, following: str, delimiter: str | None) -> bool:
    """Return whether the first line of a CSV file is a comment above its header.

    It begins with #, and the second line is a header with another number of columns. So no record decides on it.
    """
    if not line.startswith("#") or line.count('"') % 2 or "\r" in line or not is_header(following, delimiter):
        return False
    between = delimiter or delimiter_of(following)
    return 1 < len(split(following, between)) != len(split(line, between))


def is_number(text: str) -> bool:
    """Return whether a text is a finite number, with a decimal point or comma."""
    return _number(text.replace(",", ".")) is not None


def decimal_mark(places: Iterable[str]) -> str:
    """Return the decimal mark of places that are written as text: ``,`` if most have one, else ``.``."""
    written = [one for one in places if one]
    return "," if sum("," in one and "." not in one for one in written) > len(written) / 2 else "."


def record_lists(document: Any) -> list[str]:
    """Return the paths to the lists of records in a JSON document, the longest first; "" is the document itself.

    Records are objects; if there are none, lists of some members each, such as those of OpenSky.
    """
    found = dict(_lists(document, "", _LISTS_LOOKED_FOR))
    ranked = {path: (not isinstance(records[0], dict), -len(records)) for path, records in found.items()}
    return sorted(ranked, key=lambda path: ranked[path])


def member_paths(
    record: Any, is_closed: Callable[[str], bool] = lambda _: False, path: str = "", levels: int = _LEVELS_OF_RECORD
) -> list[str]:
    """Return the path to each number, text, truth value or null in a JSON value, as columns name them.

    What is more than so many levels deep has no path: it is no column.

    Args:
        record: The value.
        is_closed: Returns whether what is at a path is one column, whatever it is: it is not looked into.
        path: The path to the value.
        levels: How deep it is looked into.
    """
    if not levels:
        return []
    if path and is_closed(path):
        return [path]
    if isinstance(record, dict):
        inner = [(f"{path}.{name}" if path else name, member) for name, member in record.items()]
    elif isinstance(record, list):
        inner = [(f"{path}[{position}]", member) for position, member in enumerate(record[:3])]
    else:
        return [path]
    return [one for name, member in inner for one in member_paths(member, is_closed, name, levels - 1)]


def _unit(written: Any) -> TimeUnit | None:
    number = _number(written)
    if number is None:
        return None
    return next((unit for unit, n in UNITS.items() if _EARLIEST <= number / n < _LATEST), None)


def _number(written: Any) -> float | None:
    if isinstance(written, bool):
        return None
    try:
        number = float(written)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _is_text(start: bytes) -> bool:
    try:
        io.TextIOWrapper(io.BytesIO(start), encoding="utf-8", errors="strict").read()
    except UnicodeDecodeError as error:
        return error.start > len(start) - 4  # the bytes end within a character
    return b"\0" not in start


def _lists(document: Any, path: str, levels: int) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(document, list):
        records = [one for one in document if isinstance(one, dict)] or [
            one for one in document if isinstance(one, list) and len(one) >= _FEWEST_MEMBERS
        ]
        if records:
            yield path, records
    if isinstance(document, dict) and levels:
        for name, member in document.items():
            yield from _lists(member, f"{path}.{name}" if path else name, levels - 1)
