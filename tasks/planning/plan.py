"""Make the plan of one day: which cells it publishes, with which clipping and noise. It never reads a value."""

import datetime as dt
import logging

from dpmath.core.occupancy import Occupancy
from tasks.account.budgets import Account
from tasks.account.ledger import read_entries
from tasks.account.user_keys import known_users
from tasks.account.witnesses import check_same_users
from tasks.base import warehouse
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.logs import say
from tasks.base.steps import step
from tasks.kinds.day import PlannedDay
from tasks.kinds.payment import check_payment
from tasks.kinds.plan import Plan, store_plan
from tasks.kinds.table import kind_of
from tasks.map.places import read_places
from tasks.occupancy.user_cells import prepared_by
from tasks.planning.presence import known_of, presence_of, refuse_wrong_users
from tasks.proposals.mechanisms import propose
from tasks.proposals.request import Proposal

log = logging.getLogger("hexveil.plan")


@step("plan {config.dataset.name} {date}")
def plan_release(date: dt.date, config: Config) -> str:
    """Make and store the plan of a day, and return its hash.

    Raises:
        NothingToPublish: No cell can keep its promise.
        BudgetExceeded: The budget pays too little of the day.
        HexveilError: The ledger counts the losses of other users, or the day's users are records, or users of one day,
            and the configuration does not say so.
    """
    entries = read_entries(config)
    check_same_users(entries, config)
    plan = make_plan(date, config)
    known = known_of(date, entries, config)
    refuse_wrong_users(presence_of(date, config, plan.user_hashes, known), config)
    plan_hash = store_plan(plan, config)
    summary = plan.summary()
    shown = ("cells_total", "cells_published", "cells_withheld", "epsilon", "worst_error", "mechanism")
    say(log, "planned", date=date, **{name: summary[name] for name in shown if name in summary})
    return plan_hash


def make_plan(date: dt.date, config: Config, account: Account | None = None) -> Plan:
    """Return the plan of a day from its occupancy, the public bounds and what each user has left.

    Args:
        date: The local day; it must be prepared.
        config: Says the bounds and the request.
        account: What each user has lost; None reads it from the ledger.

    Raises:
        NothingToPublish: No cell can keep its promise.
        BadInput: The file of the map's places cannot be read.
        BudgetExceeded: The budget pays too little of the day.
    """
    day = read_day(date, config, account)
    return planned_day(date, day, propose(config.privacy.mechanism, day.request), config)


def planned_day(date: dt.date, day: PlannedDay, proposal: Proposal, config: Config) -> Plan:
    """Return the plan of a day from a mechanism's proposal; raises what ``make_plan`` does."""
    check_payment(date, day.payment, config)
    if config.publish.map:
        read_places(config)  # what is wrong with the map's file is said before anything is drawn
    return kind_of(config).plan(date, day, proposal, config)


def read_day(date: dt.date, config: Config, account: Account | None = None) -> PlannedDay:
    """Return the request of a day to a mechanism; the arguments are those of ``make_plan``."""
    with warehouse.connect(config) as connection:
        if warehouse.rows(connection, "checks/prepared_otherwise", prepared_by(date, config)):
            raise HexveilError(f"{date} was last prepared with other settings; run the day again")
        cells = warehouse.frame(connection, "read/occupancy_cells", {"date": date})
        user_ids = warehouse.frame(connection, "read/day_users", {"date": date})["user_id"].to_list()
        pairs = warehouse.frame(connection, "read/occupancy_pairs", {"date": date})
    entries = read_entries(config)
    keys = known_users(config, entries)
    cell, user, n_records = (pairs[name].to_numpy() for name in ("cell", "user_number", "n_records"))
    occupancy = Occupancy(cell, user, n_records, cells.height, len(user_ids))
    user_hashes = keys.users(user_ids)
    budgets = (account or Account(entries, config)).may_lose(date, user_hashes)
    cells = kind_of(config).with_facts(cells, config)
    return PlannedDay.of(cells, user_hashes, occupancy, budgets, config)
