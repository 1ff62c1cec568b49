"""Power cuts: the operations on files of a run are recorded, and the states made that a cut may leave of them.

A killed process loses nothing that it wrote; a power cut loses what was not flushed. Two models say what may be left.
In the *journal* model, that of ext4, changes of folders are kept in their order, and any flush keeps all before it. In
the *weak* model each change of a folder is kept or lost for itself until that folder is flushed. In both, the content
of a file that was not flushed may be the old one, the new one, a part of it, or zeros.
"""

import itertools
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

Model = Literal["journal", "weak"]
MODELS: tuple[Model, ...] = ("journal", "weak")
State = dict[str, bytes | None]
"""The content of each file by its path; None for a folder."""

_WATCHED = (
    "fsync",
    "write",
    "replace",
    "rename",
    "link",
    "unlink",
    "remove",
    "mkdir",
    "rmdir",
    "ftruncate",
    "truncate",
)
OF_ENGINE = (".duckdb", ".wal")
"""The engine flushes its own files, so they are as they were, or lost."""
SHARE_WITHOUT_ENGINE = 0.2
_FEWEST_ENGINES = 4
"""From so many contents of the engine's files at least, if there are as many."""
N_CONTENTS = 3
"""How often it is drawn what is left of the contents that were not flushed."""


@dataclass(frozen=True)
class Change:
    """One event.

    Attributes:
        kind: "enter" gives a name in a folder to a file or folder, "leave" takes it away, "move" does both at once;
            "data" is new content of a file; "flush" is that of a file or folder.
        node: Which file or folder.
        folder: In which folder the name is.
        name: The name.
        before: Of a move: the name before.
        content: Of data.
    """

    kind: Literal["enter", "leave", "move", "data", "flush"]
    node: int
    folder: int = 0
    name: str = ""
    before: str = ""
    content: bytes = b""


class Recorder:
    """Records changes below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changes: list[Change] = []
        self.is_folder: dict[int, bool] = {0: True}
        self.is_engines: set[int] = set()
        self._nodes: dict[int, int] = {}
        self._names: dict[tuple[int, str], int] = {}
        self._versions: dict[int, tuple[int, int]] = {}
        self._numbers = itertools.count(1)
        self.look()
        self.changes = [*self.changes, *(Change("flush", node) for node in self.is_folder)]
        self.n_before = len(self.changes)

    def look(self) -> None:
        """Note what changed since the last look."""
        names: dict[tuple[int, str], int] = {}
        contents: list[tuple[int, Path, tuple[int, int]]] = []
        inodes: set[int] = set()

        def walk(folder: Path, node: int) -> None:
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                stat = entry.stat(follow_symlinks=False)
                one = self._nodes.get(stat.st_ino)
                if one is None or self.is_folder[one] != entry.is_dir():
                    one = self._nodes[stat.st_ino] = next(self._numbers)
                    self.is_folder[one] = entry.is_dir()
                inodes.add(stat.st_ino)
                names[node, entry.name] = one
                if entry.is_dir():
                    walk(Path(entry.path), one)
                elif entry.name.endswith(OF_ENGINE):
                    self.is_engines.add(one)
                contents.append((one, Path(entry.path), (stat.st_size, stat.st_mtime_ns)))

        walk(self.root, 0)
        self._nodes = {inode: node for inode, node in self._nodes.items() if inode in inodes}
        gone = {key: node for key, node in self._names.items() if names.get(key) != node}
        came = {key: node for key, node in names.items() if self._names.get(key) != node}
        for (folder, name), node in came.items():
            moved = next((key for key, one in gone.items() if one == node and key[0] == folder), None)
            if moved is not None:
                del gone[moved]
                self.changes.append(Change("move", node, folder, name, moved[1]))
            else:
                self.changes.append(Change("enter", node, folder, name))
            gone.pop((folder, name), None)  # another file took the name
        self.changes += [Change("leave", node, folder, name) for (folder, name), node in gone.items()]
        for node, path, version in contents:
            if not self.is_folder[node] and self._versions.get(node) != version:
                self._versions[node] = version
                self.changes.append(Change("data", node, content=path.read_bytes()))
        self._names = names

    def flushed(self, descriptor: int) -> None:
        """Note that a file or folder was flushed."""
        status = os.fstat(descriptor)
        node = 0 if os.path.samestat(status, self.root.stat()) else self._nodes.get(status.st_ino)
        if node is not None:
            self.changes.append(Change("flush", node))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record all changes in the block."""
        with pytest.MonkeyPatch.context() as patch:
            for name in _WATCHED:
                patch.setattr(os, name, self._watched(name, getattr(os, name)))
            yield
        self.look()

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            self.look()
            done = real(*arguments, **options)
            self.look()
            if name == "fsync":
                self.flushed(arguments[0])
            return done

        return watched


@dataclass
class _Disk:
    """What is surely on the disk, and what may be."""

    entries: dict[tuple[int, str], int] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)
    kept: dict[int, bytes] = field(default_factory=dict)
    written: dict[int, bytes] = field(default_factory=dict)

    def apply(self, change: Change) -> None:
        """Put a change of a folder onto the disk."""
        if change.kind == "move":
            self.entries.pop((change.folder, change.before), None)
        if change.kind == "leave":
            self.entries.pop((change.folder, change.name), None)
        else:
            self.entries[change.folder, change.name] = change.node

    def flush(self, change: Change, is_folder: bool, model: Model) -> None:
        """Put all onto the disk that a flush keeps."""
        keeps = [one for one in self.pending if model == "journal" or one.folder == change.node]
        self.pending = [one for one in self.pending if one not in keeps]
        for one in keeps:
            self.apply(one)
        if not is_folder and change.node in self.written:
            self.kept[change.node] = self.written.pop(change.node)


def visible(recorder: Recorder, n_changes: int) -> State:
    """Return what anybody could read after so many changes."""
    disk = _Disk()
    for change in recorder.changes[:n_changes]:
        if change.kind == "data":
            disk.kept[change.node] = change.content
        elif change.kind != "flush":
            disk.apply(change)
    return _state(disk, disk.kept, recorder)


@dataclass(frozen=True)
class Cut:
    """A power cut.

    Attributes:
        model: What may be lost.
        n_changes: After how many changes.
        state: What it left.
    """

    model: Model
    n_changes: int
    state: State


def cuts(recorder: Recorder, most: int, rng: random.Random) -> list[Cut]:
    """Return cuts at any moments of a run, no two of which leave the same and no more than so many.

    Of cuts that leave the same it is the last one: most had been seen by then, and none of it may be another after.
    """
    found: dict[int, Cut] = {}
    for moments in zip(*(_disks(recorder, model) for model in MODELS), strict=True):
        for model, (n_changes, disk) in zip(MODELS, moments, strict=True):
            for state in _states(recorder, disk, model, rng):
                found[hash(frozenset(state.items()))] = Cut(model, n_changes, state)
    return _sample([*found.values()], most, rng)


def _sample(found: list[Cut], most: int, rng: random.Random) -> list[Cut]:
    """Return so many of some cuts, and if there are more, from few contents of the engine's files.

    What is done with the same contents need be done once; another run of a test draws others.
    """
    groups = defaultdict[int, list[Cut]](list)
    for cut in rng.sample(found, len(found)):
        groups[hash(frozenset(item for item in cut.state.items() if item[0].endswith(OF_ENGINE)))].append(cut)
    of_each = -(-most // _FEWEST_ENGINES)
    some = [cut for group in groups.values() for cut in group[:of_each]]
    others = [cut for group in groups.values() for cut in group[of_each:]]
    return [*some, *others][:most]


def left_at_the_end(recorder: Recorder) -> list[State]:
    """Return what a cut may leave that comes when the run has said that it is done."""
    rng = random.Random(0)
    return [state for model in MODELS for state in _states(recorder, [*_disks(recorder, model)][-1][1], model, rng)]


def _disks(recorder: Recorder, model: Model) -> Iterator[tuple[int, _Disk]]:
    """Yield the disk after each number of changes of a run: one that goes on with the next."""
    disk = _Disk()
    for number, change in enumerate(recorder.changes):
        if number >= recorder.n_before:
            yield number, disk
        if change.kind == "data":
            is_engines = change.node in recorder.is_engines
            (disk.kept if is_engines else disk.written)[change.node] = change.content
        elif change.kind == "flush":
            disk.flush(change, recorder.is_folder[change.node], model)
        else:
            disk.pending.append(change)
    yield len(recorder.changes), disk


def _states(recorder: Recorder, disk: _Disk, model: Model, rng: random.Random) -> Iterator[State]:
    """Yield states that a cut may leave of a disk."""
    for kept in _choices(len(disk.pending), model, rng):
        made = _Disk(dict(disk.entries))
        for change, is_kept in zip(disk.pending, kept, strict=True):
            if is_kept:
                made.apply(change)
        for _ in range(N_CONTENTS if disk.written else 1):
            torn = {node: rng.choice(_torn(disk.kept.get(node, b""), new)) for node, new in disk.written.items()}
            state = _state(made, disk.kept | torn, recorder)
            yield state
            if rng.random() < SHARE_WITHOUT_ENGINE:
                lost = rng.choice([(".wal",), (".duckdb",), OF_ENGINE])
                yield {name: content for name, content in state.items() if not name.endswith(lost)}


def _choices(n: int, model: Model, rng: random.Random) -> list[tuple[bool, ...]]:
    """Return which of n changes are kept, in some ways."""
    if model == "journal":
        return [tuple(place < kept for place in range(n)) for kept in range(n + 1)]
    if n <= 3:
        return list(itertools.product((False, True), repeat=n))
    one_lost = [tuple(place != lost for place in range(n)) for lost in range(n)]
    one_kept = [tuple(place == kept for place in range(n)) for kept in range(n)]
    others = [tuple(rng.random() < 0.5 for _ in range(n)) for _ in range(n)]
    return [(False,) * n, (True,) * n, *one_lost, *one_kept, *others]


def _torn(old: bytes, new: bytes) -> list[bytes]:
    """Return what may be there of a content that was not flushed."""
    start = len(old) if new.startswith(old) else 0
    middle = start + (len(new) - start) // 2
    return [old, new, new[:middle], new[:start] + bytes(len(new) - start), new[:middle] + bytes(len(new) - middle)]


def _state(disk: _Disk, data: dict[int, bytes], recorder: Recorder) -> State:
    found: State = {}

    def walk(folder: int, path: str) -> None:
        for (parent, name), node in disk.entries.items():
            if parent == folder:
                found[path + name] = None if recorder.is_folder[node] else data.get(node, b"")
                if recorder.is_folder[node]:
                    walk(node, f"{path}{name}/")

    walk(0, "")
    return found


def write(state: State, folder: Path, times: dict[str, int] | None = None) -> None:
    """Make a folder be in a state; what has a time gets it."""
    folder.mkdir(parents=True)
    for name, content in sorted(state.items()):
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
            if times and name in times:
                os.utime(folder / name, ns=(times[name], times[name]))
