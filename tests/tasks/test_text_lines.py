import gzip
import io
import random
import tracemalloc
from pathlib import Path

import pytest

from tasks.base.errors import BadInput
from tasks.records.input_formats import csv_rows, text_lines

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
@pytest.mark.parametrize("content", ["", "a", "a\nb\n", "\n\ufeffb"])
def test_the_mark_of_utf_8_is_no_part_of_the_first_line(tmp_path: Path, content: str) -> None:
    plain, marked = tmp_path / "plain.ndjson", tmp_path / "marked.ndjson"
    plain.write_bytes(content.encode())
    marked.write_bytes(b"\xef\xbb\xbf" + content.encode())
    assert text_lines.numbered_lines(marked).read_all() == text_lines.numbered_lines(plain).read_all()
    assert text_lines.count_lines(marked) == text_lines.count_lines(plain)


def test_a_line_is_refused_before_it_is_held(tmp_path: Path) -> None:
    """Packed, one line of a GiB takes a MB; to be refused it must not be unpacked whole."""
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"bus,time,lat,lon,speed\n")
        for _ in range(256):
            file.write(bytes(1 << 22))
    tracemalloc.start()
    try:
        for read in (text_lines.count_lines, lambda path: csv_rows.count_csv_rows(path, ",")):
            with pytest.raises(BadInput, match="a record is longer than 64 KiB"):
                read(path)
        text_lines.first_line(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 26


@pytest.mark.usefixtures("block")
def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes("é\n\nx\n".encode() + b"\xff\n")
    with pytest.raises(BadInput, match="line 4 is not UTF-8"):
        text_lines.count_lines(tmp_path / "a.ndjson")
