"""The one source of real randomness, and the machine's secret that user ids are hashed with."""

import os

SOURCE = "os.urandom"


def random_bytes(n: int) -> bytes:
    """Return n independent uniform bytes from the operating system."""
    return os.urandom(n)
