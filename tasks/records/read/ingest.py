"""Ingest: reads input files into raw_record, each file once, and counts every row."""

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import polars as pl

from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import BadInput, HexveilError
from tasks.base.logs import say, warn
from tasks.base.progress import progress
from tasks.base.steps import step
from tasks.base.storage import private_folder
from tasks.records.forgotten import forgotten_days, refuse_other_engine
from tasks.records.input_formats.archives import is_archive
from tasks.records.read import source
from tasks.records.read.fetched import at_hand
from tasks.records.read.files import Identity, read_file, read_files
from tasks.records.read.inputs import Input, find_inputs, seen

_DAY = dt.timedelta(days=1)
_LARGEST_BATCH = 1 << 24
"""How many bytes are read at once, as they are stored. A file that has more is read by itself."""

log = logging.getLogger("hexveil.ingest")


@step("ingest {config.dataset.name} {date}")
def ingest_records(date: dt.date, config: Config) -> None:
    """Read the files for a day that the warehouse does not hold yet.

    A file is identified by its name and content: reading it again adds nothing. Every row goes to raw_record, or to
    quarantine if it cannot be split into fields. Rows of forgotten days are only counted.

    Args:
        date: The local day.
        config: Names the files.

    Raises:
        BadInput: No file exists, or one cannot be read; nothing of that file is kept. Or the day was forgotten.
    """
    refuse_forgotten(date, config)
    ingest(date, config)
    if looks_back(config):
        ingest_before(partial(ingest, date - _DAY, config, needed=False), date - _DAY)


def looks_back(config: Config) -> bool:
    """Return whether a day's values follow from records of the day before too."""
    return config.columns.is_speed and config.columns.users_return


def ingest_before(read: Callable[[], None], date: dt.date) -> None:
    """Read the files of the day before; the day can do without, as when it was forgotten."""
    try:
        read()
    except BadInput as error:
        warn(log, "no fixes of the day before are used", date=date, reason=error)


def refuse_forgotten(date: dt.date, config: Config) -> None:
    """Refuse a day that was forgotten.

    Raises:
        BadInput: The day was forgotten.
    """
    forgotten = forgotten_days(config).get(date)
    if forgotten is not None:
        raise BadInput(
            f"{date} was forgotten at {forgotten.when}: its records were deleted for good and are not read again"
        )


def ingest(date: dt.date, config: Config, needed: bool = True) -> None:
    """Do the same as ``ingest_records``, even if the day was forgotten, or has no files that are not needed."""
    for problem in _ingest_new(date, config, needed):
        raise problem


def ingest_readable(date: dt.date, config: Config) -> list[BadInput]:
    """Do the same, but go on after a file that cannot be read, and return what is wrong with each."""
    return list(_ingest_new(date, config, needed=False))


def _ingest_new(date: dt.date, config: Config, needed: bool) -> Iterator[BadInput]:
    """Read new files, and yield what is wrong with each that cannot be read, before the next ones are read."""
    with warehouse.connect(config) as connection:
        refuse_other_engine(connection, config)
        new = new_inputs(connection, date, config, needed)
    for some in progress(list(_batches(new)), "reading files"):
        yield from _ingest_files(some, config)


def new_inputs(connection: warehouse.Connection, date: dt.date, config: Config, needed: bool = True) -> list[Input]:
    """Return the files for a day that seem not to have been read yet; opens none of them."""
    files = find_inputs(date, config, needed)
    known = _known(connection, files, config)
    return [one for one, file_id in zip(files, known, strict=True) if file_id is None]


def current_files(connection: warehouse.Connection, date: dt.date, config: Config) -> list[int]:
    """Return the ids of the files that the configuration names for a day, as they are now.

    Rows of files that were removed, changed or read with other settings stay in the warehouse but are not used.

    Raises:
        HexveilError: A file has not been read yet.
    """
    files = find_inputs(date, config)
    known = _known(connection, files, config)
    for one, file_id in zip(files, known, strict=True):
        if file_id is None:
            raise HexveilError(f"{one.address} changed while the day was being prepared; run the day again")
    return [file_id for file_id in known if file_id is not None]


def readable_files(connection: warehouse.Connection, date: dt.date, config: Config) -> list[int]:
    """Do the same, but without the files that could not be read."""
    known = _known(connection, find_inputs(date, config, needed=False), config)
    return [file_id for file_id in known if file_id is not None]


def files_before(connection: warehouse.Connection, date: dt.date, config: Config) -> list[int]:
    """Return the ids of the files of the day before that were read; none if no value follows from them."""
    return readable_files(connection, date - _DAY, config) if looks_back(config) else []


def note_seen(connection: warehouse.Connection, files: Sequence[Input], ids: Sequence[int], config: Config) -> None:
    """Store the ids under which the contents of files are kept, and log the outcome of their rows.

    The log line is the same for a known content and a new one: which of the two it is depends on private values. If
    the path of a file names a user, it is not logged.
    """
    connection.register("seen", seen(files, config).with_columns(pl.Series("file_id", ids, pl.Int32)).to_arrow())
    warehouse.run(connection, "write/seen_file")
    outcomes = warehouse.frame(connection, "read/file_outcomes", {"file_ids": list(ids)})
    of_file = {row.pop("file_id"): row for row in outcomes.iter_rows(named=True)}
    for one, file_id in zip(files, ids, strict=True):
        name = f"number {file_id}" if config.columns.is_of_path else Path(one.address).name
        say(log, "read", file=name, **of_file[file_id])


def known_contents(connection: warehouse.Connection, identities: Sequence[Identity]) -> list[int | None]:
    """Return the id of each file whose content is held under its name; None for the others."""
    wanted = pl.DataFrame(identities).with_row_index("number")
    connection.register("wanted", wanted.to_arrow())
    return [file_id for (file_id,) in warehouse.rows(connection, "read/file_by_content")]


def _known(connection: warehouse.Connection, files: Sequence[Input], config: Config) -> list[int | None]:
    """Return the id of each file that was read as it is now; None for the others."""
    connection.register("wanted", seen(files, config).with_row_index("number").to_arrow())
    return [file_id for (file_id,) in warehouse.rows(connection, "read/file_by_version")]


def _batches(files: Sequence[Input]) -> Iterator[list[Input]]:
    """Yield files that may be read at once: small ones for the same day. Nothing that is told depends on which."""
    some: list[Input] = []
    n_bytes = 0
    for one in files:
        size = _LARGEST_BATCH if is_archive(Path(one.address)) else one.n_bytes
        if some and (n_bytes + size > _LARGEST_BATCH or one.file_date != some[0].file_date):
            yield some
            some, n_bytes = [], 0
        some.append(one)
        n_bytes += size
    if some:
        yield some


def _ingest_files(files: Sequence[Input], config: Config) -> Iterator[BadInput]:
    """Read files at once or, if one of them cannot be read so, by halves: which ones are kept does not depend on it.

    What is wrong with a file that cannot be read by itself is yielded.
    """
    problem = _problem_of(files, config, together=True)
    if problem is None:
        return
    if len(files) > 1:
        for some in (files[: len(files) // 2], files[len(files) // 2 :]):
            yield from _ingest_files(some, config)
        return
    if is_archive(Path(files[0].address)):
        problem = _problem_of(files, config, together=False)
    if problem is not None:
        yield problem


def _problem_of(files: Sequence[Input], config: Config, *, together: bool) -> BadInput | None:
    """Read files, and return why they cannot be read so; None if they are."""
    try:
        _ingest_batch(files, config, together=together)
    except BadInput as error:
        return type(error)(*error.args)  # without what caused it, which may hold values
    return None


def _ingest_batch(files: Sequence[Input], config: Config, *, together: bool) -> None:
    """Read files on their own connection, so that the temporary tables hold rejected rows of these files only."""
    with warehouse.connect(config) as connection:
        known = _known(connection, files, config)
        new = [one for one, file_id in zip(files, known, strict=True) if file_id is None]
        if not new:
            return
        with ExitStack() as held:
            folder = private_folder(config)
            paths = [held.enter_context(at_hand(one, folder / f"fetched-{n}")) for n, one in enumerate(new)]
            with warehouse.transaction(connection):
                ids = _read(connection, new, paths, config, together=together)
                note_seen(connection, new, ids, config)


def _read(
    connection: warehouse.Connection, new: Sequence[Input], paths: Sequence[Path], config: Config, *, together: bool
) -> list[int]:
    """Read files whose content is not known, and return the ids of all."""
    settings = seen(new, config)["settings_hash"]
    identities = [
        {"name": one.name, "content_hash": source.content_hash(path), "settings_hash": hashed}
        for one, path, hashed in zip(new, paths, settings, strict=True)
    ]
    ids = known_contents(connection, identities)
    unknown = [number for number, file_id in enumerate(ids) if file_id is None]
    file_date = new[0].file_date
    if len(unknown) == 1:
        (number,) = unknown
        ids[number] = read_file(connection, paths[number], file_date, identities[number], config, together=together)
    elif unknown:
        some = [paths[number] for number in unknown]
        read = read_files(connection, some, file_date, [identities[number] for number in unknown], config)
        for number, file_id in zip(unknown, read, strict=True):
            ids[number] = file_id
    return [file_id for file_id in ids if file_id is not None]
