"""`hexveil run`, with a note of what it took without its start: its imports."""

import argparse
import sys
import time

from flows import backfill, cli, daily, start
from tasks.map.page import map_page

IMPORTED = (backfill, cli, daily, map_page, start)
"""What the command imports on its way."""


def run_day(config: str, date: str) -> float:
    """Publish a day by the command line, whose modules are imported before; return the seconds."""
    began = time.perf_counter()
    cli.app(["run", "--config", config, "--date", date], standalone_mode=False)
    return time.perf_counter() - began


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
