# SPDX-License-Identifier: Apache-2.0
"""Facts about processes from /proc: children, environment, CPU time, sockets."""

import contextlib
import os
from ipaddress import ip_address
from pathlib import Path


def children_of(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # the process has just ended
        return []


def is_alive(pid: int) -> bool:
    """True if the process lives; a zombie does not count, because it holds no resources."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def environment_of(pid: int) -> dict[str, str]:
    """The environment of the process at its start; empty if it is gone or another user's."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def processes_with(variable: str, value: str) -> list[int]:
    """The living processes that were started with the variable in their environment."""
    running = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in running
            if environment_of(pid).get(variable) == value and is_alive(pid)]


def cpu_seconds(pid: int) -> float:
    """The CPU time of all threads of the process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sockets_of(pid: int) -> set[str]:
    """Inodes of the sockets that the process has open; none if it is gone."""
    found: set[str] = set()
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(FileNotFoundError):
        for entry in os.listdir(folder):
            with contextlib.suppress(OSError):  # closed meanwhile
                if (name := os.readlink(f"{folder}/{entry}")).startswith("socket:"):
                    found.add(name.removeprefix("socket:[").removesuffix("]"))
    return found


def open_sockets() -> set[str]:
    """Inodes of all sockets of processes here: Unix, and TCP that listen or are connected."""
    columns = {"tcp": 9, "tcp6": 9, "unix": 6}
    return {line.split()[column] for table, column in columns.items()
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]} - {"0"}


def listening_at(pid: int) -> dict[int, str]:
    """The ports at which the process listens, each with its address."""
    own = sockets_of(pid)
    found: dict[int, str] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] != "0A" or fields[9] not in own:
                continue
            digits, port = fields[1].split(":")
            words = bytes.fromhex(digits)  # in the machine's byte order
            address = ip_address(b"".join(words[i:i + 4][::-1] for i in range(0, len(words), 4)))
            found[int(port, 16)] = str(getattr(address, "ipv4_mapped", None) or address)
    return found
