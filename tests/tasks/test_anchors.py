"""A line that was noted elsewhere shows whether all up to it was rewritten."""

import json

import pytest
from support import Dataset

from tasks.account import chain, ledger
from tasks.account.anchors import check_anchor, ledger_head
from tasks.account.changes import entry_of
from tasks.account.commit import commit
from tasks.account.entry import FORMAT, Entry
from tasks.base.durable import canonical_json
from tasks.base.errors import HexveilError, LedgerBroken


def write(dataset: Dataset, *names: str) -> None:
    """Write a ledger of some releases, as somebody does who owns all that is on the machine."""
    ledger.ledger_path(dataset.config).parent.mkdir(exist_ok=True)
    ledger.ledger_path(dataset.config).write_bytes(b"")
    entries: list[Entry] = []
    for name in names:
        stated = {"release_id": name, "format": FORMAT}
        entries.append(entry_of(chain.chained(stated, entries[-1].stated if entries else None)))
        commit(entries[-1].stated, dataset.config)


def test_the_head_of_an_empty_ledger_is_what_its_first_line_follows(dataset: Dataset) -> None:
    assert ledger_head(dataset.config) == "0:" + "0" * 64
    write(dataset, "a")
    check_anchor("0:" + "0" * 64, dataset.config)


def test_every_line_that_was_ever_the_last_is_found_again(dataset: Dataset) -> None:
    noted = []
    for n_lines in range(1, 4):
        write(dataset, *"abc"[:n_lines])
        last = ledger.read_entries(dataset.config)[-1]
        noted.append(ledger_head(dataset.config))
        assert noted[-1] == f"{n_lines}:{last.stated['hash']}"
    for anchor in noted:
        check_anchor(anchor, dataset.config)
        check_anchor(f"{anchor}\n", dataset.config)


def test_a_rewritten_ledger_has_another_hash_from_the_line_on_that_was_changed(dataset: Dataset) -> None:
    write(dataset, *"abc")
    hashes = [one.stated["hash"] for one in ledger.read_entries(dataset.config)]
    write(dataset, "a", "x", "c")
    check_anchor(f"1:{hashes[0]}", dataset.config)
    for number in (2, 3):
        with pytest.raises(LedgerBroken, match="the ledger was rewritten since that line was noted"):
            check_anchor(f"{number}:{hashes[number - 1]}", dataset.config)


def test_a_ledger_that_is_shorter_than_was_noted_is_told(dataset: Dataset) -> None:
    write(dataset, *"ab")
    anchor = ledger_head(dataset.config)
    write(dataset, "a")
    with pytest.raises(LedgerBroken, match="has 1 entries, but entry 2 was noted"):
        check_anchor(anchor, dataset.config)


@pytest.mark.parametrize("anchor", ["", "3", f"-1:{'0' * 64}", f"1:{'0' * 63}", f"1:{'G' * 64}", f"01:{'0' * 64}"])
def test_what_is_no_anchor_is_said(dataset: Dataset, anchor: str) -> None:
    with pytest.raises(HexveilError, match="give --expect NUMBER:HASH"):
        check_anchor(anchor, dataset.config)


def test_an_empty_ledger_follows_nothing_but_zeros(dataset: Dataset) -> None:
    with pytest.raises(LedgerBroken, match="rewritten"):
        check_anchor(f"0:{'1' * 64}", dataset.config)


def test_a_head_is_of_a_chain_in_order(dataset: Dataset) -> None:
    write(dataset, *"ab")
    path = ledger.ledger_path(dataset.config)
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"x"'))
    with pytest.raises(LedgerBroken, match="line 1 was changed"):
        ledger_head(dataset.config)
    assert canonical_json(json.loads(path.read_bytes().splitlines()[0]))
