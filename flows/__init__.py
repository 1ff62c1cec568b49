"""Runs the tasks: for a day, a range of days, a check of the ledger; has their Prefect flows and the command line.

What holds for a whole process is set here, because this is imported before all else.
"""

import atexit
import gc
import os

# Files and folders that engines create are not to be written by others, whatever was set where this was started.
os.umask(os.umask(0o022) | 0o022)

# Threads of OpenBLAS wait for each other by spinning: where another process has a core, a day takes five times as long.
if "OMP_NUM_THREADS" not in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A command imports half a million objects that stay. To look for garbage among them takes a quarter of its start, and
# half a second at its end.
gc.set_threshold(50_000)
atexit.register(gc.freeze)
