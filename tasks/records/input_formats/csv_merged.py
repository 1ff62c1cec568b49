"""Merges small CSV files of one header into one file. A file in which quotes or line ends are unusual stays alone."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput
from tasks.records.input_formats import recognise
from tasks.records.input_formats.csv_rows import MOST_MALFORMED, regular_counts
from tasks.records.input_formats.file_users import needed_user
from tasks.records.input_formats.input_format import Left, Merged, Part
from tasks.records.input_formats.merged import small_content
from tasks.records.input_formats.text_lines import LONGEST_RECORD

_MARK = b"\xef\xbb\xbf"
_Read = Callable[[warehouse.Connection, Path, dict[str, Any], Config], Left]
_Key = tuple[bytes, bytes, str | None]


class _File(NamedTuple):
    """A file: its position among those that were given, its rows, each with a line end, and its user if it is one."""

    which: int
    body: bytes
    user: str | None


def merged_csv(paths: Sequence[Path], folder: Path, config: Config, read: _Read) -> list[Merged]:
    """Return some files as few.

    Args:
        paths: The files. Those that cannot be merged are in nothing that is returned.
        folder: A private folder for what is merged.
        config: Says how CSV files are written.
        read: Reads one file.
    """
    if len(config.dataset.delimiter.encode()) > 1:
        return []
    groups = defaultdict[_Key, list[_File]](list)
    for which, path in enumerate(paths):
        found = _opened(which, path, config)
        if found is not None:
            groups[found[0]].append(found[1])
    merged = []
    for key, files in groups.items():
        counts = _counts(key[0], files, config)
        kept = [one for one in files if one.which in counts]
        if kept:
            merged.append(_written(folder / f"{uuid.uuid4().hex}.csv", key[0], kept, counts, read))
    return merged


def _opened(which: int, path: Path, config: Config) -> tuple[_Key, _File] | None:
    """Return a file by what it must have in common with others; None if it stays alone."""
    content = (small_content(path) or b"").removeprefix(_MARK)
    header, body = (b"", content) if config.dataset.header else _parted(content)
    first, end = _parted(body)[0], b"\n"
    if not first or header.count(b'"') % 2:
        return None
    if any(b"\r" in line.rstrip(b"\r\n") for line in (header, first)):  # as in UTF-16: no reader of CSV splits it
        return None
    if (header or first).endswith(b"\r\n"):
        end = b"\r\n"
    user = None
    if config.columns.is_of_path:
        try:
            user = needed_user(path, config)
        except BadInput:
            return None
    whole = body if body.endswith(b"\n") else body + end
    return (header, end, _unit(header, first, config)), _File(which, whole, user)


def _parted(content: bytes) -> tuple[bytes, bytes]:
    """Return the first line of a content, with its end, and the rest."""
    end = content.find(b"\n") + 1 or len(content)
    return content[:end], content[end:]


def _unit(header: bytes, first: bytes, config: Config) -> str | None:
    """Return the unit of the first time of a file; None if it is no number, or if it is known how times are written."""
    columns, delimiter = config.columns, config.dataset.delimiter
    if columns.time_unit or columns.time_format or len(columns.of_time) > 1:
        return None
    names = config.dataset.header or recognise.split(_line(header), delimiter)
    fields = recognise.split(_line(first), delimiter)
    name = next(iter(columns.of_time))
    position = list(names).index(name) if name in names else len(fields)
    return recognise.time_unit(fields[position : position + 1])


def _line(content: bytes) -> str:
    return content.decode("utf-8", "replace").rstrip("\r\n")


def _counts(header: bytes, files: Sequence[_File], config: Config) -> dict[int, tuple[int, int]]:
    """Return how many rows, and rows with the right number of fields, each file has that is no exception."""
    delimiter = config.dataset.delimiter
    n_columns = len(config.dataset.header or recognise.split(_line(header), delimiter))
    plain = [one for one in files if b'"' not in one.body]
    found = dict(_plain_counts(plain, ord(delimiter), n_columns))
    for one in files:
        if b'"' in one.body:
            fields = regular_counts(one.body, delimiter)
            if fields is not None:
                found[one.which] = (fields.size, int(np.count_nonzero(fields == n_columns)))
    return {which: (n_rows, n_good) for which, (n_rows, n_good) in found.items() if n_rows - n_good <= MOST_MALFORMED}


def _plain_counts(files: Sequence[_File], delimiter: int, n_columns: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the same for files without quotes, all at once."""
    if not files:
        return
    text = np.frombuffer(b"".join(one.body for one in files), np.uint8)
    bounds = np.cumsum([0, *(len(one.body) for one in files)])
    ends = np.flatnonzero(text == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    n_bytes, of_file = ends - starts, np.searchsorted(bounds, starts, "right") - 1
    fields = np.diff(np.searchsorted(np.flatnonzero(text == delimiter), np.append(starts, text.size))) + 1
    is_row = (n_bytes > 1) | ((n_bytes == 1) & (text[starts] != ord("\r")))
    returns = np.flatnonzero(text == ord("\r"))
    lone = returns[text[returns + 1] != ord("\n")]
    odd = {*of_file[n_bytes >= LONGEST_RECORD], *(np.searchsorted(bounds, lone, "right") - 1)}
    n_rows = np.bincount(of_file[is_row], minlength=len(files))
    n_good = np.bincount(of_file[is_row & (fields == n_columns)], minlength=len(files))
    for number, one in enumerate(files):
        if number not in odd:
            yield one.which, (int(n_rows[number]), int(n_good[number]))


def _written(
    path: Path, header: bytes, files: Sequence[_File], counts: dict[int, tuple[int, int]], read: _Read
) -> Merged:
    """Write some files as one."""
    parts, first_byte = [], len(header)
    with path.open("wb") as file:
        file.write(header)
        for one in files:
            n_rows, n_good = counts[one.which]
            parts.append(Part(one.which, n_rows, n_good, first_byte, one.body.count(b"\n"), one.user))
            file.write(one.body)
            first_byte += len(one.body)

    def read_merged(connection: warehouse.Connection, file: dict[str, Any], config: Config) -> Left:
        try:
            return read(connection, path, file, config)
        finally:
            path.unlink()

    return Merged(read_merged, parts)
