"""The command that records a feed: it writes snapshots to files until it is told to stop."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from flows import show
from flows.options import VerboseOption
from flows.show import out
from tasks.base.errors import HexveilError

_PATIENCE_SECONDS = 1.5


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
    longer and longer, to at most a quarter of an hour, or to an hour if the feed asks for that. Each failure is shown.
    An answer may take 30 s and have 256 MiB; what cannot be read is a failure.
    """
    from tasks.base.logs import show_lines
    from tasks.records.recorder.feed import Feed, filled_in
    from tasks.records.recorder.recorder import record as record_feed

    headers = dict(map(_header, header or []))
    feed = Feed(filled_in(url), to, every, timezone, headers)
    show_lines(verbose, warnings=True)
    stop = _set_when_told()
    out.print(f"Recording {feed.host} every {every:g} s in {show.shown(to)}; Ctrl-C ends it.", markup=False)
    out.print(f"{record_feed(feed, stop):,} snapshots were written.")


def _set_when_told() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set. If the command does not end soon then, its process ends anyway.

    Python handles a signal only between two steps of the main thread, so another thread is woken by it.
    """
    stop = threading.Event()
    seen, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda *_: None)
    threading.Thread(target=_end_when_told, args=(seen, stop), daemon=True).start()
    return stop


def _end_when_told(seen: int, stop: threading.Event) -> None:
    os.read(seen, 1)
    stop.set()
    time.sleep(_PATIENCE_SECONDS)
    os._exit(0)


def _header(text: str) -> tuple[str, str]:
    from tasks.records.recorder.feed import filled_in

    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise HexveilError("--header must be NAME: VALUE")
    return name.strip(), filled_in(value.strip())
