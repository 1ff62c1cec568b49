"""Looks at the first records of a source file: its form, the names of its columns, and its times and places.

Where the first ones are not enough, records from all over the file are looked at, evenly spread over it.

No value can change what is seen. The format is the one that the file's name says, or the owner. The delimiter is that
of the header. Of a record only the columns are looked at that the caller names, which are those of time and place; of
a value in JSON, only that it is there.
"""

import atexit
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from tasks.base.config_source import Format
from tasks.base.errors import BadInput, NoRecords
from tasks.records.input_formats.all_formats import format_by_name, format_called
from tasks.records.input_formats.archives import is_archive, naming, unpacked
from tasks.records.input_formats.compressed import open_binary, put_on_disk
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.input_formats.thinning import evenly

_NOT_READ = {
    **dict.fromkeys((".xz", ".bz2", ".lz4", ".br", ".z"), "unpack it, or pack it with gzip or zstd"),
    **dict.fromkeys((".7z", ".rar"), "unpack it, or make a .zip or .tar.zst of what is in it"),
    **dict.fromkeys((".xls", ".xlsx", ".ods"), "save the table as CSV in UTF-8"),
}
"""Endings of files that are known, and what to do about them."""
MOST_FILES = 20
"""How many files are looked at."""


def looked_at_first(files: Sequence[Path]) -> list[Path]:
    """Return files in another order: those first that are looked at, which are evenly spread over all."""
    step = -(-len(files) // MOST_FILES)
    return [*files[::step], *(one for number, one in enumerate(files) if number % step)]


def with_records_first(files: Sequence[Path], given: Given) -> list[Path]:
    """Return files with the first that has a record before the others: a snapshot of the night may have none."""
    for number, path in enumerate(files[:MOST_FILES] if len(files) > 1 else []):
        with suppress(NoRecords):
            if look_at(path, given).names:
                return [path, *files[:number], *files[number + 1 :]]
    return [*files]


def look_at(path: Path, given: Given) -> Look:
    """Return what a file looks like.

    Args:
        path: The file.
        given: What the owner says of it.

    Raises:
        BadInput: It cannot be opened, or its format or its columns cannot be recognised.
    """
    with _opening(path):
        if path.is_dir():
            raise BadInput(f"{path} is a folder; name the files in it, for example {path}/*.csv")
        if not path.is_file():
            raise BadInput(f"{path}: there is no such file")
        with open_binary(path) as file:
            is_empty = not file.read(1)
        if is_empty:
            raise BadInput(f"{path} is empty; name a file with records")
        return _look_into(path, given) if is_archive(path) else _look(path, given)


def _look(path: Path, given: Given) -> Look:
    kind = format_called(given.format) if given.format else format_by_name(path)
    if kind is None and path.suffix.lower() in _NOT_READ:
        raise BadInput(f"{path}: {path.suffix} is not read; {_NOT_READ[path.suffix.lower()]}")
    if kind is None:
        *others, last = get_args(Format)
        formats = f"{', '.join(others)} or {last}"
        raise BadInput(f"{path}: its name does not say its format; say it with --format: {formats}")
    return kind.look(path, given)


def _look_into(path: Path, given: Given) -> Look:
    """Return what some files in an archive look like, evenly spread over those that are unpacked first."""
    folder = _folder() / str(len(list(_folder().iterdir())))
    folder.mkdir()
    chosen, unpacking_to = list[Path](), folder / "from"
    with naming(path, unpacking_to), closing(unpacked(path, unpacking_to, given.format is not None)) as unpacking:
        for one in evenly(next(unpacking), MOST_FILES)[:MOST_FILES]:
            chosen.append(folder / one.relative_to(unpacking_to))
            chosen[-1].parent.mkdir(parents=True)
            put_on_disk(one)
            one.replace(chosen[-1])
    with naming(path, folder):
        looks = [_look(one, given) for one in chosen]
    first = looks[0]
    same = [one for one in looks if one.format == first.format and one.names]

    def column(name: str) -> list[Any]:
        return [entry for one in same if name in one.names for entry in one.column(name)]

    def spread(name: str) -> list[Any]:
        return [entry for one in same if name in one.names for entry in one.spread(name)]

    return replace(first, column=column, spread=spread, files=tuple(chosen), parts=tuple(same))


@cache
def _folder() -> Path:
    """Return a private folder for what is unpacked, which is removed when the process ends."""
    folder = TemporaryDirectory(prefix="hexveil-init-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Say in plain words why a file cannot be opened."""
    try:
        yield
        return
    except PermissionError:
        problem = "you may not read it; give yourself the right, for example with chmod, or copy the file"
    except OSError as error:
        problem = f"{error.strerror}"
    raise BadInput(f"{path}: {problem}")
