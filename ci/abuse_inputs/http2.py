# SPDX-License-Identifier: Apache-2.0
"""What a stranger may send to a port where gRPC listens: HTTP/2 frames (RFC 9113), header blocks
(RFC 7541, literals only), gRPC messages, and within them the frames of kernels/comm/grpc/frame.h
and messages of harness/ranks/control.proto. All of it is drawn: sound, wrong, and in floods.
"""

import random
import struct
import zlib
from collections.abc import Callable

from . import values

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, \
    CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1
METHODS = ("/regatta.control.Control/Session", "/regatta.Exchange/Stream", "/", "/regatta.Exchange",
           "/grpc.health.v1.Health/Check", "*", "", "/" + "x" * 5000)
NUMBERS = (0, 1, 2, 255, 2**14, 2**14 + 1, 2**24 - 1, 2**31 - 1, 2**31, 2**32 - 1)
OPENINGS = (b"", PREFACE[:10], PREFACE[:-1] + b"\0", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), bytes(1000),
            b"SSH-2.0-OpenSSH_9.2\r\n", PREFACE + PREFACE)
MOST_PAIRS = 20_000


def frame(kind: int, flags: int, stream: int, payload: bytes = b"", length: int = -1) -> bytes:
    """`length`: what the header says, if it is to lie."""
    said = len(payload) if length < 0 else length
    head = struct.pack(">I", said)[1:] + struct.pack(">BBI", kind & 255, flags & 255, stream)
    return head + payload


SOUND_OPENING = PREFACE + frame(SETTINGS, 0, 0)


def integer(value: int, prefix_bits: int) -> bytes:
    """RFC 7541, 5.1, with zeros above the prefix."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([value])
    out, value = bytearray([limit]), value - limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    out.append(value)
    return bytes(out)


def literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + integer(len(name), 7) + name + integer(len(value), 7) + value


def header_block(fields: list[tuple[str, str]]) -> bytes:
    return b"".join(literal(name.encode(errors="surrogateescape"),
                            value.encode(errors="surrogateescape")) for name, value in fields)


def call(method: str, extra: list[tuple[str, str]]) -> bytes:
    """The header block that opens a gRPC call."""
    return header_block([(":method", "POST"), (":scheme", "http"), (":path", method),
                         (":authority", "127.0.0.1"), ("te", "trailers"),
                         ("content-type", "application/grpc"), *extra])


def credentials(rng: random.Random) -> list[tuple[str, str]]:
    """What a stranger may guess; the token has 256 bits."""
    guesses = (("regatta-protocol", ("1", "1", "2", "", "-1", "1" * 5000)),
               ("regatta-run", ("0" * 32, "f" * 32, "", "x", "0" * 31)),
               ("regatta-token", ("0" * 64, "", "x" * 64, "0" * 5000, values.text(rng)[:900])),
               ("regatta-process", ("0", "1", "2", "-1", "99999999999999999999", "", "1x")))
    fields = [(name, rng.choice(guess)) for name, guess in guesses]
    return rng.sample(fields, rng.randrange(5))


def grpc_message(rng: random.Random, content: bytes) -> bytes:
    """With its flag and length, one of which may lie."""
    flag = rng.choice((0, 0, 0, 1, 2, 255))
    length = len(content) if rng.random() < 0.8 else rng.choice(NUMBERS)
    return struct.pack(">BI", flag, length) + content


def exchange_frame(rng: random.Random) -> bytes:
    """The header of kernels/comm/grpc/frame.h with fields from the edges; its checksum is CRC-32,
    which is not the one that is wanted, so most end there."""
    numbers = [rng.choice((0, 1, 2**31 - 1, 2**63 - 1, 2**64 - 1, rng.getrandbits(64)))
               for _ in range(6)]
    body = b"RGTA" + struct.pack("<I", rng.choice((0, 1, 2))) + rng.randbytes(16)
    body += struct.pack("<IIQQQI", numbers[0] % 2**32, numbers[1] % 2**32, *numbers[2:5],
                        numbers[5] % 2**32)
    body += struct.pack("<I", zlib.crc32(body))
    content = body + bytes(rng.choice((0, 1, 64, 5000)))
    return content if rng.random() < 0.4 else values.damaged(rng, content)


def control_message(rng: random.Random) -> bytes:
    """FromRank: a field of any number with any content."""
    field, wire = rng.randrange(1, 20), rng.choice((0, 2, 2, 2, 5, 7))
    content = rng.choice((b"\x08\x01", b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"",
                          b"\x12\x03abc", rng.randbytes(20)))
    return bytes([(field << 3 | wire) & 127]) + integer(len(content), 7) + content


def message_in_call(rng: random.Random, stream: int) -> bytes:
    """A call with guessed credentials, and a message in it: an input of the kind `frames`."""
    path = rng.choice(METHODS[:2]) if rng.random() < 0.9 else rng.choice(METHODS)
    made = exchange_frame(rng) if rng.random() < 0.5 else control_message(rng)
    content = grpc_message(rng, made)
    sent = frame(HEADERS, END_HEADERS, stream, call(path, credentials(rng)))
    for begin in range(0, len(content), 16_000):
        sent += frame(DATA, 0, stream, content[begin:begin + 16_000])
    return sent + (frame(DATA, END_STREAM, stream) if rng.random() < 0.5 else b"")


def any_frame(rng: random.Random, stream: int) -> bytes:
    payload = rng.randbytes(rng.choice((0, 1, 4, 5, 8, 9, 100, 16_384)))
    length = -1 if rng.random() < 0.8 else rng.choice(NUMBERS) % 2**24
    at = rng.choice((0, 1, 2, stream, stream, 2**31 - 1, 2**32 - 1))
    return frame(rng.choice((*range(10), 10, 255)), rng.getrandbits(8), at, payload, length)


def bad_headers(rng: random.Random, stream: int) -> bytes:
    """Blocks that no encoder writes."""
    block = rng.choice((
        rng.randbytes(50), b"\x80", b"\xff" * 20, b"\x3f" + b"\xff" * 10, b"\x3f\xe1\xff\x3f" * 50,
        b"\xbe", b"\0\x7f\xff\xff\xff\x7f", literal(b"", b""), literal(b":path", b"/") * 3,
        header_block([("Upper", "x"), ("a b", "\0"), ("connection", "close")]),
        call(rng.choice(METHODS), [("x", "y" * 16_000)]), call("/", [("grpc-timeout", "0n")]),
        call("/", [("grpc-encoding", "gzip"), ("grpc-timeout", "99999999H")])))
    return frame(HEADERS, END_HEADERS | rng.choice((0, END_STREAM, PADDED)), stream, block)


def settings(rng: random.Random, _: int) -> bytes:
    count = rng.choice((0, 1, 6, 2000))
    body = b"".join(struct.pack(">HI", rng.choice((1, 2, 3, 4, 5, 6, 8, 999)), rng.choice(NUMBERS))
                    for _ in range(count))
    return frame(SETTINGS, rng.choice((0, 0, ACK)), 0, body + b"x" * rng.choice((0, 0, 1)))


def flood(rng: random.Random) -> int:
    """How often: seldom very often."""
    return int(10 ** rng.uniform(1, 3 if rng.random() < 0.9 else 4))


def rapid_reset(rng: random.Random, stream: int) -> bytes:
    """CVE-2023-44487: calls that are taken back at once."""
    block = call(rng.choice(METHODS[:2]), credentials(rng) if rng.random() < 0.5 else [])
    pairs = min(2 * flood(rng), MOST_PAIRS)
    return b"".join(frame(HEADERS, END_HEADERS, one, block)
                    + frame(RST_STREAM, 0, one, struct.pack(">I", 8))
                    for one in range(stream, stream + 2 * pairs, 2))


def many_calls(rng: random.Random, stream: int) -> bytes:
    """That stay open."""
    block = call(rng.choice(METHODS[:2]), [])
    return b"".join(frame(HEADERS, END_HEADERS, one, block)
                    for one in range(stream, stream + 2 * flood(rng), 2))


def continuations(rng: random.Random, stream: int) -> bytes:
    """A header block without an end (CVE-2024-27316 and others)."""
    part = literal(b"x-" + rng.randbytes(4).hex().encode(), b"y" * 1000)
    return frame(HEADERS, 0, stream, call("/", [])) + frame(
        CONTINUATION, 0, stream, part * 10) * min(flood(rng), 2000)


def pings(rng: random.Random, _: int) -> bytes:
    return frame(PING, 0, 0, rng.randbytes(8)) * flood(rng)


def many_settings(rng: random.Random, _: int) -> bytes:
    return frame(SETTINGS, 0, 0, struct.pack(">HI", 4, rng.choice(NUMBERS[:8]))) * flood(rng)


def updates(rng: random.Random, stream: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, rng.choice((0, stream)),
                 struct.pack(">I", rng.choice(NUMBERS))) * rng.choice((1, 2, 1000))


def priorities(rng: random.Random, stream: int) -> bytes:
    on = rng.choice((stream, 0, 2**31 - 1))
    return frame(PRIORITY, 0, stream, struct.pack(">IB", on, 255)) * rng.choice((1, 1000))


def data_out_of_place(rng: random.Random, stream: int) -> bytes:
    one = frame(DATA, rng.choice((0, END_STREAM)), stream, rng.randbytes(1000))
    return one * rng.choice((1, 50))


def noise(rng: random.Random, _: int) -> bytes:
    return rng.randbytes(rng.choice((1, 9, 100, 100_000)))


FRAMES: tuple[Callable[[random.Random, int], bytes], ...] = (
    any_frame, any_frame, bad_headers, bad_headers, settings, updates, priorities,
    data_out_of_place, message_in_call, noise)
FLOODS = (rapid_reset, rapid_reset, many_calls, continuations, pings, many_settings)


def element(rng: random.Random, stream: int) -> bytes:
    """An input of the kind `http2`: a frame, or a flood of one."""
    return rng.choice(FRAMES if rng.random() < 0.95 else FLOODS)(rng, stream)


def request(rng: random.Random, _: int) -> bytes:
    """An input of the kind `doors`: what a client of gRPC says first, with a key that is guessed;
    then bytes of it changed, more of it, or what a client that is let in would say."""
    key = rng.choice(("0" * 32, "", "x", "0" * 31, "0" * 33, "f" * 64, "%00", "\0" * 32,
                      "0" * 2000))
    name = rng.choice(("Proxy-Authorization", "Proxy-Authorization", "proxy-authorization",
                       "Authorization", "X"))
    scheme = rng.choice(("Bearer", "Bearer", "bearer", "Basic", ""))
    target = rng.choice(("127.0.0.1:80", "[::1]:80", "", "x" * 3000, "/", "a b"))
    method = rng.choice(("CONNECT",) * 5 + ("GET", "connect", "CONNEC", "CONNECT\t", "PRI"))
    header = f"{name}: {scheme} {key}\r\n" * rng.choice((1, 1, 1, 2, 0, 30))
    text = f"{method} {target} HTTP/1.{rng.choice('019')}\r\nHost: x\r\n{header}\r\n".encode()
    draw = rng.random()
    if draw < 0.4:
        return values.damaged(rng, text, (b"\r\n", b"\r", b"\n", b"\r\n\r\n", b"\0", b" ", b":"))
    if draw < 0.6:
        return text[:rng.randrange(len(text))]
    if draw < 0.8:
        return text + rng.choice((text, SOUND_OPENING, rng.randbytes(100_000), b"\0"))
    return text


def opening(rng: random.Random) -> bytes:
    return rng.choice(OPENINGS) if rng.random() < 0.1 else SOUND_OPENING
