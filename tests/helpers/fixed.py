"""What a run takes from outside, fixed: randomness, time, code and versions, and the names of a map's elements."""

import hashlib
import itertools
import sys
import uuid
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from bokeh.embed import file_html
from bokeh.plotting import figure
from bokeh.util import serialization

from tasks.base import randomness
from tasks.base.provenance import code_hash, now, versions

FIXED: dict[Callable[..., Any], Callable[..., Any]] = {
    now: lambda: "2026-01-01T00:00:00+00:00",
    code_hash: lambda: "0" * 64,
    versions: lambda: {"hexveil": "0"},
}


def fixed_bytes(seed: str = "") -> Callable[[int], bytes]:
    """Return what is called like the operating system's randomness, and gives the same bytes in every process."""
    blocks = (hashlib.sha256(f"{seed}{number}".encode()).digest() for number in itertools.count())
    stream: Iterator[int] = itertools.chain.from_iterable(blocks)
    return lambda n: bytes(itertools.islice(stream, n))


def draw_first_page() -> None:
    """Draw a figure: the first one of a process takes more names than the others."""
    file_html(figure(tools="pan,wheel_zoom,hover,tap"))


def fix(patch: pytest.MonkeyPatch) -> None:
    """Replace randomness, time, code and versions in every module that imported them."""
    replaced = FIXED | {randomness.random_bytes: fixed_bytes()}
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "tasks"]:
        for name, value in list(vars(module).items()):
            if isinstance(value, Callable) and value in replaced:
                patch.setattr(module, name, replaced[value])
    numbers = itertools.count(1)
    names = SimpleNamespace(uuid4=lambda: uuid.UUID(int=next(numbers)))  # of the map's elements
    patch.setattr(serialization, "uuid", names)
    patch.setattr(serialization, "_simple_id", 999)
