"""The command line in this process, which saves the seconds in which another one starts."""

import io
import logging
import os
import subprocess
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

import pytest
from support import Hexveil

from flows.cli import main

_AS_INSTALLED = Path(__file__).parents[1] / "bench" / "as_installed"
"""What no user installs is not found there: pandas alone takes half a second to import."""


def environment_of(home: Path) -> dict[str, str]:
    """Return the variables of a machine on which no server runs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    paths = [str(_AS_INSTALLED), *filter(None, [os.environ.get("PYTHONPATH")])]
    of_home = {"PREFECT_HOME": str(home), "HEXVEIL_HOME": str(home / "no-local")}
    return kept | of_home | {"COLUMNS": "200", "PYTHONPATH": os.pathsep.join(paths)}


def called_here(environment: dict[str, str]) -> Hexveil:
    """Return what runs the command line with some variables."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words, out, err, code = ["hexveil", *map(str, arguments)], io.StringIO(), io.StringIO(), 0
        with ExitStack() as surroundings:
            patched = surroundings.enter_context(pytest.MonkeyPatch.context())
            patched.setattr(sys, "argv", words)
            patched.setattr(sys, "stdin", io.StringIO())
            surroundings.callback(partial(_set_environment, os.environ.copy()))
            _set_environment(environment)
            patched.setattr(logging.getLogger("hexveil"), "handlers", [])
            surroundings.enter_context(redirect_stdout(out))
            surroundings.enter_context(redirect_stderr(err))
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


def _set_environment(environment: dict[str, str]) -> None:
    """Make the variables of this process those, in place: libraries hold on to the mapping."""
    os.environ.clear()
    os.environ.update(environment)
