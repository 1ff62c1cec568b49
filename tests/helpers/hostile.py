"""Servers that answer so that a careless reader hangs, fills the memory or ends."""

import functools
import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\n"
GZIP = OK + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MIB = 1 << 20

Parts = Iterator[bytes]


def header_after_header() -> Parts:
    yield OK
    while True:
        time.sleep(0.1)
        yield b"X-Wait: a little\r\n"


def one_header_without_end() -> Parts:
    yield OK + b"X-Wait: "
    while True:
        time.sleep(0.1)
        yield b"a"


def status_without_end() -> Parts:
    for letter in b"HTTP/1.1 200 O" + b"K" * 100_000:
        time.sleep(0.1)
        yield bytes([letter])


def early_hints() -> Parts:
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


def processing() -> Parts:
    while True:
        time.sleep(0.1)
        yield b"HTTP/1.1 102 Processing\r\n\r\n"


def nothing() -> Parts:
    time.sleep(3600)
    yield b""


def empty_blocks() -> Parts:
    """Yield a document in gzip that has no end and no content."""
    packer = zlib.compressobj(wbits=31)
    yield GZIP
    while True:
        yield chunk(packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH))


def empty_documents() -> Parts:
    yield GZIP
    while True:
        yield chunk(gzip.compress(b"") * 100)


def byte_after_byte() -> Parts:
    yield CHUNKED
    while True:
        time.sleep(0.1)
        yield chunk(b" ")


def length_of_a_chunk() -> Parts:
    yield CHUNKED + b"1;"
    while True:
        time.sleep(0.1)
        yield b"a"


def trailer_after_trailer() -> Parts:
    yield CHUNKED + chunk(b"[{}]") + b"0\r\n"
    while True:
        time.sleep(0.1)
        yield b"X-Wait: a little\r\n"


HANGING: list[Callable[[], Parts]] = [
    header_after_header,
    one_header_without_end,
    status_without_end,
    early_hints,
    processing,
    nothing,
    empty_blocks,
    empty_documents,
    byte_after_byte,
    length_of_a_chunk,
    trailer_after_trailer,
]


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def answer(content: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([OK + b"Content-Length: %d" % len(content), *headers, b"", content])


@functools.cache
@functools.cache
def zeros(n_mib: int, start: bytes = b"", zero: bytes = b"\0") -> bytes:
    """Return so many MiB of zeros in gzip."""
    packer = zlib.compressobj(9, wbits=31)
    some = zero * (MIB // len(zero))
    return b"".join([packer.compress(start), *(packer.compress(some) for _ in range(n_mib)), packer.flush()])


@dataclass
class Hostile:
    """A server that gives its answers one after the other, and the last one again and again."""

    answers: list[Callable[[], Parts]]
    n_asked: int = 0
    requests: list[bytes] = field(default_factory=list)
    port: int = 0
    closed: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/feed?key=k3y"

    def serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            self.requests.append(connection.recv(MIB))
            self.n_asked += 1
            for part in self.answers[min(self.n_asked, len(self.answers)) - 1]():
                connection.sendall(part)
                if self.closed.is_set():
                    return


@contextmanager
def hostile(*answers: Callable[[], Parts]) -> Iterator[Hostile]:
    server = Hostile(list(answers))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server.port = listening.getsockname()[1]
        listening.settimeout(0.1)

        def accept() -> None:
            while not server.closed.is_set():
                with suppress(OSError):
                    threading.Thread(target=server.serve, args=(listening.accept()[0],), daemon=True).start()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server
        finally:
            server.closed.set()
            thread.join()


def plain(content: bytes, *headers: bytes) -> Callable[[], Parts]:
    return lambda: iter([answer(content, b"Connection: close", *headers)])
