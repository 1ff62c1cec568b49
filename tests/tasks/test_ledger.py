import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from insider import forged
from support import Dataset

from dpmath.core.accounting import LOSS_UNITS
from dpmath.core.currency import PURE
from tasks.account import chain, commit, ledger
from tasks.account.entry import Stated
from tasks.base.errors import HexveilError, LedgerBroken
from tasks.upkeep import verify


def entry(number: int) -> Stated:
    return {"release_id": f"release-{number}", "format": 4, "dataset": "test", "date": "2026-01-15", "files": {}}


def append(new: Stated, dataset: Dataset) -> None:
    ledger.append(new, ledger.read_entries(dataset.config), dataset.config)


@pytest.fixture
def written(dataset: Dataset) -> Dataset:
    (dataset.folder / "store").mkdir()
    for number in range(4):
        append(entry(number), dataset)
    return dataset


def lines_of(dataset: Dataset) -> list[bytes]:
    return ledger.ledger_path(dataset.config).read_bytes().splitlines(keepends=True)


def test_entries_come_back_in_order_numbered_and_chained(written: Dataset) -> None:
    entries = ledger.read_entries(written.config)
    assert [one.stated["number"] for one in entries] == [1, 2, 3, 4]
    assert [one.stated["previous_hash"] for one in entries] == [
        chain.NO_PREVIOUS,
        *(one.hash for one in entries[:-1]),
    ]


def test_a_release_is_never_appended_twice(written: Dataset) -> None:
    with pytest.raises(LedgerBroken, match="release-2 is in the ledger already"):
        append(entry(2), written)
    assert len(ledger.read_entries(written.config)) == 4


def test_a_stranger_can_check_an_entry_with_standard_tools(written: Dataset) -> None:
    import hashlib

    for line in lines_of(written):
        content = json.loads(line)
        claimed = content.pop("hash")
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        assert hashlib.sha256(canonical.encode()).hexdigest() == claimed


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: [lines[0], lines[1].replace(b"release-1", b"release-7"), *lines[2:]], 2),
        (lambda lines: [lines[1], lines[0], *lines[2:]], 1),
        (lambda lines: [lines[0], *lines[2:]], 2),
        (lambda lines: lines[1:], 1),
        (lambda lines: [*lines[:3], lines[3][:-20]], 4),
        (lambda lines: [*lines[:2], b"\n", *lines[2:]], 3),
        (lambda lines: [lines[0].replace(b",", b", "), *lines[1:]], 1),
        (lambda lines: [bytes([lines[0][0] ^ 4]) + lines[0][1:], *lines[1:]], 1),
        (lambda lines: [*lines, lines[3]], 5),
        (lambda lines: [*lines, b"3\n"], 5),
    ],
    ids=["changed", "swapped", "cut", "beheaded", "torn", "gap", "spaced", "flipped", "repeated", "number"],
)
def test_the_first_line_that_was_tampered_with_is_named(written: Dataset, damage, line: int) -> None:  # type: ignore[no-untyped-def]
    ledger.ledger_path(written.config).write_bytes(b"".join(damage(lines_of(written))))
    with pytest.raises(LedgerBroken, match=f"line {line} "):
        ledger.read_entries(written.config)
    with pytest.raises(LedgerBroken):
        append(entry(9), written)


def test_any_flipped_bit_is_noticed(written: Dataset) -> None:
    whole = b"".join(lines_of(written))
    for position in range(0, 8 * len(whole), 61):
        damaged = bytearray(whole)
        damaged[position // 8] ^= 1 << position % 8
        ledger.ledger_path(written.config).write_bytes(bytes(damaged))
        with pytest.raises(LedgerBroken):
            ledger.read_entries(written.config)


def test_an_append_that_fails_leaves_the_ledger_as_it_was(written: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lines_of(written)
    real_write = os.write

    def half(descriptor: int, line: bytes) -> int:
        return real_write(descriptor, line[: len(line) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match="No space left"):
        append(entry(9), written)
    assert lines_of(written) == before


APPEND_SOME = """
import sys
from pathlib import Path
from tasks.account import ledger
from tasks.base.config import load_config

config = load_config(Path(sys.argv[1]))
for number in range(20):
    with ledger.locked(config):
        new = {"release_id": f"{sys.argv[2]}-{number}", "format": 4, "dataset": "test", "files": {}}
        ledger.append(new, ledger.read_entries(config), config)
"""


def test_processes_that_append_at_once_take_turns(written: Dataset) -> None:
    hands = [
        subprocess.Popen([sys.executable, "-c", APPEND_SOME, str(written.config_file), str(hand)]) for hand in range(4)
    ]
    assert [hand.wait() for hand in hands] == [0] * 4
    entries = ledger.read_entries(written.config)
    assert len({one.stated["release_id"] for one in entries}) == len(entries) == 84


@given(st.integers(0, 1 << 90))
def test_losses_are_written_as_the_exact_decimal_they_are(units: int) -> None:
    assert Fraction(str(PURE.epsilon(units))) == Fraction(units, LOSS_UNITS)


def test_a_float_cannot_enter_the_ledger(written: Dataset) -> None:
    with pytest.raises(TypeError, match="canonical"):
        append(entry(9) | {"epsilon": [0.1]}, written)
    assert len(ledger.read_entries(written.config)) == 4


def test_a_clock_that_jumps_back_changes_no_order_and_no_account(
    busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_dataset.run_day()
    for module in ("statement", "draw"):
        monkeypatch.setattr(f"tasks.release.{module}.now", lambda: "1999-12-31T23:59:59+00:00")
    busy_dataset.run_day(revision="later")
    first, second = ledger.read_entries(busy_dataset.config)
    assert second.stated["committed_at"] < first.stated["committed_at"]
    assert second.stated["number"] == 2
    assert verify.verify_ledger(busy_dataset.config).n_releases == 2


def test_an_entry_counts_its_attempts(busy_dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(ledger, "append", lambda *_: 1 / 0)
        for _ in range(2):
            with pytest.raises(HexveilError, match="ZeroDivisionError"):
                busy_dataset.run_day()
    busy_dataset.run_day()
    assert ledger.read_entries(busy_dataset.config)[0].stated["attempt"] == 3


READ_ALWAYS = """
import sys
from pathlib import Path
from tasks.account import ledger
from tasks.upkeep import verify
from tasks.base.config import load_config

config = load_config(Path(sys.argv[1]))
print("reading", flush=True)
while len(ledger.read_entries(config)) < 150:
    pass
"""


@pytest.mark.slow
def test_a_reader_beside_a_writer_never_sees_a_ledger_that_is_cut(written: Dataset) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READ_ALWAYS, str(written.config_file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        reader.stdout.readline()
        entries = ledger.read_entries(written.config)
        for number in range(4, 150):
            entries.append(ledger.append(entry(number), entries, written.config))
        assert reader.wait() == 0, reader.stderr.read().decode()[-500:]


def test_an_entry_is_on_the_disk_before_its_append_is_acknowledged(
    written: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        flushed.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), len(lines_of(written))))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    append(entry(9), written)
    assert (str(ledger.ledger_path(written.config)), 5) in flushed


def test_a_last_line_that_lacks_its_end_alone_is_whole(written: Dataset) -> None:
    path, whole = ledger.ledger_path(written.config), b"".join(lines_of(written))
    for head_is_there in (True, False):
        path.write_bytes(whole[:-1])
        if not head_is_there:
            (path.parent / "private" / "ledger-head").unlink()
        with ledger.locked(written.config):
            assert path.read_bytes() == whole


@pytest.mark.parametrize("head_is_there", [True, False])
def test_a_torn_line_that_no_pending_entry_is_of_is_taken_away_and_kept_nowhere(
    written: Dataset, head_is_there: bool
) -> None:
    path, whole = ledger.ledger_path(written.config), b"".join(lines_of(written))
    torn = whole.splitlines(keepends=True)[-1][:-9].replace(b"release-3", b"release-4")
    path.write_bytes(whole + torn)
    if not head_is_there:
        (path.parent / "private" / "ledger-head").unlink()
    with path.open("rb") as opened_before, ledger.locked(written.config):
        assert opened_before.read() == whole, "the file is the same one, so that its bytes were written over"
    assert path.read_bytes() == whole
    assert all(b"release-4" not in one.read_bytes() for one in path.parent.rglob("*") if one.is_file())


def test_torn_bytes_are_written_over_before_they_are_cut(written: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    path, whole = ledger.ledger_path(written.config), b"".join(lines_of(written))
    path.write_bytes(whole + b'{"attempt":1,"files":{"statistics.csv":"abc')
    flushed = []
    real = os.fsync

    def watched(descriptor: int) -> None:
        flushed.append(path.read_bytes()[len(whole) :])
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    with ledger.locked(written.config):
        pass
    assert flushed == [bytes(43), b""]


def left_pending(dataset: Dataset, monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> Stated:
    """Append an entry in a process that dies after so many bytes of its line; return the entry."""

    class Killed(BaseException):
        pass

    def die(path: Path, line: bytes) -> None:
        with path.open("ab") as file:
            file.write(line[:n_bytes])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(commit, "append_line", die)
        with pytest.raises(Killed):
            append(entry(4) | {"files": {}}, dataset)
    return json.loads(commit.pending_path(dataset.config).read_bytes())


@pytest.mark.parametrize("n_bytes", [0, 1, 60, 180, -1, 10_000])
def test_an_append_that_was_cut_short_is_finished_by_whoever_comes_next(
    written: Dataset, monkeypatch: pytest.MonkeyPatch, n_bytes: int
) -> None:
    pending = left_pending(written, monkeypatch, n_bytes)
    assert commit.pending_path(written.config).stat().st_mode & 0o077 == 0
    with ledger.locked(written.config):
        assert [one.stated for one in ledger.read_entries(written.config)[4:]] == [pending]
    assert not commit.pending_path(written.config).exists()
    append(entry(5), written)
    assert len(ledger.read_entries(written.config)) == 6


def test_an_entry_that_a_full_disk_refused_is_finished_and_not_made_anew(
    written: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lines_of(written)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda _descriptor, _line: 7)
        with pytest.raises(OSError, match="No space left"):
            append(entry(4), written)
    assert lines_of(written) == before
    with ledger.locked(written.config):
        assert [one.stated["release_id"] for one in ledger.read_entries(written.config)][4:] == ["release-4"]


def test_an_entry_that_could_not_be_stored_first_was_never_told(
    written: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lines_of(written)
    with monkeypatch.context() as patch:
        patch.setattr("tasks.base.durable.Path.replace", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            append(entry(4), written)
    (written.folder / "store" / "private" / ".pending-entry.killed").write_bytes(b"a process killed before the rename")
    with ledger.locked(written.config):
        assert lines_of(written) == before
    assert {one.name for one in (written.folder / "store" / "private").iterdir()} == {"attempts", "ledger-head"}


def test_a_pending_entry_is_put_into_no_ledger_but_the_one_it_follows(
    written: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = b"".join(lines_of(written)[:2])
    left_pending(written, monkeypatch, 50)
    torn = ledger.ledger_path(written.config).read_bytes()
    other = forged(lines_of(written)[3], dataset="another")
    for content in (older, b"", b"".join(lines_of(written)[:3]) + other):
        ledger.ledger_path(written.config).write_bytes(content)
        with pytest.raises(LedgerBroken, match="an older ledger was restored"), ledger.locked(written.config):
            pass
        assert ledger.ledger_path(written.config).read_bytes() == content
    ledger.ledger_path(written.config).write_bytes(torn)
    with ledger.locked(written.config):
        assert len(ledger.read_entries(written.config)) == 5


def test_a_pending_entry_that_is_damaged_or_lacks_its_files_is_named(
    written: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_pending(written, monkeypatch, 50)
    path = commit.pending_path(written.config)
    line = path.read_bytes()
    for content, said in (
        (line[:-30], "damaged"),
        (line.replace(b"release-4", b"release-5"), "damaged"),
        (forged(line, files={"statistics.csv": "0" * 64}), "0000 is missing or was changed"),
        (forged(line, plan="1" * 64), "1111 is missing or was changed"),
    ):
        path.write_bytes(content)
        with pytest.raises(LedgerBroken, match=said), ledger.locked(written.config):
            pass
        assert path.read_bytes() == content


def test_a_ledger_whose_end_could_not_be_noted_is_noted_by_the_next_run(
    written: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(commit, "note_head", full)
        append(entry(4), written)
    head = written.folder / "store" / "private" / "ledger-head"
    assert json.loads(head.read_bytes())["number"] == 4
    with ledger.locked(written.config):
        assert json.loads(head.read_bytes())["number"] == 5
    assert not commit.pending_path(written.config).exists()


def test_what_another_process_appended_is_read_and_checked_too(written: Dataset) -> None:
    before = ledger.read_entries(written.config)
    code = APPEND_SOME.replace("range(20)", "range(1)")
    subprocess.run([sys.executable, "-c", code, str(written.config_file), "other"], check=True)
    after = ledger.read_entries(written.config)
    assert [one.stated["release_id"] for one in after] == [*(one.stated["release_id"] for one in before), "other-0"]
    with ledger.ledger_path(written.config).open("ab") as file:
        file.write(lines_of(written)[-1])
    with pytest.raises(LedgerBroken, match="line 6 does not follow"):
        ledger.read_entries(written.config)


def test_an_older_copy_put_in_its_place_is_refused_however_often_it_was_read(written: Dataset) -> None:
    path = ledger.ledger_path(written.config)
    older = path.read_bytes()
    append(entry(4), written)
    assert len(ledger.read_entries(written.config)) == 5
    newer = path.read_bytes()
    path.write_bytes(older)
    for _ in range(2):
        with pytest.raises(LedgerBroken, match="4 entries are here, but entry 5"):
            ledger.read_entries(written.config)
    path.write_bytes(newer)
    assert len(ledger.read_entries(written.config)) == 5


def test_a_byte_of_an_old_line_that_changes_between_two_readings_is_noticed(written: Dataset) -> None:
    """Neither the size nor the time of the file tells of it."""
    path = ledger.ledger_path(written.config)
    assert len(ledger.read_entries(written.config)) == 4
    status, changed = path.stat(), bytearray(path.read_bytes())
    changed[changed.index(b"release-1") + 8] ^= 1
    with path.open("r+b") as file:
        file.write(changed)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    with pytest.raises(LedgerBroken, match="line 2 was changed"):
        ledger.read_entries(written.config)


def test_another_ledger_with_a_chain_in_order_is_read_anew(written: Dataset) -> None:
    path = ledger.ledger_path(written.config)
    assert len(ledger.read_entries(written.config)) == 4
    shutil.rmtree(path.parent / "private")
    path.unlink()
    assert ledger.read_entries(written.config) == []
    append(entry(7), written)
    assert [one.stated["release_id"] for one in ledger.read_entries(written.config)] == ["release-7"]


def test_a_list_of_entries_is_the_readers_own(written: Dataset) -> None:
    ledger.read_entries(written.config).clear()
    assert len(ledger.read_entries(written.config)) == 4


def test_a_line_that_was_checked_is_not_checked_again(written: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = chain.problem_of

    def watched(line: bytes, number: int, previous_hash: str) -> str | None:
        seen.append(number)
        return real(line, number, previous_hash)

    monkeypatch.setattr(chain, "problem_of", watched)
    ledger.read_entries(written.config)
    append(entry(4), written)
    ledger.read_entries(written.config)
    assert seen == [4, 5]
