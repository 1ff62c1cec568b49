import csv
import gzip
import io
import random
import tracemalloc
from pathlib import Path

import pytest

from tasks import text_lines
from tasks.errors import BadInput

PIECES = [b"a", b"bus,1,2", b"\n", b"\n", b"\r\n", b" ", b"\t", b"\x0b\n", "é😀".encode(), b"x" * 40]


@pytest.fixture(params=[1, 3, 16, 1 << 22])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(text_lines, "_BLOCK", request.param)
    return request.param


def random_contents(pieces: list[bytes], n: int) -> list[bytes]:
    rng = random.Random(20260302)
    return [b"".join(rng.choices(pieces, k=rng.randrange(30))) for _ in range(n)]


@pytest.mark.usefixtures("block")
def test_lines_end_at_line_feeds_alone_and_are_numbered_from_1(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    for content in random_contents(PIECES, 150):
        path.write_bytes(content)
        lines = text_lines.numbered_lines(path).read_all().to_pydict()
        assert "".join(lines["line"]) == content.decode()
        assert lines["line"] == [line.decode() for line in io.BytesIO(content)]
        assert lines["row_number"] == list(range(1, len(lines["line"]) + 1))
        assert text_lines.count_lines(path) == sum(bool(line.strip()) for line in content.split(b"\n"))


@pytest.mark.usefixtures("block")
def test_csv_rows_are_those_that_python_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    quoted = [*PIECES, b'"x"', b'"\n,"', b'""""', b'"a\r\nb"', b",", b'"\r"']
    n_quoted = 0
    for content in random_contents(quoted, 600) + random_contents([b"a,b", b"\n", b"\r\n", b"  "], 100):
        path.write_bytes(b"header\n" + content)
        try:
            rows = [row for row in csv.reader(io.StringIO(content.decode(), newline=""), strict=True) if row]
        except csv.Error:
            continue
        n_quoted += b'"' in content
        assert text_lines.count_csv_rows(path, ",") == len(rows)
    assert n_quoted > 50


def test_a_line_is_refused_before_it_is_held(tmp_path: Path) -> None:
    """Packed, one line of a GiB takes a MB; to be refused it must not be unpacked whole."""
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"bus,time,lat,lon,speed\n")
        for _ in range(256):
            file.write(bytes(1 << 22))
    tracemalloc.start()
    try:
        for read in (text_lines.count_lines, lambda path: text_lines.count_csv_rows(path, ",")):
            with pytest.raises(BadInput, match="a record is longer than 64 KiB"):
                read(path)
        text_lines.first_line(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 26


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
        text_lines.count_csv_rows(tmp_path / "a.csv", ",")


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("delimiter", [",", "é", "\u2028"])
def test_rows_with_another_number_of_fields_than_the_header_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delimiter: str
) -> None:
    """The engine keeps some KiB in memory for each: packed, files of a few KiB would take many GiB."""
    monkeypatch.setattr(text_lines, "_MOST_MALFORMED", 2)
    path = tmp_path / "a.csv"
    rows = ["a,b,c", "1,2,3", "", "4,5", "6,ü,", ",,,", "7,8,9"]
    for value in ("x", '"x"', '"\nx,y\n"'):
        text = "\n".join(rows).replace("7", value).replace(",", delimiter)
        path.write_text(text)
        assert text_lines.count_csv_rows(path, delimiter) == 5
        path.write_text(text + "\n8\n")
        with pytest.raises(BadInput, match="3 of 6 rows have not as many fields as the header"):
            text_lines.count_csv_rows(path, delimiter)


@pytest.mark.usefixtures("block")
def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes("é\n\nx\n".encode() + b"\xff\n")
    with pytest.raises(BadInput, match="line 4 is not UTF-8"):
        text_lines.count_lines(tmp_path / "a.ndjson")
