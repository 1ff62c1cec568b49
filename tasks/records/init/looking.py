"""Looks at the first records of a source file: its form, the names of its columns, and its times and places.

Where the first ones are not enough, records from all over the file are looked at, evenly spread over it.

No value can change what is seen. The format is the one that the file's name says, or the owner. The delimiter is that
of the header. Of a record only the columns are looked at that the caller names, which are those of time and place; of
a value in JSON, only that it is there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from tasks.base.config_source import Format
from tasks.base.errors import BadInput
from tasks.records.input_formats.compressed import open_binary
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.input_formats.table import format_by_name, format_called


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
        kind = format_called(given.format) if given.format else format_by_name(path)
        if kind is None:
            *others, last = get_args(Format)
            formats = f"{', '.join(others)} or {last}"
            raise BadInput(f"{path}: its name does not say its format; say it with --format: {formats}")
        return kind.look(path, given)


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
