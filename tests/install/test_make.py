"""What make says before it installs anything."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
OLDER = """#!/bin/sh
exec {python} -c 'import sys; sys.version_info, sys.version = (3, 10, 4), "3.10.4 (main)"; exec(sys.argv[2])' "$@"
"""


def test_an_older_python_is_told_before_anything_is_installed(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python3.10"
    python.write_text(OLDER.format(python=sys.executable))
    python.chmod(0o755)
    done = subprocess.run(
        ["make", "demo", f"PYTHON={python}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"hexveil needs Python 3.11 or newer, and {python} is 3.10.4: install a newer one")
    assert not (tmp_path / ".venv").exists()
