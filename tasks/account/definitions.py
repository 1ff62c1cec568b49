"""The definition of privacy that the account counts in. It never changes: losses of two definitions do not add up."""

from dpmath.core.currency import Currency
from tasks.account.chain import spendings
from tasks.account.entry import Entry, Spending
from tasks.base.config import Config
from tasks.base.errors import HexveilError
from tasks.base.owner import Spender


def currency_in_force(entries: list[Entry]) -> Currency | None:
    """Return what the ledger counts losses in; None if nothing was charged yet."""
    return next((entry.currency for entry in spendings(entries)), None)


def definition_refusal(entries: list[Entry], config: Spender) -> str | None:
    """Return why the configuration's losses cannot be added to the ledger's; None if they can."""
    before, now = currency_in_force(entries), config.privacy.currency
    if before is None or before == now:
        return None
    return (
        f"the ledger counts losses in {_counted_in(before)}, and the configuration in {_counted_in(now)}. Losses that "
        "are counted in two ways do not add up, so a dataset with releases keeps its way. Write in [privacy]: "
        f"{_written(before)}"
    )


def as_counted(entries: list[Entry], config: Config) -> Config:
    """Return the configuration with the definition that the ledger counts in, to look at the account."""
    currency = currency_in_force(entries) or config.privacy.currency
    counted = {"definition": currency.name, "delta": currency.delta}
    return config.model_copy(update={"privacy": config.privacy.model_copy(update=counted)})


def check_definition(entries: list[Entry], config: Spender) -> None:
    """Check that the configuration counts losses as the ledger does.

    Raises:
        HexveilError: It does not.
    """
    problem = definition_refusal(entries, config)
    if problem is not None:
        raise HexveilError(problem)


def problem_with_definition(entry: Entry, before: list[Entry]) -> str | None:
    """Return what is wrong with the definition of an entry that follows others; None if nothing."""
    if isinstance(entry, Spending) and currency_in_force(before) not in (None, entry.currency):
        return "its losses are counted by another definition or delta than those before it"
    return None


def _counted_in(currency: Currency) -> str:
    return currency.short if currency.delta is None else f"{currency.short} at delta {currency.delta:f}"


def _written(currency: Currency) -> str:
    """Return the lines of a configuration that say a definition."""
    delta = "" if currency.delta is None else f" and delta = {currency.delta:f}"
    return f'definition = "{currency.name}"{delta}'
