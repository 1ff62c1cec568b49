"""The verify run: compares the ledger with the plans and the published files."""

from pathlib import Path

from tasks.base.config import load_config
from tasks.reporting.artifacts import check_ledger, make_budget_artifact


def verify(config_file: Path) -> None:
    """Recompute every hash, every loss and every sum of the ledger, and compare the published files.

    Args:
        config_file: The dataset's TOML file.

    Raises:
        LedgerBroken: Names the first entry that disagrees, and with what; the event hexveil.verify.failed does too.
    """
    config = load_config(config_file)
    check_ledger(config)
    make_budget_artifact(config)
