"""User keys: the secret that user ids are hashed with, so that budgets remain after raw records are deleted."""

import hashlib
import hmac
from collections.abc import Sequence

from tasks.account.chain import charges
from tasks.account.entry import Entry
from tasks.base.config import Config
from tasks.base.durable import write_new
from tasks.base.errors import LedgerBroken
from tasks.base.randomness import random_bytes
from tasks.base.storage import private_folder

_N_BYTES = 32


class UserKeys:
    """Hashes user ids with a secret that never leaves the machine, so that budgets outlast the raw records.

    The secret is created with the first plan. Without it no user's past loss can be found, so back it up with the
    ledger.
    """

    def __init__(self, config: Config, fingerprint: str | None) -> None:
        """Read the secret. If no release has been made yet, create it.

        Args:
            config: Says where it is.
            fingerprint: The fingerprint of the secret that the ledger was written with; None if the ledger is empty.

        Raises:
            LedgerBroken: The secret is missing, or is not the one that the ledger was written with.
        """
        path = private_folder(config) / "user-key"
        if not path.exists():
            if fingerprint is not None:
                raise LedgerBroken(f"{path} is missing, so past losses cannot be found; restore it from backup")
            write_new(path, random_bytes(_N_BYTES))
        self._secret = path.read_bytes()
        if len(self._secret) < _N_BYTES:
            raise LedgerBroken(f"{path} is shorter than {_N_BYTES} bytes; restore it from backup")
        self.fingerprint = self.digest("fingerprint", b"")
        if fingerprint not in (None, self.fingerprint):
            raise LedgerBroken(f"{path} is not the key the ledger was written with; restore it from backup")

    def digest(self, purpose: str, message: bytes) -> str:
        """Return the keyed hash of a message, in hexadecimal. It is different for each purpose."""
        return hmac.new(self._secret, purpose.encode() + b"\0" + message, hashlib.sha256).hexdigest()

    def users(self, user_ids: list[str]) -> list[str]:
        """Return the keyed hash of each user id."""
        return [self.digest("user", user_id.encode()) for user_id in user_ids]


def known_users(config: Config, entries: Sequence[Entry]) -> UserKeys:
    """Return the secret that the ledger's releases were made with; a new one if there are no releases."""
    fingerprints = [entry.user_key_fingerprint for entry in charges(entries)[-1:]]
    return UserKeys(config, fingerprints[0] if fingerprints else None)
