#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""For tests: a machine with few ports, and a process that takes them.

usage: unshare --map-root-user --net scarce_ports.py make COUNT COMMAND...
       scarce_ports.py take_all_but COUNT RANKS COMMAND...

`make` gives its network namespace a loopback with COUNT ports to choose from and becomes COMMAND.
`take_all_but` waits until RANKS ranks are connected to the coordinator of their run, listens at all
free ports but COUNT, and becomes COMMAND, which keeps them open.
"""

import fcntl
import os
import socket
import struct
import sys
import time
from pathlib import Path

FIRST_PORT = 40000
WAIT_S = 20
SIOCSIFFLAGS, IFF_UP = 0x8914, 1  # linux/sockios.h, linux/if.h


def make(count: int) -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
    Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(
        f"{FIRST_PORT} {FIRST_PORT + count - 1}")


def ranks_at(coordinator: str) -> int:
    """The number of ranks connected to the coordinator, by their ends of the connections."""
    port = int(coordinator.rpartition(":")[2])
    lines = [line.split() for table in ("tcp", "tcp6")  # gRPC's are IPv4 in IPv6
             for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    return sum(line[2].endswith(f":{port:04X}") and line[3] == "01" for line in lines)


def take_all_but(count: int, ranks: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while ranks > 0 and ranks_at(os.environ["REGATTA_COORDINATOR"]) < ranks:
        if time.monotonic() > deadline:
            sys.exit(f"scarce_ports: no {ranks} ranks have reached the coordinator")
        time.sleep(0.02)
    taken: list[socket.socket] = []
    while True:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", 0))
            one.listen()
        except OSError:
            break
        taken.append(one)
    if len(taken) < count:
        sys.exit(f"scarce_ports: only {len(taken)} ports were free")
    for one in taken[:count]:
        one.close()
    for one in taken[count:]:
        one.set_inheritable(True)
        one.detach()


def main(arguments: list[str]) -> None:
    match arguments:
        case ["make", count, *command] if command:
            make(int(count))
        case ["take_all_but", count, ranks, *command] if command:
            take_all_but(int(count), int(ranks))
        case _:
            sys.exit(__doc__)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
