"""What a process and those it started do: where they listen, and whether they are still there."""

import os
from contextlib import suppress
from pathlib import Path

_LISTENING = "0A"


def listening(pid: int) -> set[int]:
    """Return the ports at which a process, or one that it started, lets others connect."""
    ports: dict[str, int] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == _LISTENING:
                ports[f"socket:[{inode}]"] = int(local.split(":")[1], 16)
    return {ports[name] for one in family(pid) for name in _open(one) if name in ports}


def family(pid: int) -> list[int]:
    """Return a process and all that it started, directly or not."""
    found = [pid]
    for one in found:
        with suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def alive_in_group(group: int) -> list[int]:
    """Return the processes of a group that are not only waited for."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if os.getpgid(int(folder.name)) == group and state != "Z":
                found.append(int(folder.name))
    return found


def _open(pid: int) -> list[str]:
    found = []
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        with suppress(OSError):
            found.append(str(link.readlink()))
    return found
