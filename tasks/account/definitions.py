"""The definition of privacy that the account counts in: which one is in force, and which files hold its losses."""

from dpmath.core.currency import Currency
from tasks.account.chain import charges
from tasks.account.changes import Conversion, problem_with_change
from tasks.account.entry import Charge, Entry
from tasks.base.config import Config
from tasks.base.errors import HexveilError


def currency_in_force(entries: list[Entry]) -> Currency | None:
    """Return what the ledger's last charge or conversion counts losses in; None if there is none."""
    return next((entry.currency for entry in reversed(entries) if isinstance(entry, Charge | Conversion)), None)


def definition_refusal(entries: list[Entry], config: Config) -> str | None:
    """Return why the configuration's losses cannot be added to the ledger's; None if they can."""
    before, now = currency_in_force(entries), config.privacy.currency
    if before is None or before == now:
        return None
    if before.name == now.name:
        return (
            f"the ledger counts losses at delta {before.delta:f}, and the configuration says {now.delta:f}: it never "
            "changes. Restore privacy.delta"
        )
    if now.name == "pure":
        return (
            "the ledger counts losses in zCDP, and the configuration in pure epsilon: there is no way back. Restore "
            f'privacy.definition = "zcdp" and privacy.delta = {before.delta:f}'
        )
    return (
        "the ledger counts losses in pure epsilon, and the configuration in zCDP. Restore privacy.definition, or "
        'change the account once and for good: hexveil ledger convert --config FILE --reason "..."'
    )


def as_counted(entries: list[Entry], config: Config) -> Config:
    """Return the configuration with the definition that the ledger counts in, to look at the account."""
    currency = currency_in_force(entries) or config.privacy.currency
    counted = {"definition": currency.name, "delta": currency.delta}
    return config.model_copy(update={"privacy": config.privacy.model_copy(update=counted)})


def check_definition(entries: list[Entry], config: Config) -> None:
    """Check that the configuration counts losses as the ledger does.

    Raises:
        HexveilError: It does not.
    """
    problem = definition_refusal(entries, config)
    if problem is not None:
        raise HexveilError(problem)


def problem_with_definition(entry: Entry, before: list[Entry]) -> str | None:
    """Return what is wrong with the definition of an entry that follows others; None if nothing."""
    in_force = currency_in_force(before)
    if isinstance(entry, Conversion):
        if in_force is None or in_force.name != "pure" or entry.currency.name != "zcdp":
            return "it changes the definition of privacy other than once, from pure epsilon to zCDP"
        if entry.losses.keys() != {one.release_id for one in charges(before)}:
            return "it does not state the losses of every release before it"
        return problem_with_change(entry, before)
    if isinstance(entry, Charge) and in_force not in (None, entry.currency):
        return "its losses are counted by another definition or delta than those before it"
    return None


def loss_files(entries: list[Entry]) -> dict[str, str]:
    """Return the hash of the file of losses that counts for each release and stopped day, by release id.

    After a conversion these are the files that the conversion names.
    """
    files: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, Charge):
            files[entry.release_id] = entry.losses
        elif isinstance(entry, Conversion):
            files |= entry.losses
    return files


def totals_file(entries: list[Entry]) -> str | None:
    """Return the hash of the file of every user's loss in total; None if nothing was released."""
    return next((entry.totals for entry in reversed(entries) if isinstance(entry, Charge | Conversion)), None)
