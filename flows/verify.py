"""The verify run: compares the ledger with the plans and the published files."""

from pathlib import Path

from flows import collect, presence
from flows.owners import is_collection, is_presence
from tasks.base.config import load_config
from tasks.reporting.artifacts import check_ledger, make_budget_artifact


def verify(config_file: Path) -> None:
    """Recompute every hash, every loss and every sum of the ledger, and compare the published files.

    Args:
        config_file: The TOML file of a dataset or a collection.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what; the event hexveil.verify.failed does too.
    """
    if is_collection(config_file):
        collect.verify(config_file)
        return
    if is_presence(config_file):
        presence.verify(config_file)
        return
    config = load_config(config_file)
    check_ledger(config)
    make_budget_artifact(config)
