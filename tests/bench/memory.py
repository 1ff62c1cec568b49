"""Peak memory: of this process since it was last forgotten, and of another process with all that it starts."""

import os
import re
import resource
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

_SAMPLE_SECONDS = 0.05


class Finished(NamedTuple):
    """A command that has ended well.

    Attributes:
        seconds: From its start to its end.
        cpu_seconds: Of it and the processes it started.
        peak_mib: The most that it and the processes it started held in memory at one time.
        output: What it printed.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float
    output: str


def forget_peak() -> None:
    """Let the peak of this process begin anew at what it holds now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float:
    """Return the most that this process held in memory since its start or since ``forget_peak``, in MiB."""
    return _field("self", "VmHWM")


def measured(command: list[str], environment: dict[str, str] | None = None, folder: Path | None = None) -> Finished:
    """Run a command to its end in a process of its own.

    One process's peak is read from the kernel and so exact; what several held together is sampled, because adding
    up their peaks would count what never was held at one time.

    Raises:
        subprocess.CalledProcessError: The command failed.
    """
    began, began_cpu = time.perf_counter(), _children_seconds()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | (environment or {}),
        cwd=folder,
    )
    highest = [0.0]
    watcher = threading.Thread(target=_watch, args=(process, highest))
    watcher.start()
    output, errors = process.communicate()
    seconds = time.perf_counter() - began
    watcher.join()
    if process.returncode:
        failure = subprocess.CalledProcessError(process.returncode, command, output, errors)
        failure.add_note(errors[-2000:])
        raise failure
    return Finished(seconds, _children_seconds() - began_cpu, highest[0], output)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watch(process: subprocess.Popen[str], highest: list[float]) -> None:
    while process.poll() is None:
        family = [str(process.pid), *_descendants(process.pid)]
        alone = _field(family[0], "VmHWM")
        together = sum(_field(one, "VmRSS") for one in family)
        highest[0] = max(highest[0], alone, together)
        time.sleep(_SAMPLE_SECONDS)


def _descendants(pid: int) -> list[str]:
    """Return the processes below one; some may end while they are looked up."""
    found = []
    try:
        for children in list(Path(f"/proc/{pid}/task").glob("*/children")):
            direct = children.read_text().split()
            found += direct + [one for child in direct for one in _descendants(int(child))]
    except OSError:
        pass
    return found


def _field(pid: str, name: str) -> float:
    """Return a number of ``/proc/PID/status`` in MiB, 0 for a process that is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0
