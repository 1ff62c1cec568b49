"""Convert the account from pure epsilon to zCDP: once, by an entry of the ledger, from the stored plans."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

import polars as pl

from dpmath.core.currency import Currency
from tasks.account import ledger, private_files
from tasks.account.amendments import budget_in_force, checked_reason, in_words, is_looser
from tasks.account.budgets import Account, Losses
from tasks.account.chain import charges
from tasks.account.changes import Conversion
from tasks.account.definitions import currency_in_force
from tasks.account.entry import DEFINITION, FORMAT, Entry, Stated
from tasks.account.stopped import Stopped
from tasks.account.witnesses import check_same_users
from tasks.base import durable, frames
from tasks.base.config import Config
from tasks.base.errors import HexveilError, contained
from tasks.base.progress import progress
from tasks.base.provenance import code_hash, now, versions
from tasks.kinds.table import load_plan
from tasks.release.statement import describe_account
from tasks.upkeep.recompute import recomputed_charges, recomputed_losses

_LARGEST_LOSS = 10**37
"""What a column of exact integers holds, with room for sums."""


@contained
def proposed_conversion(reason: str, config: Config) -> dict[str, Any]:
    """Return what ``convert_ledger`` would state of the account, before and after; raises what it does."""
    entries = ledger.read_entries(config)
    _check(entries, config)
    checked_reason(reason, "why the definition of privacy changes")
    return _stated(entries, _account(entries, _losses_in(config.privacy.currency, entries, config), config), config)


@contained
def convert_ledger(reason: str, config: Config, confirmed: Stated | None = None) -> Entry:
    """Change the account to the configuration's definition, zCDP, and return the entry that says so.

    The losses of every earlier release are computed again from its stored plan, and written to files of their own. From
    the entry on they count instead of the old ones. Nothing is drawn, and nothing that was published changes.

    Args:
        reason: Why the definition changes. It is public.
        config: Says definition, delta and budget.
        confirmed: What ``proposed_conversion`` returned, if somebody agreed to that.

    Raises:
        HexveilError: The account is not what was agreed to any more, there is no reason, nothing was released yet, the
            account is in zCDP already, or the configuration says pure epsilon or a looser budget.
    """
    with ledger.locked(config):
        entries = ledger.read_entries(config)
        _check(entries, config)
        reason = checked_reason(reason, "why the definition of privacy changes")
        losses = _losses_in(config.privacy.currency, entries, config)
        folder = private_files.plans(config)
        account = _account(entries, losses, config)
        stated = _stated(entries, account, config)
        if confirmed not in (None, stated):
            raise HexveilError("a release was made since the account was shown; look at it again")
        files = {release_id: frames.write_frame(folder, _frame(one)) for release_id, one in losses.items()}
        frames.write_json(private_files.totals(config), dict(account.total))
        return ledger.append(
            {
                "kind": DEFINITION,
                "format": FORMAT,
                "dataset": config.dataset.name,
                **stated,
                "losses": files,
                "reason": reason,
                "code": code_hash(),
                "versions": versions(),
                "committed_at": now(),
            },
            entries,
            config,
        )


def problem_with_conversion(
    entry: Conversion, before: list[Entry], account: Account, settings: Config, config: Config
) -> str | None:
    """Return what in a conversion disagrees with the stored plans; None if nothing. Converts ``account``.

    Args:
        entry: The conversion.
        before: The entries before it.
        account: The account up to it. It is changed to the new definition.
        settings: The configuration with the definition and the budget of the entry.
        config: Says where the files are.
    """
    losses = _losses_in(entry.currency, before, config)
    account.restart(settings, _by_date(before, losses))
    folder = private_files.plans(config)
    if any(private_files.read_losses(folder, entry.losses[release_id]) != one for release_id, one in losses.items()):
        return "the stored losses are not those of the plans"
    expected = _stated(before, account, settings)
    wrong = [key for key, value in expected.items() if entry.stated.get(key) != value]
    return f"{wrong[0]} is not what the plans give" if wrong else None


def _check(entries: list[Entry], config: Config) -> None:
    before, budget = currency_in_force(entries), budget_in_force(entries)
    if before is None or budget is None:
        raise HexveilError('nothing was released yet: set privacy.definition = "zcdp" and run a day')
    if before.name != "pure":
        raise HexveilError("the ledger counts losses in zCDP already; there is no way back, and no second conversion")
    if config.privacy.currency.name == "pure":
        raise HexveilError('set privacy.definition = "zcdp" in the configuration first, and privacy.delta')
    check_same_users(entries, config)
    if is_looser(config.budget, budget):
        raise HexveilError(
            f"[budget] is looser than the budget in force: {in_words(budget)} before, {in_words(config.budget)} now. "
            "Restore it for the conversion; afterwards, hexveil ledger amend-budget can loosen it"
        )


def _losses_in(currency: Currency, entries: list[Entry], config: Config) -> dict[str, Losses]:
    """Return what each release cost each user in a currency, from its stored plan, by release id."""
    losses: dict[str, Losses] = {}
    for entry in progress(charges(entries), "counting losses again"):
        plan, settings = load_plan(entry.plan, config), config.with_settings(entry.settings)
        recomputed = recomputed_charges if isinstance(entry, Stopped) else recomputed_losses
        one = recomputed(plan, settings, currency)
        if max(one.values()) > _LARGEST_LOSS:
            raise HexveilError(f"{entry.release_id} cost more than zCDP can count here: rho above a million")
        losses[entry.release_id] = one
    return losses


def _by_date(entries: list[Entry], losses: dict[str, Losses]) -> Iterable[tuple[dt.date, Losses]]:
    return [(entry.date, losses[entry.release_id]) for entry in charges(entries)]


def _account(entries: list[Entry], losses: dict[str, Losses], config: Config) -> Account:
    account = Account([], config)
    account.restart(config, _by_date(entries, losses))
    return account


def _stated(entries: list[Entry], account: Account, config: Config) -> Stated:
    """Return what a conversion states of the account before it, and of the one that is counted anew."""
    released = charges(entries)
    tomorrow = max(entry.date for entry in released) + dt.timedelta(days=1)
    used = max(account.used(tomorrow).values(), default=0)
    return {
        "definition_before": "pure",
        "epsilon_total_before": format(released[-1].epsilon_total_after, "f"),
        "budget": config.public_settings()["budget"],
        "totals": durable.sha256(durable.canonical_json(dict(account.total))),
        **describe_account(max(account.total.values()), used, config),
    }


def _frame(losses: Losses) -> pl.DataFrame:
    users = sorted(losses)
    return pl.DataFrame({"user_hash": users, "loss_units": frames.exact_series(losses[user] for user in users)})
