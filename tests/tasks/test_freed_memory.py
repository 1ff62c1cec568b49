"""Freed memory: a process that keeps it need not have it cleared again."""

import subprocess
import sys

import pytest

from tasks.base.freed_memory import keep_freed_memory

_PROGRAM = """
import resource, sys
import numpy as np
from tasks.base.freed_memory import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "kept":
    keep_freed_memory()
np.ones(8_000_000)
before = faults()
for _ in range(20):
    np.ones(8_000_000)
print(faults() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only some C libraries can be told")
def test_what_was_freed_is_used_again_without_being_cleared() -> None:
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, check=True).stdout)
        for how in ("kept", "given back")
    )
    assert kept < given_back / 10


def test_a_library_that_cannot_be_told_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    keep_freed_memory.__wrapped__()
