"""What the first records of files tell that the warehouse does not hold: who is in files of other days, and offsets."""

import datetime as dt
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tasks.base.config import Config
from tasks.base.config_source import OF_FILE
from tasks.base.errors import HexveilError
from tasks.base.storage import private_folder
from tasks.records.init.proposed_times import TimesForm, of_time, written_times
from tasks.records.input_formats import recognise
from tasks.records.input_formats.file_users import user_of_file
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.input_formats.table import format_of
from tasks.records.read.fetched import at_hand
from tasks.records.read.inputs import Input, find_inputs

_FURTHEST = 7
_MOST_FILES = 20


def users_of_other_files(date: dt.date, apart: int, config: Config) -> set[str]:
    """Return users of the first records of another day's own files: of the nearest day that is apart, or of any.

    Days are looked for in paths with `{date}`; without it the warehouse holds them all.

    Args:
        date: The local day.
        apart: From how many days on another day is apart.
        config: Names the files.
    """
    shifts = [*range(apart, _FURTHEST + 1), *range(1, apart)]
    near = (date + dt.timedelta(days=sign * shift) for shift in shifts for sign in (-1, 1))
    return next(filter(None, (set(_users(day, config)) for day in near)), set())


def zone_cautions(date: dt.date, config: Config) -> list[str]:
    """Return which zone a day's times without an offset are taken to be of, unless the configuration says it."""
    if config.columns.time_zone is not None:
        return []
    columns = {"time": config.columns.time}
    for path, look in _looks(date, config):
        times = [one for one in written_times(look, columns) if one not in (None, "")]
        unit = config.columns.time_unit or recognise.time_unit(times)
        if TimesForm(unit, config.columns.time_format).has_no_offset([times]):
            is_int96 = (look.kinds or {}).get(of_time(columns)[0]) == "int96"
            why = ", as INT96 is by the convention of Spark and Hive" if is_int96 else ""
            zone = look.format.time_zone(path, config)
            return [
                f"times have no offset, and are read as times of {zone}{why}. If that is right, say so with "
                f'columns.time_zone = "{zone}"; else name their zone there.'
            ]
    return []


def _users(date: dt.date, config: Config) -> Iterator[str]:
    """Yield the users in a day's own files, as the warehouse writes them."""
    column = config.columns.user
    for path, look in _looks(date, config, is_own=True):
        if column == OF_FILE:
            yield from filter(None, [user_of_file(path, config.folder)])
            continue
        for one in look.column(column) if column in look.names else []:
            if isinstance(one, str | int) and not isinstance(one, bool) and str(one).strip():
                yield str(one).strip()


def _looks(date: dt.date, config: Config, *, is_own: bool = False) -> Iterator[tuple[Path, Look]]:
    """Yield what some of a day's files look like. What cannot be read is left out: reading the day says so."""
    files: list[Input] = []
    with suppress(HexveilError):
        files = [one for one in find_inputs(date, config, needed=False) if one.file_date is not None or not is_own]
    dataset = config.dataset
    given = Given(dataset.header, dataset.delimiter, dataset.format, dataset.records or "", config.columns.by_role)
    for one in files[:: len(files) // _MOST_FILES + 1]:
        with suppress(HexveilError, OSError, ValueError), at_hand(one, private_folder(config) / "looked") as path:
            yield path, format_of(path, config).look(path, given)
