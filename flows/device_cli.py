"""The command that a device runs, which trusts nobody: `hexveil device report`."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from tasks.base.errors import HexveilError

device_app = typer.Typer(help="Report to a collection as a device that trusts nobody.", no_args_is_help=True)


@device_app.callback()
def _group() -> None:
    """Report to a collection as a device that trusts nobody."""


@device_app.command("report")
def device_report(
    parameters: Annotated[Path, typer.Option("--parameters", help="The round's file, as the collector published it.")],
    values: Annotated[Path, typer.Option("--values", help="This device's values, one number a line.")],
    account: Annotated[Path, typer.Option("--account", help="This device's own account; made if there is none.")],
    area: Annotated[str | None, typer.Option("--area", help="The area to report for, if there are several.")] = None,
    device: Annotated[str | None, typer.Option("--device", help="A name that the device was given.")] = None,
    limit: Annotated[
        str | None, typer.Option("--limit", help="What all reports of this device may cost together, from now on.")
    ] = None,
) -> None:
    """Print this device's report for a round as one line of JSON, randomised before anyone sees it.

    Whoever asks again gets the same line. A different answer to the same period is refused. Where this device answers
    the other round, nothing is printed. What was spent is said on standard error.
    """
    from tasks.device.report import as_line, make_report

    outcome = make_report(parameters, values, account, area, device, _limit(limit))
    held = outcome.account
    if outcome.report is None:
        typer.echo(f"This device answers round {outcome.round}; nothing is sent now.", err=True)
        return
    sys.stdout.write(as_line(outcome.report))
    if outcome.is_new:
        typer.echo(f"Values: {outcome.n_values}; lines that are no number: {outcome.n_left_out}.", err=True)
    said = "Spent" if outcome.is_new else "The same answer as before, at no further cost. Spent so far:"
    typer.echo(
        f"{said} {float(held.spent):g} of {float(held.limit):g} in {len(held.answers)} periods.",
        err=True,
    )


def _limit(text: str | None) -> Fraction | None:
    try:
        limit = None if text is None else Fraction(float(text)).limit_denominator(10**6)
    except (ValueError, OverflowError):
        limit = Fraction(-1)
    if limit is not None and limit < 0:
        raise HexveilError(f"--limit must be a number of at least 0, not {text}")
    return limit
