"""What any flow pays to Prefect: its imports, its server, and as many steps as a day has, which do nothing."""

from prefect import flow

import flows.daily  # noqa: F401 - what a day imports is paid for before it begins
from tasks.steps import step

_N_STEPS = 11
"""Of a day: it finds, reads, judges, counts, plans, draws, publishes, looks for what is late, and tells three times."""


@step("do nothing for the {number}. time")
def do_nothing(number: int) -> None:
    """Do nothing."""


@flow(name="nothing", log_prints=False)
def nothing() -> None:
    """Do nothing, in steps."""
    for number in range(1, _N_STEPS + 1):
        do_nothing(number)


if __name__ == "__main__":
    nothing()
