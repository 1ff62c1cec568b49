"""Freed memory: lets the process keep what arrays gave back, for the arrays after them.

The system clears each page that it gives, so a process that gives large arrays back and asks for others as large has
memory cleared over and over. Where the C library has no such settings, all stays as it is.
"""

import ctypes
import functools

_MIB = 1 << 20
_KEPT = 512 * _MIB
"""So much freed memory the process keeps at most, beside what lies between arrays that are in use."""
_BY_THEMSELVES = 256 * _MIB
"""Arrays of so many bytes are given back at once: of these a day has few, and they could be most of its memory."""
_MORE = 16 * _MIB
_SETTINGS = {-1: _KEPT, -2: _MORE, -3: _BY_THEMSELVES}
"""What `malloc.h` calls M_TRIM_THRESHOLD, M_TOP_PAD and M_MMAP_THRESHOLD."""


@functools.cache
def keep_freed_memory() -> None:
    """Keep freed memory from now on, if the C library is one that can be told so."""
    try:
        tell = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # macOS, musl, Windows
        return
    for setting, value in _SETTINGS.items():
        tell(setting, value)
