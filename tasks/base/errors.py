"""Errors whose text is safe to log, and ``contained``, which keeps private values out of all other errors."""

import errno
import functools
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""What no other try can mend."""


class HexveilError(Exception):
    """A failure whose message says what is wrong and what to do, and contains no private value."""


class BadConfig(HexveilError):
    """The configuration file cannot be used."""


class BadInput(HexveilError):
    """The input files, or too many of their rows, cannot be used."""


class NoRecords(BadInput):
    """There is no file for a day, or no row of the day in its files."""


class OtherDays(BadInput):
    """Too many records in files whose paths name a day are of other days."""


class SchemaBroken(HexveilError):
    """A table between two steps does not match its schema."""


class NothingToPublish(HexveilError):
    """No cell of the day can keep its promise, so nothing is published and nothing is spent."""


class BudgetExceeded(HexveilError):
    """What is left of the users' budgets does not pay for the day."""


class DayStopped(HexveilError):
    """The values of most users could not be read, as a noisy count says; only the count was spent."""


WITHHELD = (NothingToPublish, BudgetExceeded, DayStopped)
"""The errors that withhold a whole day. Any other error is a failure."""


class Withheld(HexveilError):
    """Any of them, as the scheduler is told."""


class LedgerBroken(HexveilError):
    """The ledger, or a file that it names, is missing or was changed."""


class WarehouseDamaged(HexveilError):
    """The engine cannot read the warehouse's file. All of it can be made again from the raw files."""


class TemporaryFailure(HexveilError):
    """The machine failed, not the data: for example, the disk is full. A repeatable step is tried again."""


class InUse(TemporaryFailure):
    """Another program has a database open."""


def contained(step: Callable[P, R]) -> Callable[P, R]:
    """Let no private value leave ``step`` in an exception.

    Libraries put values and user ids into their messages, and Prefect pickles and logs every exception of a task. So a
    HexveilError is raised again without the exception that caused it. Any other exception becomes a HexveilError that
    names only its class. Its full text is written to ``private/errors.log`` in the storage folder. That file is as
    protected as the sensitive data next to it. The new error is raised outside the ``except`` block, so that its
    ``__context__`` is empty.
    """

    @functools.wraps(step)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return step(*args, **kwargs)
        except HexveilError as error:
            failure = type(error)(*error.args)
        except OSError as error:
            failure = _system_error(step.__name__, error)
        except Exception as error:
            if _is_interruption(error):
                raise KeyboardInterrupt from None
            kind = TemporaryFailure if _is_of_the_disk(error) else HexveilError
            failure = kind(_unexpected_error(step.__name__, error, args, kwargs))
        raise failure

    return run


def _system_error(step: str, error: OSError) -> HexveilError:
    where = f": {error.filename}" if isinstance(error.filename, str) else ""
    failed = f"{step} failed: {os.strerror(error.errno) if error.errno else type(error).__name__}{where}."
    if error.errno in _NOT_ALLOWED:
        return HexveilError(f"{failed} Mend the permissions, then run it again.")
    return TemporaryFailure(f"{failed} Free space or mend the disk, then run it again.")


def _unexpected_error(step: str, error: Exception, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    log = _keep_privately(error, [*args, *kwargs.values()])
    kept = f"its text is in {log}, because it may hold private values" if log else "its text could not be kept"
    likely = "The disk is full, read-only or damaged? " if _is_of_the_disk(error) else ""
    return f"{step} failed with {type(error).__name__}; {kept}. {likely}Mend the cause, then run it again."


def _is_interruption(error: Exception) -> bool:
    """Return whether DuckDB made this error of a KeyboardInterrupt that was raised while it waited for a query."""
    return type(error) is RuntimeError and str(error) == "Query interrupted"


def _is_of_the_disk(error: Exception) -> bool:
    return "IO" in type(error).__name__


def _keep_privately(error: Exception, arguments: list[object]) -> Path | None:
    folders = [one for one in (getattr(argument, "storage_path", None) for argument in arguments) if one]
    try:
        log = Path(folders[0]) / "private" / "errors.log"
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.writelines(traceback.format_exception(error))
    except (IndexError, OSError):
        return None
    return log
