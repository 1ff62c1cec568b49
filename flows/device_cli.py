"""The command that a device runs, which trusts nobody: `hexveil device report`."""

import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from tasks.base.errors import HexveilError

device_app = typer.Typer(help="Report to a collection as a device that trusts nobody.", no_args_is_help=True)


AccountOption = Annotated[Path, typer.Option("--account", help="This device's own account.", show_default=False)]
LimitOption = Annotated[
    str | None, typer.Option("--limit", help="What all reports of this device may cost together, from now on.")
]
DayLimitOption = Annotated[
    str | None, typer.Option("--day-limit", help="What the reports for one day may cost together, from now on.")
]


@device_app.callback()
def _group() -> None:
    """Report to a collection as a device that trusts nobody."""


@device_app.command("begin")
def device_begin(
    account: AccountOption,
    device: Annotated[
        str | None, typer.Option("--device", help="A name that the device was given; without it, a random one.")
    ] = None,
    limit: LimitOption = None,
    day_limit: DayLimitOption = None,
) -> None:
    """Begin the account of a device that never answered under its name. An account that is there is left alone."""
    from tasks.device.account import begin_account, written

    held = begin_account(account, device, _limit(limit, "--limit"), _limit(day_limit, "--day-limit"))
    typer.echo(
        f"Begun. All reports together may cost {written(held.limit)}, and those for one day {written(held.day_limit)}.",
        err=True,
    )


@device_app.command("report")
def device_report(
    parameters: Annotated[Path, typer.Option("--parameters", help="The round's file, as the collector published it.")],
    values: Annotated[Path, typer.Option("--values", help="This device's values, one number a line.")],
    account: AccountOption,
    area: Annotated[str | None, typer.Option("--area", help="The area to report for, if there are several.")] = None,
    limit: LimitOption = None,
    day_limit: DayLimitOption = None,
) -> None:
    """Print this device's report for a round as one line of JSON, randomised before anyone sees it.

    Whoever asks again gets the same line. A different answer to the same period is refused. Where this device answers
    the other round, nothing is printed. What was spent is said on standard error. How many values were read is
    protected: only a terminal is told.
    """
    from tasks.device.account import written
    from tasks.device.report import as_line, make_report

    limits = _limit(limit, "--limit"), _limit(day_limit, "--day-limit")
    outcome = make_report(parameters, values, account, area, *limits)
    held = outcome.account
    if outcome.report is None:
        typer.echo(f"This device answers round {outcome.round}; nothing is sent now.", err=True)
        return
    _send(as_line(outcome.report))
    if outcome.is_new and sys.stderr is not None and sys.stderr.isatty():
        typer.echo(f"Values: {outcome.n_values}; lines that are no number: {outcome.n_left_out}.", err=True)
    said = "Spent" if outcome.is_new else "The same answer as before, at no further cost. Spent so far:"
    typer.echo(
        f"{said} {written(held.spent)} of {written(held.limit)} in {len(held.answers)} periods.",
        err=True,
    )


def _send(line: str) -> None:
    """Write a report to standard output, down to the system.

    Raises:
        HexveilError: It could not be written: standard output is full or closed.
    """
    if sys.stdout is not None:  # it is None where the caller closed it
        try:
            sys.stdout.write(line)
            sys.stdout.flush()
            return
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python tries again as it ends
    raise HexveilError(
        "the report was made, is in the account, and could not be written to standard output. Run the command again: "
        "it gives the same report at no further cost"
    )


def _limit(text: str | None, option: str) -> Fraction | None:
    try:
        limit = None if text is None else Fraction(float(text)).limit_denominator(10**6)
    except (ValueError, OverflowError):
        limit = Fraction(-1)
    if limit is not None and limit < 0:
        raise HexveilError(f"{option} must be a number of at least 0, not {text}")
    return limit
