"""Signed notes of C2SP: a text with Ed25519 signatures below it, each under the name of who signed."""

import base64
import hashlib
import re
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from tasks.base.errors import HexveilError

_ED25519 = b"\x01"
_LINE = re.compile(r"\u2014 (\S+) ([A-Za-z0-9+/]+={0,2})")


def signed(text: str, name: str, key_file: Path) -> str:
    """Return a text as a note that is signed under a name: https://c2sp.org/signed-note.

    Args:
        text: The text, which ends with a line feed.
        name: The name of the key, without blanks and plus signs.
        key_file: The private key, as `openssl genpkey -algorithm ed25519` writes it.

    Raises:
        HexveilError: The file cannot be read, or is no such key.
    """
    try:
        key = load_pem_private_key(key_file.read_bytes(), None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise HexveilError(
            f"{key_file} is no private key of Ed25519 in PEM without a password: "
            "make one with `openssl genpkey -algorithm ed25519 -out FILE`"
        )
    signature = _id_of(key.public_key(), name) + key.sign(text.encode())
    return f"{text}\n\u2014 {name} {base64.b64encode(signature).decode()}\n"


def check_signed(note: str, name: str, key_file: Path) -> None:
    """Check that a note is signed under a name by a key; signatures of others are passed over.

    Args:
        note: The note.
        name: The name of the key.
        key_file: The public key, as `openssl pkey -pubout` writes it.

    Raises:
        HexveilError: The file cannot be read or is no such key, or the note has no such signature.
    """
    try:
        key = load_pem_public_key(key_file.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise HexveilError(f"{key_file} is no public key of Ed25519 in PEM: `openssl pkey -pubout` writes it")
    if not is_signed(note, name, key):
        raise HexveilError(f"the note is not signed by {key_file} as {name}: it was changed, or is of others")


def is_signed(note: str, name: str, key: Ed25519PublicKey) -> bool:
    """Return whether a note is signed under a name by a key."""
    text, _, below = note.rpartition("\n\n")
    signatures = [found for line in below.splitlines() if (found := _LINE.fullmatch(line)) and found[1] == name]
    return any(_is_of(key, found[2], f"{text}\n", name) for found in signatures)


def _is_of(key: Ed25519PublicKey, signature: str, text: str, name: str) -> bool:
    try:
        number = base64.b64decode(signature, validate=True)
        key.verify(number[4:], text.encode())
    except (InvalidSignature, ValueError):
        return False
    return number[:4] == _id_of(key, name)


def _id_of(key: Ed25519PublicKey, name: str) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + key.public_bytes_raw()).digest()[:4]
