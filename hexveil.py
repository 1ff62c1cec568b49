"""Starts hexveil with its own packages: the command line, or the flows for Prefect.

`dpmath`, `flows`, `sql` and `tasks` are names that other projects use too. So a wheel has them in a folder
`hexveil.packages` beside this file, where nothing else is installed and nobody finds them by chance. They are imported
by their short names, because this module puts that folder first on the path of its process.
"""

import sys
from pathlib import Path
from typing import Any

_INSTALLED = Path(__file__).resolve().with_name("hexveil.packages")
FOLDER = _INSTALLED if _INSTALLED.is_dir() else _INSTALLED.parent
"""Where the packages and `deploy` are: in a wheel a folder of their own, otherwise the checkout."""

_PACKAGES = ("dpmath", "flows", "sql", "tasks")
_FLOWS = ("backfill", "collect", "collect_backfill", "daily", "verify")


def main() -> None:
    """Run the command line."""
    try:
        use_own_packages()
    except ImportError as error:
        sys.exit(f"hexveil: {error}")
    from flows.cli import main as run

    run()


def use_own_packages() -> None:
    """Let `import tasks` and the like find the packages of hexveil, whatever else has these names.

    Raises:
        ImportError: Another package of such a name is in use in this process already.
    """
    _come_first()
    for name in _PACKAGES:
        loaded = sys.modules.get(name)
        place = getattr(loaded, "__file__", None)
        if loaded is not None and Path(place or "").resolve() != FOLDER / name / "__init__.py":
            raise ImportError(
                f"this process has loaded another package `{name}`, from {place or 'a folder without __init__.py'}; "
                "install hexveil in an environment of its own, or import hexveil before that package"
            )


def __getattr__(name: str) -> Any:
    """Return `ask`, or a flow by its name. Prefect is imported for flows only, because it takes seconds."""
    if name == "ask":
        use_own_packages()
        from tasks.answers.ask import ask_for_table

        return ask_for_table
    if name not in _FLOWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    use_own_packages()
    from flows import deployed

    return getattr(deployed, name)


def _come_first() -> None:
    if sys.path[0] != str(FOLDER):
        sys.path.insert(0, str(FOLDER))


_come_first()  # a Dask worker that preloads this module finds the steps
