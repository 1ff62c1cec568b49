"""Datasets that are screened: some of their users have no readable value."""

import datetime as dt

from support import DATE, HEADER, Dataset, slow

from tasks.account import ledger
from tasks.account.chain import charges
from tasks.account.entry import Charge

N_BUSES = 24
MODES = [("zcdp", "estimated"), ("pure", "planned"), slow(("pure", "estimated")), slow(("zcdp", "planned"))]
"""Definition and mechanism: each once in brief, and every pair of them in `make test-slow`."""


def write_day(
    dataset: Dataset, unreadable: int, date: dt.date = DATE, word: str = "N/A", n_buses: int = N_BUSES
) -> None:
    """Write a day of some buses, the first of which have no readable value."""
    lines = [
        f"bus{bus:03},{date}T{hour:02}:{minute:02}:00Z,{47.05 + 0.02 * (bus % 2)},8.31,{speed}"
        for bus, speed in enumerate(word if bus < unreadable else f"{30 + bus % 9}" for bus in range(n_buses))
        for hour in (8, 9)
        for minute in (5, 25, 50)
    ]
    dataset.write(f"day-{date}.csv", HEADER + "\n".join(lines) + "\n")


def screen(dataset: Dataset, definition: str, mechanism: str, total: str = "4000") -> Dataset:
    """Have a dataset screened, with so much for a day that the noise hardly moves the count."""
    dataset.set(definition=definition)
    dataset.set(mechanism=mechanism, target_error=40.0 if mechanism == "planned" else None)
    dataset.set(screen=True, epsilon_per_day=400)
    dataset.edit("epsilon_total = 5.0", f"epsilon_total = {total}")
    return dataset


def paid(dataset: Dataset) -> list[Charge]:
    """Return the entries that cost users, in order."""
    return charges(ledger.read_entries(dataset.config))
