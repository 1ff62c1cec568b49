"""`hexveil run`, with a note of what it took without its start: its imports, and Prefect's server."""

import argparse
import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from flows import cli, show


class _Stopwatch:
    """How long a function took, as often as it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.seconds = 0.0
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return self._function(*args, **kwargs)
        finally:
            self.seconds += time.perf_counter() - began


def run_day(config: str, date: str) -> float:
    """Publish a day by the command line.

    Returns:
        Seconds of the command, whose modules are imported before, but those in which the flow was called and its
        function did not run: Prefect's server starts and ends there. What each step pays to Prefect is counted.
    """
    show.quieten(verbose=False)  # as the command does, before Prefect is imported
    from flows import daily

    function = daily.daily.fn = _Stopwatch(daily.daily.fn)
    daily.daily = call = _Stopwatch(daily.daily)  # pyright: ignore[reportAttributeAccessIssue]
    command = _Stopwatch(cli.app)
    command(["run", "--config", config, "--date", date], standalone_mode=False)
    return command.seconds - call.seconds + function.seconds


def main() -> None:
    """Run a day, and print after all else how many seconds it took without its start."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.whole", description=__doc__)
    parser.add_argument("config")
    parser.add_argument("date")
    given = parser.parse_args()
    seconds = run_day(given.config, given.date)
    sys.stdout.write(f"\n{seconds}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
