"""Values: what may stand where a value stands, in each format: docs/reference/value-domain.md, drawn at its edges."""

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from support import DATE

LONGEST = 60_000
"""Bytes of a value that leave room for the rest of its record within 64 KiB."""

_ROW = f"bus7,{DATE}T09:00:00Z,47.05,8.31,77"
_ODD = [
    "",
    " ",
    "N/A",
    "12,3",
    "1e999",
    "-inf",
    "nan",
    "30",
    "-0",
    "0x1p3",
    "1_000",
    "٣",
    "\x7f",
    "#",
    "\\",
    "'",
    "\x00",
    "bus",
]
_ODD += ["\u2028", "\ufeff", "😀"]
_STRUCTURE = [
    "\n",
    "\r\n",
    "\r",
    '"',
    '""',
    ",",
    ";",
    "\t",
    f"\n{_ROW}\n",
    f'"\n{_ROW},"',
    f"\n{_ROW},n\n",
    "\nshort\n",
]
_ESCAPES = [r"\ud800", r"\uDFFF", r"\ud83d\ude00", r"\ud83d\ud83d", r"\\", r"\\ud800", r"\\\ud800", r"\\U", r"\u0000"]
_ESCAPES += [r"\"", r"\/", r"\n", r"\u005c", "\u2028", "\x7f", "😀", "{", "}", ",", "x", "U", "u", "d800"]
_NUMBERS = [b"1e999", b"-1E+400", b"-0", b"0.1e-5", b"18446744073709551616", b"9" * LONGEST]
_PLAIN = [b"true", b"false", b"null", b"{}", b"[]", b'""', b'"12,3"', b'"N/A"']
_RECORD = f'{{"bus": "bus7", "time": "{DATE}T09:00:00Z", "lat": 47.05, "lon": 8.31, "speed": [null]}}'.encode()
PARQUET_TYPES = [
    *(
        pa.string(),
        pa.large_string(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.decimal128(38, 10),
        pa.decimal128(5, 2),
    ),
    *(pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.int64(), pa.uint64(), pa.bool_(), pa.null()),
]


def text(rng: random.Random, longest: int = LONGEST) -> str:
    """Return any text: line ends, quotes, delimiters, rows of other users, odd characters, nothing, or very much."""
    n_pieces = rng.choice([1, 2, 5, 30, 300, 3000, 30_000])
    made = [
        rng.choice(_ODD),
        rng.choice(_STRUCTURE) * n_pieces,
        "".join(rng.choices([*_STRUCTURE, *_ODD], k=n_pieces)),
        "\n" * rng.randrange(longest) + f"\n{_ROW},n" * rng.randrange(20) + "\n" * rng.randrange(longest),
    ]
    return rng.choice(made).encode()[:longest].decode(errors="ignore")


def csv_field(rng: random.Random) -> bytes:
    """Return any field of RFC 4180."""
    value = text(rng, LONGEST // 2)
    if set(value) & set('",\r\n') or value.startswith(" ") or rng.random() < 0.3:
        return b'"' + value.replace('"', '""').encode() + b'"'
    return value.encode()


def json_value(rng: random.Random) -> bytes:
    """Return any JSON value that stands on one line, by the grammar and not by what one reader makes of it."""
    depth = rng.choice([1, 40, 2000, 5000])
    made = [
        _json_text(rng),
        rng.choice(_NUMBERS),
        rng.choice(_PLAIN),
        _RECORD,
        b"[" * depth + b"]" * depth,
        b'{"bus":' * depth + b"1" + b"}" * depth,
        b"[1,\t\r 2 , " + _json_text(rng) + b" ]",
        b'{"a": 1, "a": ' + _json_text(rng) + b", " + _json_text(rng) + b": 2}",
    ]
    return rng.choice(made)


def _json_text(rng: random.Random) -> bytes:
    return '"{}"'.format("".join(rng.choices(_ESCAPES, k=rng.choice([0, 1, 2, 3, 7, 2000])))).encode()


def parquet_value(rng: random.Random, kind: pa.DataType) -> Any:
    """Return any value of a column of the type."""
    if rng.random() < 0.2 or pa.types.is_null(kind):
        return None
    if pa.types.is_decimal(kind):
        largest = Decimal(10) ** (kind.precision - kind.scale) - 1
        return rng.choice([Decimal(0), largest, -largest, Decimal(30)])
    if pa.types.is_floating(kind):
        number = rng.choice([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 30.5, 6e4, 1e-7])
        return np.float16(number) if pa.types.is_float16(kind) else rng.choice([number, 3e38, -3e38])
    if pa.types.is_integer(kind):
        return rng.choice([0, 30, 127, 2**64 - 1 if kind == pa.uint64() else -128])
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    return text(rng, rng.choice([10, 1000, LONGEST]))
