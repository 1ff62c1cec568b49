"""Amend the budget: it can be loosened only by a public entry of the ledger that states a reason."""

from tasks.account import ledger
from tasks.account.changes import Amendment
from tasks.account.definitions import check_definition, definition_refusal
from tasks.account.entry import BUDGET, FORMAT, Entry, Stated
from tasks.account.witnesses import check_same_users
from tasks.base.config_sections import Budget
from tasks.base.errors import HexveilError, contained
from tasks.base.owner import Spender
from tasks.base.provenance import code_hash, now, versions

_LONGEST_REASON = 500


def budget_in_force(entries: list[Entry]) -> Budget | None:
    """Return the budget in force, which is that of the ledger's last entry; None if the ledger is empty."""
    return _budget(entries[-1].budget) if entries else None


def amendments(entries: list[Entry]) -> list[tuple[Amendment, Budget, Budget]]:
    """Return the amendments among the ledger's entries, each with the budget before it and its own budget."""
    found = [entry for entry in entries if isinstance(entry, Amendment)]
    return [(entry, _budget(entry.budget_before), _budget(entry.budget)) for entry in found]


def amendments_in_words(entries: list[Entry]) -> list[str]:
    """Return when the budget was loosened, how, and why."""
    return [
        f"{entry.committed_at:%Y-%m-%d}: the budget was loosened from {before.in_words} to {after.in_words}: "
        f"{entry.reason}"
        for entry, before, after in amendments(entries)
    ]


def is_looser(after: Budget, before: Budget) -> bool:
    """Return whether users may lose more under one budget: its epsilon is larger, or its window is new or shorter."""
    if after.window_days is None:
        shorter = False
    else:
        shorter = before.window_days is None or after.window_days < before.window_days
    return shorter or after.epsilon_total > before.epsilon_total


def in_words(budget: Budget) -> str:
    """Return a budget as text for messages."""
    return f"epsilon {budget.in_words}" + ("" if budget.window_days else " over everything ever released")


def refusal(entries: list[Entry], config: Spender) -> str | None:
    """Return why nothing may be released under the configuration's definition and budget; None if it may."""
    other = definition_refusal(entries, config)
    if other is not None:
        return other
    before = budget_in_force(entries)
    if before is None or not is_looser(config.budget, before):
        return None
    return (
        f"[budget] is looser than the budget in force: {in_words(before)} before, {in_words(config.budget)} now. "
        "Restore it, or record publicly that users may lose more: hexveil ledger amend-budget "
        '--config FILE --reason "..."'
    )


def check_budget(entries: list[Entry], config: Spender) -> None:
    """Check that the configuration's definition is the ledger's, and its budget not looser than the one in force.

    Raises:
        HexveilError: The definition is another one, or the budget is looser and no amendment says so.
    """
    problem = refusal(entries, config)
    if problem is not None:
        raise HexveilError(problem)


@contained
def proposed_amendment(reason: str, config: Spender) -> tuple[Budget, Budget]:
    """Return the budget in force and the one that ``amend_budget`` would put in force; raises what it does."""
    return _checked(reason, ledger.read_entries(config), config)


@contained
def amend_budget(reason: str, config: Spender) -> Entry:
    """Put the configuration's looser budget in force by an entry of the ledger, and return the entry.

    Args:
        reason: Why users may lose more. It is public.
        config: Says the budget.

    Raises:
        HexveilError: There is no reason, nothing was released yet, or the budget is not looser than the one in force.
    """
    with ledger.locked(config):
        entries = ledger.read_entries(config)
        _checked(reason, entries, config)
        return ledger.append(
            {
                "kind": BUDGET,
                "format": FORMAT,
                "dataset": config.dataset.name,
                "budget_before": entries[-1].budget,
                "budget": config.public_settings()["budget"],
                "reason": reason.strip(),
                "code": code_hash(),
                "versions": versions(),
                "committed_at": now(),
            },
            entries,
            config,
        )


def problem_with_budget(entry: Entry, before: list[Entry]) -> str | None:
    """Return what is wrong with the budget of an entry that follows others; None if nothing."""
    in_force = budget_in_force(before)
    if isinstance(entry, Amendment):
        return _problem_with_amendment(entry, in_force, before)
    budget = budget_in_force([entry])
    if in_force is not None and budget is not None and is_looser(budget, in_force):
        return f"its budget is looser than the one in force, {in_words(in_force)}, and no amendment says so"
    return None


def _problem_with_amendment(entry: Amendment, in_force: Budget | None, before: list[Entry]) -> str | None:
    if in_force is None:
        return "it amends a budget, though nothing was released before it"
    if entry.budget_before != before[-1].budget:
        return f"budget_before is not the budget in force, {in_words(in_force)}"
    if not is_looser(_budget(entry.budget), in_force):
        return "its budget is not looser than the one in force, which needs no amendment"
    wrong = entry.dataset != before[-1].dataset or not entry.reason.strip()
    return "it is of another dataset, or gives no reason" if wrong else None


def _checked(reason: str, entries: list[Entry], config: Spender) -> tuple[Budget, Budget]:
    before = budget_in_force(entries)
    _check_reason(reason)
    if before is None:
        raise HexveilError("nothing was released yet, so no budget is in force; set [budget] and run a day")
    check_same_users(entries, config)
    check_definition(entries, config)
    if not is_looser(config.budget, before):
        raise HexveilError(
            f"[budget] is not looser than the budget in force: {in_words(before)} before, {in_words(config.budget)} "
            "now. A tighter one needs no amendment: the next release puts it in force"
        )
    return before, config.budget


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise HexveilError("give a reason why users may lose more: --reason TEXT. It is public in the ledger")
    if not reason.isprintable() or len(reason) > _LONGEST_REASON:
        raise HexveilError(f"the reason must be one line of at most {_LONGEST_REASON} printable characters")


def _budget(stated: Stated) -> Budget:
    return Budget.model_validate(stated, strict=False)
