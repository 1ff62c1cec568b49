"""The commands about the ledger: `hexveil ledger ...`."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import collect_cli, presence_cli, show
from flows.options import ConfigOption, JsonOption
from flows.owners import is_collection, is_presence, load_either, load_spender
from flows.show import out
from tasks.base.config import load_config
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.base.storage import can_write, check_there

if TYPE_CHECKING:
    from flows.collect_cli import VerifiedCollection
    from flows.presence_cli import VerifiedPresence
    from tasks.upkeep.verify import Verified

ledger_app = typer.Typer(help="Look at, check, export or amend the account of what was released.", no_args_is_help=True)


@ledger_app.command("show")
def ledger_show(config: ConfigOption, as_json: JsonOption = False) -> None:
    """List every release and its cost for the worst user, the distribution of losses over users, and what is left."""
    from tasks.account.amendments import amendments
    from tasks.account.definitions import as_counted, definition_refusal
    from tasks.account.ledger import list_entries
    from tasks.reporting.budget_report import report_budget

    for is_of, commands in ((is_collection, collect_cli), (is_presence, presence_cli)):
        if is_of(config):
            commands.show_ledger(config, as_json)
            return
    settings = load_config(config)
    entries = list_entries(settings)
    counted = as_counted(entries, settings)
    budget, refused = report_budget(entries, counted), definition_refusal(entries, settings)
    if as_json:
        limit, stated = settings.public_settings()["budget"], [entry.stated for entry in entries]
        show.print_json({"entries": stated, "limit": limit, "budget": asdict(budget), "refused": refused})
        return
    show.show_ledger(entries, amendments(entries), budget, counted)
    if refused is not None:
        out.print(f"\nNothing can be released now: {refused}", markup=False)


@ledger_app.command("verify")
def ledger_verify(
    config: ConfigOption,
    expect: Annotated[
        str | None,
        typer.Option(
            "--expect", help="File of a head that was noted, or NUMBER:HASH of a line: it must still be there."
        ),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option(
            "--public-key", help="With --expect: the owner's public key (PEM) that must have signed the head."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute every hash, every sum, and every loss from its stored plan, and compare the published files."""
    try:
        verified = _verified(config, expect, public_key)
    except LedgerBroken as error:
        if as_json:
            show.print_json({"verified": False, "problem": str(error)})
        raise
    words, read_only = verified.in_words, not can_write(load_either(config).storage_path)
    if read_only:
        words += " The storage can only be read here, so nothing was written: neither locks nor private/errors.log."
    result = {"verified": True, **verified._asdict(), "read_only": read_only, "in_words": words}
    show.print_json(result) if as_json else out.print(words)


def _verified(
    config: Path, expect: str | None, public_key: Path | None
) -> "Verified | VerifiedCollection | VerifiedPresence":
    from tasks.account.anchors import check_anchor
    from tasks.upkeep.verify import verify_ledger

    if public_key is not None and expect is None:
        raise HexveilError("--public-key is for a head that was noted: give it with --expect")
    check_there(load_either(config))
    if is_collection(config):
        if expect is not None:
            raise HexveilError("--expect is for the ledger of a dataset; a collection's has nothing that is spent")
        return collect_cli.verified_ledger(config)
    if is_presence(config):
        return presence_cli.verified_ledger(config, expect, public_key)
    settings = load_config(config)
    if expect is not None:
        check_anchor(expect, settings, public_key)
    return verify_ledger(settings)


@ledger_app.command("head")
def ledger_head(
    config: ConfigOption,
    key: Annotated[
        Path | None, typer.Option("--key", help="The owner's private key (Ed25519, PEM), to sign the checkpoint with.")
    ] = None,
) -> None:
    """Print a checkpoint of all lines (C2SP); store it where nobody on this machine can change it."""
    from tasks.account import anchors

    owner = load_spender(config)
    check_there(owner)
    sys.stdout.write(anchors.ledger_head(owner, key))


@ledger_app.command("export")
def ledger_export(config: ConfigOption) -> None:
    """Check the ledger's chain, and print the ledger as JSON Lines; docs/reference/ledger.md says how to check it."""
    from tasks.account.ledger import export

    owner = load_spender(config)
    check_there(owner)
    sys.stdout.writelines(export(owner))


@ledger_app.command("amend-budget")
def ledger_amend_budget(
    config: ConfigOption,
    reason: Annotated[str, typer.Option("--reason", help="Why; it stands in the ledger, for anyone to read.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Put a looser [budget] in force, publicly and permanently; until then, nothing is released under it."""
    from tasks.account.amendments import amend_budget, in_words, proposed_amendment

    settings = load_spender(config)
    before, after = proposed_amendment(reason, settings)
    out.print(
        f"Any one user may lose, of {settings.dataset.name}:\n  now   {in_words(before)}\n  then  {in_words(after)}"
    )
    if not yes:
        typer.confirm("Let every user lose more, and say so in the ledger for good?", abort=True)
    entry = amend_budget(reason, settings)
    out.print(f"Entry {entry.number} of the ledger says so. Days can be run under the new budget now.")


@ledger_app.command("registry")
def ledger_registry(
    config: ConfigOption,
    to: Annotated[Path, typer.Option("--to", help="The folder to write registry.json and registry.md into.")] = Path(
        "registry"
    ),
) -> None:
    """Write what a privacy officer or a registry of deployments asks: the guarantee, its parameters, the total."""
    from tasks.account.ledger import list_entries
    from tasks.reporting.registry import write_registry

    if is_presence(config):
        presence_cli.write_registry(to, config)
        return
    settings = load_config(config)
    paths = write_registry(to, list_entries(settings), settings)
    out.print(f"Written: {', '.join(show.shown(path.resolve()) for path in paths)}.")
