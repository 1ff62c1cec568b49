"""A line that was noted elsewhere shows whether all up to it was rewritten."""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import called_here, environment_of
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from support import Dataset

from tasks.account import chain, ledger
from tasks.account.anchors import check_anchor, ledger_head, merkle_root
from tasks.account.changes import entry_of
from tasks.account.commit import commit
from tasks.account.entry import FORMAT, Entry
from tasks.account.signed_notes import is_signed
from tasks.base.durable import canonical_json
from tasks.base.errors import HexveilError, LedgerBroken

Note = Callable[[Dataset], str]


def write(dataset: Dataset, *names: str) -> None:
    """Write a ledger of some releases, as somebody does who owns all that is on the machine."""
    ledger.ledger_path(dataset.config).parent.mkdir(exist_ok=True)
    ledger.ledger_path(dataset.config).write_bytes(b"")
    entries: list[Entry] = []
    for name in names:
        stated = {"release_id": name, "format": FORMAT}
        entries.append(entry_of(chain.chained(stated, entries[-1].stated if entries else None)))
        commit(entries[-1].stated, dataset.config)


def of_chain(dataset: Dataset) -> str:
    entries = ledger.read_entries(dataset.config)
    return f"{len(entries)}:{chain.last_hash(entries)}"


def noted(dataset: Dataset, more: str = "") -> str:
    """Return a file with the head, as somebody noted it."""
    path = dataset.folder / f"head-{len(list(dataset.folder.iterdir()))}"
    path.write_text(ledger_head(dataset.config) + more)
    return str(path)


NOTES = pytest.mark.parametrize("note", [of_chain, noted])
OF_RFC_6962 = (
    ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0),
    ("6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d", 1),
    ("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125", 2),
    ("aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77", 3),
    ("d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7", 4),
    ("4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4", 5),
    ("76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef", 6),
    ("ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c", 7),
    ("5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328", 8),
)
"""The roots that implementations of the RFC compare themselves with."""


@pytest.mark.parametrize(("root", "n_leaves"), OF_RFC_6962)
def test_the_root_is_that_of_the_rfc(root: str, n_leaves: int) -> None:
    texts = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
    assert merkle_root([bytes.fromhex(text) for text in texts[:n_leaves]]).hex() == root


def test_a_head_is_the_text_of_a_checkpoint(dataset: Dataset) -> None:
    assert ledger_head(dataset.config) == "hexveil/test\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    write(dataset, "a")
    line = ledger.ledger_path(dataset.config).read_bytes()
    root = base64.b64encode(hashlib.sha256(b"\0" + line.removesuffix(b"\n")).digest()).decode()
    assert ledger_head(dataset.config) == f"hexveil/test\n1\n{root}\n"


@NOTES
def test_every_line_that_was_ever_the_last_is_found_again(note: Note, dataset: Dataset) -> None:
    notes = [note(dataset)]
    for n_lines in range(1, 6):
        write(dataset, *"abcde"[:n_lines])
        notes.append(note(dataset))
    for one in notes:
        check_anchor(one, dataset.config)


def test_a_checkpoint_with_more_lines_and_signatures_is_taken(dataset: Dataset) -> None:
    write(dataset, "a")
    check_anchor(noted(dataset, "more\n\n\u2014 witness.example/w az3grlgtzPIC\n"), dataset.config)
    path = Path(noted(dataset))
    path.write_text(path.read_text().rstrip("\n"))  # as a shell takes it
    check_anchor(str(path), dataset.config)


@NOTES
def test_a_rewritten_ledger_is_another_from_the_line_on_that_was_changed(note: Note, dataset: Dataset) -> None:
    notes = []
    for n_lines in range(1, 4):
        write(dataset, *"abc"[:n_lines])
        notes.append(note(dataset))
    write(dataset, "a", "x", "c")
    check_anchor(notes[0], dataset.config)
    for one in notes[1:]:
        with pytest.raises(LedgerBroken, match="the ledger was rewritten since that line was noted"):
            check_anchor(one, dataset.config)


@NOTES
def test_a_ledger_that_is_shorter_than_was_noted_is_told(note: Note, dataset: Dataset) -> None:
    write(dataset, *"ab")
    anchor = note(dataset)
    write(dataset, "a")
    with pytest.raises(LedgerBroken, match="has 1 entries, but entry 2 was noted"):
        check_anchor(anchor, dataset.config)


@pytest.mark.parametrize("anchor", ["", "3", f"-1:{'0' * 64}", f"1:{'0' * 63}", f"1:{'G' * 64}", f"01:{'0' * 64}"])
def test_what_is_no_anchor_is_said(dataset: Dataset, anchor: str) -> None:
    with pytest.raises(HexveilError, match="give --expect a file with what `hexveil ledger head` printed"):
        check_anchor(anchor, dataset.config)


def test_a_checkpoint_of_another_ledger_is_said(dataset: Dataset) -> None:
    path = Path(noted(dataset))
    path.write_text(path.read_text().replace("test", "other"))
    with pytest.raises(HexveilError, match="the checkpoint is of hexveil/other, not of hexveil/test"):
        check_anchor(str(path), dataset.config)


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


def keys(folder: Path, name: str = "key") -> tuple[Path, Path]:
    """Return files with a private key of Ed25519 and its public key, as openssl writes them."""
    key, private, public = Ed25519PrivateKey.generate(), folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def test_a_signed_head_is_a_note_that_its_public_key_opens(dataset: Dataset) -> None:
    write(dataset, *"ab")
    private, public = keys(dataset.folder)
    path = dataset.folder / "head.txt"
    path.write_text(ledger_head(dataset.config, private))
    assert path.read_text().startswith(ledger_head(dataset.config) + "\n\u2014 hexveil/test ")
    check_anchor(str(path), dataset.config, public)
    path.write_text(path.read_text() + "\u2014 witness.example/w az3grlgtzPIC\n")
    check_anchor(str(path), dataset.config, public)
    check_anchor(str(path), dataset.config)
    write(dataset, "a")
    with pytest.raises(LedgerBroken, match="entry 2 was noted"):
        check_anchor(str(path), dataset.config, public)


def test_a_note_is_that_of_the_specification() -> None:
    """The key and the note are those of golang.org/x/mod/sumdb/note, from which C2SP took the form."""
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    key = base64.b64decode("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")[1:]
    signature = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    signed = f"{text}\n\u2014 PeterNeumann {signature}\n"
    assert is_signed(signed, "PeterNeumann", Ed25519PublicKey.from_public_bytes(key))
    assert not is_signed(signed.replace("answer", "cause"), "PeterNeumann", Ed25519PublicKey.from_public_bytes(key))
    assert not is_signed(signed, "EnochRoot", Ed25519PublicKey.from_public_bytes(key))


def test_a_head_that_was_changed_or_signed_by_others_is_refused(dataset: Dataset) -> None:
    write(dataset, "a")
    (private, public), (_, other) = keys(dataset.folder), keys(dataset.folder, "other")
    note, path = ledger_head(dataset.config, private), dataset.folder / "head.txt"
    write(dataset, *"ab")
    root = ledger_head(dataset.config).splitlines()[2]
    forged = "\n".join([*note.splitlines()[:1], "2", root, *note.splitlines()[3:], ""])
    for text, key in (
        (note, other),
        (forged, public),
        (note.replace("\u2014 hexveil/test", "\u2014 hexveil/other"), public),
        (note.rpartition("\n\n")[0] + "\n", public),
    ):
        path.write_text(text)
        with pytest.raises(HexveilError, match="is not signed by"):
            check_anchor(str(path), dataset.config, key)
    path.write_text(note)
    check_anchor(str(path), dataset.config, public)
    with pytest.raises(HexveilError, match="has no signature"):
        check_anchor(of_chain(dataset), dataset.config, public)


def test_what_is_no_key_is_said(dataset: Dataset) -> None:
    private, public = keys(dataset.folder)
    noted = dataset.folder / "head.txt"
    noted.write_text(ledger_head(dataset.config, private))
    nothing = dataset.folder / "nothing.pem"
    nothing.write_text("-----BEGIN PRIVATE KEY-----\n")
    for file in (nothing, public, dataset.folder / "none"):
        with pytest.raises(HexveilError, match="openssl genpkey"):
            ledger_head(dataset.config, file)
    for file in (nothing, private, dataset.folder / "none"):
        with pytest.raises(HexveilError, match="openssl pkey"):
            check_anchor(str(noted), dataset.config, file)


def test_the_commands_sign_and_check_a_head(dataset: Dataset, tmp_path: Path) -> None:
    runs, (private, public) = called_here(environment_of(tmp_path / "home")), keys(dataset.folder)
    write(dataset)
    head = runs("ledger", "head", "--config", dataset.config_file, "--key", private)
    (path := dataset.folder / "head.txt").write_text(head.stdout)
    given = ("ledger", "verify", "--config", dataset.config_file, "--public-key", public)
    assert runs(*given, "--expect", path).returncode == 0
    path.write_text(head.stdout.replace("\n0\n", "\n1\n"))
    assert "is not signed by" in runs(*given, "--expect", path).stderr
    assert "give it with --expect" in runs(*given).stderr


@pytest.mark.parametrize("command", ["verify", "head", "export"])
def test_a_ledger_that_is_not_there_is_none_that_holds(command: str, dataset: Dataset, tmp_path: Path) -> None:
    runs = called_here(environment_of(tmp_path / "home"))
    dataset.set(path="elsewhere")
    refused = runs("ledger", command, "--config", dataset.config_file)
    assert refused.returncode == 1
    assert "elsewhere is not there: mend storage.path" in refused.stderr
    assert not (dataset.folder / "elsewhere").exists()
