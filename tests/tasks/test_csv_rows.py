import csv
import io
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from support import examples

from tasks.base.errors import BadInput
from tasks.records.input_formats import csv_rows, text_lines
from tasks.records.input_formats.csv_rows import count_csv_rows

PIECES = [b"a", b"bus,1,2", b"\n", b"\n", b"\r\n", b" ", b"\t", b"\x0b\n", "é😀".encode(), b"x" * 40]
QUOTED = [b'"x"', b'"\n,"', b'""""', b'"a\r\nb"', b",", b'"\r"']
REGULAR = [b'"a"', b'"\n,\r"', b'""', b'"""a"', b'"\r\n"', b"b", b""]


@pytest.fixture(params=[1, 3, 16, 1 << 22])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(text_lines, "_BLOCK", request.param)
    return request.param


@examples(100, 400)
@pytest.mark.usefixtures("block")
def test_csv_rows_are_those_that_python_reads(tmp_path: Path, n_examples: int) -> None:
    path = tmp_path / "a.csv"
    rng = random.Random(20260302)
    pieces = [[*PIECES, *QUOTED]] * n_examples + [PIECES] * (n_examples // 4)
    contents = [b"".join(rng.choices(some, k=rng.randrange(30))) for some in pieces]
    ends = [b",", b",", b",", b"\n", b"\r\n", b"\n\n"]
    contents += [
        b"".join(rng.choice(REGULAR) + rng.choice(ends) for _ in range(rng.randrange(30))) for _ in range(n_examples)
    ]
    n_quoted = n_regular = 0
    for content in contents:
        path.write_bytes(b"header\n" + content)
        try:
            rows = [row for row in csv.reader(io.StringIO(content.decode(), newline=""), strict=True) if row]
        except csv.Error:
            continue
        n_quoted += b'"' in content
        assert count_csv_rows(path, ",") == len(rows)
        lengths = [1, *map(len, rows)]
        assert np.concatenate(list(csv_rows._fields_by_records(path, ","))).tolist() == lengths
        with suppress(csv_rows._Irregular):
            assert np.concatenate(list(csv_rows._regular_fields(path, ","))).tolist() == lengths
            n_regular += b'"' in content
    assert n_quoted > n_regular > 0.75 * n_examples


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'h\n1,"2\n3\n', "a quote opened in record 2 does not close"),
        (b'h\n"1\n2"\n3,"\n', "a quote opened in record 3 does not close"),
        (b'h\n"1"\n2,"' + b"\n" * 70_000 + b'"\n', "a record is longer than 64 KiB"),
        (b"h\n1\r2\n", "cannot be read as csv"),
        (b'h\n"1"\n2\r3\n', "cannot be read as csv"),
        (b'h,i\n1,"2"x\n', "cannot be read as csv"),
    ],
)
def test_a_csv_file_whose_records_cannot_be_told_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(BadInput, match=said):
        count_csv_rows(tmp_path / "a.csv", ",")


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("delimiter", [",", "é", "\u2028"])
def test_rows_with_another_number_of_fields_than_the_header_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delimiter: str
) -> None:
    """The engine keeps some KiB in memory for each: packed, files of a few KiB would take many GiB."""
    monkeypatch.setattr(csv_rows, "MOST_MALFORMED", 2)
    path = tmp_path / "a.csv"
    rows = ["a,b,c", "1,2,3", "", "4,5", "6,ü,", ",,,", "7,8,9"]
    for value in ("x", '"x"', '"\nx,y\n"'):
        text = "\n".join(rows).replace("7", value).replace(",", delimiter)
        path.write_text(text)
        assert count_csv_rows(path, delimiter) == 5
        path.write_text(text + "\n8\n")
        with pytest.raises(BadInput, match="3 of 6 rows have not as many fields as the header"):
            count_csv_rows(path, delimiter)
