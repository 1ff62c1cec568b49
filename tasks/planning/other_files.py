"""Users in files of other days: on a first day nothing else tells whether users come back."""

import datetime as dt
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tasks.base.config import Config
from tasks.base.config_source import OF_FILE
from tasks.base.errors import HexveilError
from tasks.base.storage import private_folder
from tasks.records.input_formats.file_users import user_of_file
from tasks.records.input_formats.input_format import Given
from tasks.records.input_formats.table import format_of
from tasks.records.read.fetched import at_hand
from tasks.records.read.inputs import find_inputs

_FURTHEST = 7
_MOST_FILES = 20


def users_of_other_files(date: dt.date, apart: int, config: Config) -> set[str]:
    """Return users of the first records of another day's own files: of the nearest day that is apart, or of any.

    Days are looked for in paths with `{date}`; without it the warehouse holds them all. A file that cannot be read has
    no users here: its own day will say so.

    Args:
        date: The local day.
        apart: From how many days on another day is apart.
        config: Names the files.
    """
    shifts = [*range(apart, _FURTHEST + 1), *range(1, apart)]
    near = (date + dt.timedelta(days=sign * shift) for shift in shifts for sign in (-1, 1))
    return next(filter(None, (set(_users(day, config)) for day in near)), set())


def _users(date: dt.date, config: Config) -> Iterator[str]:
    with suppress(HexveilError):
        own = [one for one in find_inputs(date, config, needed=False) if one.file_date is not None]
        for one in own[:: len(own) // _MOST_FILES + 1]:
            with suppress(HexveilError, OSError, ValueError), at_hand(one, private_folder(config) / "looked") as path:
                yield from list(_users_in(path, config))


def _users_in(path: Path, config: Config) -> Iterator[str]:
    """Yield the users of a file's first records, as the warehouse writes them."""
    dataset, column = config.dataset, config.columns.user
    if column == OF_FILE:
        yield from filter(None, [user_of_file(path, config.folder)])
        return
    given = Given(dataset.header, dataset.delimiter, dataset.format, dataset.records or "", config.columns.by_role)
    look = format_of(path, config).look(path, given)
    for one in look.column(column) if column in look.names else []:
        if isinstance(one, str | int) and not isinstance(one, bool) and str(one).strip():
            yield str(one).strip()
