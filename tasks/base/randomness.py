"""The only source of randomness for noise and for the secret that user ids are hashed with."""

import os

SOURCE = "os.urandom"


def random_bytes(n: int) -> bytes:
    """Return n independent uniform bytes from the operating system."""
    return os.urandom(n)
