"""What the first records of files tell that the warehouse does not hold: who is in files of other days, and offsets."""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.storage import private_folder
from tasks.records.init.proposed_times import TimesForm
from tasks.records.init.time_columns import of_time, written_times
from tasks.records.input_formats import recognise
from tasks.records.input_formats.all_formats import format_of
from tasks.records.input_formats.file_users import user_of_path
from tasks.records.input_formats.input_format import Given, Look
from tasks.records.read.fetched import at_hand
from tasks.records.read.inputs import Input, find_inputs

_FURTHEST = 7
_FLOAT = re.compile(r"[+-]?[0-9]+([.,]0*|([.,][0-9]+)?[eE][+-][0-9]+|[.,][0-9]+[eE][0-9]+)")
_MOST_FILES = 20

See = Callable[[Path, Look], list[str]]


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
    seen = (set(chain.from_iterable(_seen(day, config, partial(_users_in, config), is_own=True))) for day in near)
    return next(filter(None, seen), set())


def zone_cautions(date: dt.date, config: Config) -> list[str]:
    """Return which zone a day's times without an offset are taken to be of, unless the configuration says it."""
    if config.columns.time_zone is not None:
        return []
    return next(filter(None, _seen(date, config, partial(_zone_taken, config))), [])


def _seen(date: dt.date, config: Config, see: See, *, is_own: bool = False) -> Iterator[list[str]]:
    """Yield what is seen in some of a day's files. What cannot be read is left out: reading the day says so."""
    files: list[Input] = []
    with suppress(HexveilError):
        files = [one for one in find_inputs(date, config, needed=False) if one.file_date is not None or not is_own]
    dataset = config.dataset
    given = Given(dataset.header, dataset.delimiter, dataset.format, dataset.records or "", config.columns.by_role)
    for one in files[:: len(files) // _MOST_FILES + 1]:
        with suppress(Exception), at_hand(one, private_folder(config) / "looked") as path:
            yield see(path, format_of(path, config).look(path, given))


def _users_in(config: Config, path: Path, look: Look) -> list[str]:
    """Return the users of a file's first records, as the warehouse writes them."""
    column = config.columns.user
    if config.columns.is_of_path:
        return list(filter(None, [user_of_path(path, column, config.folder)]))
    found = [one for one in look.column(column) if isinstance(one, str | int) and not isinstance(one, bool)]
    ids = [str(one).strip() for one in found]
    return [one for one in ids if one and not _FLOAT.fullmatch(one)]  # as trimmed_id in sql: a float is no id


def _zone_taken(config: Config, path: Path, look: Look) -> list[str]:
    columns = {"time": config.columns.time}
    times = [one for one in written_times(look, columns) if one not in (None, "")]
    unit = config.columns.time_unit or recognise.time_unit(times)
    if not TimesForm(unit, config.columns.time_format).has_no_offset([times]):
        return []
    is_int96 = (look.kinds or {}).get(of_time(columns)[0]) == "int96"
    why = ", as INT96 is by the convention of Spark and Hive" if is_int96 else ""
    zone = look.format.time_zone(path, config)
    return [
        f"times have no offset, and are read as times of {zone}{why}. If that is right, say so with "
        f'columns.time_zone = "{zone}"; else name their zone there.'
    ]
