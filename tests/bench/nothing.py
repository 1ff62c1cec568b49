"""What any flow pays to Prefect: its imports, its server, and as many steps as a day has, which do nothing."""

from prefect import flow

from flows.daily import daily
from flows.show import quieten
from tasks.steps import step

_N_STEPS = 8
"""Of a day: what it finds, reads, judges, counts, plans, draws, publishes, and what came late."""


@step("do nothing for the {number}. time")
def do_nothing(number: int) -> None:
    """Do nothing."""


@flow(name="nothing", log_prints=False)
def nothing() -> None:
    """Do nothing, in steps."""
    for number in range(1, _N_STEPS + 1):
        do_nothing(number)


def main() -> None:
    """Do nothing, with all imported that a day needs."""
    quieten(verbose=False)
    nothing.with_options(name=f"nothing, as {daily.name}")()


if __name__ == "__main__":
    main()
