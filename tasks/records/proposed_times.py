"""Proposes how times are written: as numbers, in ISO 8601, or in another form. Days in the files' paths help."""

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from tasks.base.config_source import TimeUnit
from tasks.base.errors import BadInput
from tasks.records import patterns, recognise

_NEAR = dt.timedelta(days=1)
"""How far from the date in a file's path its records may be: it may be the day in another zone, or of the copy."""
_SHARE_NEAR = 0.5
_EXAMPLE = dt.date(2026, 4, 3)


class TimesForm(NamedTuple):
    """How times are written, and why it is so.

    Attributes:
        unit: What they count since 1970, if they are numbers.
        form: Their form, if they are neither numbers nor ISO 8601.
        reason: Why, for people; "" if they are ISO 8601.
    """

    unit: TimeUnit | None = None
    form: str | None = None
    reason: str = ""

    def local_day(self, time: Any, zone: ZoneInfo) -> dt.date | None:
        """Return the local day of a time; None if it cannot be read."""
        try:
            if self.unit is not None:
                return dt.datetime.fromtimestamp(float(time) / recognise.UNITS[self.unit], zone).date()
            if self.form is not None:
                at = dt.datetime.strptime(str(time).strip(), self.form)
            else:
                at = time if isinstance(time, dt.datetime) else dt.datetime.fromisoformat(str(time).strip())
            return (at.astimezone(zone) if at.tzinfo else at).date()
        except (TypeError, ValueError, OverflowError, OSError):
            return None


def form_of_times(
    files: Sequence[Path], folder: Path, times: Sequence[list[Any]], column: str, given: str | None
) -> TimesForm:
    """Return the form that the times of all files have.

    Args:
        files: The files.
        folder: Dates are looked for in the paths from here on.
        times: Some times of each file.
        column: What the column is called.
        given: The form, if the owner says it.

    Raises:
        BadInput: They have none that is known, files differ, or two forms fit and only the owner knows which it is.
    """
    if given is not None:
        written = [str(one).strip() for one in itertools.chain(*times) if one not in (None, "")]
        if written and not any(recognise.has_form(one, given) for one in written):
            raise BadInput(f'no time in "{column}" has the form that --time-format says, {given}; check both')
        return TimesForm(form=given, reason=f"times have the form {given}, as --time-format says")
    kinds = {path: _kind(some) for path, some in zip(files, times, strict=False) if some}
    if len(set(kinds.values())) > 1:
        (one, its), (other, others) = next(
            pair for pair in itertools.combinations(kinds.items(), 2) if pair[0][1] != pair[1][1]
        )
        raise BadInput(
            f'the files are not of one form: times in "{column}" are {_named(its)} in {one}, and {_named(others)} in '
            f"{other}; write a configuration for each form"
        )
    unit, is_iso = next(iter(kinds.values()), (None, True))
    if unit is not None:
        return TimesForm(unit, reason=f"times are {_named((unit, False))}: in this unit they are of 1990 to 2100")
    return TimesForm() if is_iso else _by_form(files, folder, times, column)


def _kind(times: Sequence[Any]) -> tuple[TimeUnit | None, bool]:
    """Return what times count, and whether they are ISO 8601."""
    unit = recognise.time_unit(times)
    has_type = all(isinstance(one, dt.datetime) for one in times)
    return unit, unit is None and (has_type or recognise.is_iso(times))


def _named(kind: tuple[TimeUnit | None, bool]) -> str:
    unit, is_iso = kind
    return f"numbers since 1970 in {unit}" if unit else "ISO 8601" if is_iso else "of another form"


def _by_form(files: Sequence[Path], folder: Path, times: Sequence[list[Any]], column: str) -> TimesForm:
    """Return the one form that fits; where day and month may be swapped, the dates in the paths decide."""
    forms = recognise.time_formats(itertools.chain(*times))
    if not forms:
        raise BadInput(
            f'the times in "{column}" have no form that is recognised; say it with --time-format, for example '
            '--time-format "%m/%d/%Y %H:%M:%S", or name another column with --time'
        )
    if len(forms) == 1:
        return TimesForm(form=forms[0], reason=f"times have the form {forms[0]}")
    days = [patterns.day_in(path, folder) for path in files]
    near = [form for form in forms if _is_near(form, days, times)]
    if len(near) == 1:
        reason = f"times have the form {near[0]}: read so, they are of the days in the files' paths"
        return TimesForm(form=near[0], reason=reason)
    ways = ", or ".join(
        f'--time-format "{form}" ({_EXAMPLE.day} April 2026 is {_EXAMPLE:{form[:8]}})' for form in forms
    )
    raise BadInput(
        f'the times in "{column}" can be read with either order of day and month, and no date in the files\' paths '
        f"tells which it is. Say it: {ways}"
    )


def _is_near(form: str, days: Sequence[dt.date | None], times: Sequence[list[Any]]) -> bool:
    """Return whether most times of each file, read in a form, are of about the day in its path; no if none has one."""
    shares = []
    for day, some in zip(days, times, strict=False):
        read = Counter(TimesForm(form=form).local_day(one, ZoneInfo("UTC")) for one in some)
        if day is not None and some:
            shares.append(sum(n for of, n in read.items() if of and abs(of - day) <= _NEAR) / len(some))
    return bool(shares) and min(shares) >= _SHARE_NEAR
