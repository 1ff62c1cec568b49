"""The command that records a feed: it writes snapshots to files until it is told to stop."""

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from flows import show
from flows.options import VerboseOption
from flows.show import out
from tasks.base.errors import HexveilError


def record(
    url: Annotated[str, typer.Argument(help="The feed's address; ${NAME} in it is an environment variable.")],
    to: Annotated[Path, typer.Option("--to", help="The folder of the snapshots; gets a folder for each local day.")],
    every: Annotated[int, typer.Option("--every", min=1, help="Seconds between two requests.")] = 30,
    timezone: Annotated[str, typer.Option("--timezone", help="Time zone of the days, as dataset.timezone.")] = "UTC",
    header: Annotated[
        list[str] | None, typer.Option("--header", help="NAME: VALUE to send; ${NAME} in it is a variable too.")
    ] = None,
    verbose: VerboseOption = False,
) -> None:
    """Write a feed's snapshots to files for the daily run, until Ctrl-C or SIGTERM.

    A snapshot is written whole or not at all, and not again while it does not change. After failures the command waits
    longer and longer, to at most a quarter of an hour. Each failure is shown.
    """
    from tasks.base.logs import show_lines
    from tasks.records.record.feed import Feed, filled_in
    from tasks.records.record.recorder import record as record_feed

    headers = dict(map(_header, header or []))
    feed = Feed(filled_in(url), to, every, timezone, headers)
    show_lines(verbose, warnings=True)
    stop = threading.Event()
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda *_: stop.set())
    out.print(f"Recording {feed.host} every {every:g} s in {show.shown(to)}; Ctrl-C ends it.", markup=False)
    out.print(f"{record_feed(feed, stop):,} snapshots were written.")


def _header(text: str) -> tuple[str, str]:
    from tasks.records.record.feed import filled_in

    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise HexveilError("--header must be NAME: VALUE")
    return name.strip(), filled_in(value.strip())
