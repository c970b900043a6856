# SPDX-License-Identifier: Apache-2.0
"""Files of clusters and of calibrations as the harness documents them (harness/simulate), read by
Python's own TOML and JSON: what a record has to say of them, or why they have to be refused.
"""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from .records import value_in
from .toml import MOST_BYTES, MOST_DOTS, MOST_LINE, Refused, Unsure, require_words

MOST_HOSTS = MOST_CORES = 4_096
MOST_LATENCY_US = 1e8
GBIT = (1e-6, 1e6)
SPREAD = (1e-6, 10)
SAMPLES = (1e-12, 1e13)
MOST_NS = 1e13
RATES = (1e-9, 1e9)  # bytes a nanosecond
MOST_STEP_TIMES = 100_000
MOST_POINT_BYTES = 1e12
MOST_POINTS = 100
MOST_SUMS = 1_000
MOST_MEMBERS = 100_000  # of a sum, and processes
BYTES_PER_S_OF_GBIT = 1.25e8
MOST_QUEUE_KB = 1e9
KEYS = {"calibration", "threads_per_worker", "server_cores", "machine_cores", "latency_us",
        "core_gbit_per_s", "queue_kb", "seed", "compute_times", "host"}
HOST_KEYS = {"count", "cores", "gbit_per_s", "out_gbit_per_s", "in_gbit_per_s", "processes"}
KINDS = ("constant", "gamma", "log_normal", "shifted_exponential", "samples")
TEXTS = ("source", "cpu", "git_commit", "timestamp", "command")
TRANSPORTS = ("in_process", "open_mpi", "grpc")
LATER_TRANSPORT = "open_mpi_sums"  # not in older files
WAYS = ("on_host", "between_hosts")
TRANSPORT_RATES = ("adding_bytes_per_ns", "sending_bytes_per_ns")
CALIBRATED = "regatta calibrate"


class Costs(NamedTuple):
    """Of a calibration, what a record tells."""

    source: str
    cpu: str
    has_steps: bool


class Facts(NamedTuple):
    """What a record has to tell of a cluster: `simulated` and, in it, `hardware`."""

    hosts: int
    source: str
    hardware: dict[str, Any]


def number(value: Any, what: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"{what} is no number")
    if not least <= value <= most:
        raise Refused(f"{what} is {str(value)[:20]}")
    return float(value)


def whole(table: dict[str, Any], key: str, usual: int, least: int, most: int) -> int:
    value = table.get(key, usual)
    if type(value) is not int or (key in table and not least <= value <= most):
        raise Refused(f"{key} is {str(value)[:20]}")
    return value


def allow(table: dict[str, Any], keys: set[str]) -> None:
    if unknown := set(table) - keys:
        raise Refused(f"an unknown key {min(unknown)[:40]!r}")


def rate(value: Any, what: str) -> None:
    if value is not None:
        number(value, what, *RATES)


def member(value: Any, name: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        raise Refused(f"{name} is missing")
    return value[name]


def require_rising(points: Any, message_ns: float) -> None:
    if not isinstance(points, list) or len(points) > MOST_POINTS:
        raise Refused("points is no list, or too long")
    before = (0.0, message_ns)
    for point in points:
        if not isinstance(point, list) or len(point) != 2:
            raise Refused("one of points is no pair")
        size = number(point[0], "bytes", 1, MOST_POINT_BYTES)
        ns = number(point[1], "ns", 0, MOST_NS)
        if size <= before[0] or ns < before[1]:
            raise Refused("points that fall")
        before = (size, ns)


def require_way(way: Any) -> None:
    number(member(way, "message_ns"), "message_ns", 0, MOST_NS)
    rate(member(way, "bytes_per_ns"), "bytes_per_ns")
    require_rising(way.get("points", []), way["message_ns"])


def require_sums(sums: Any) -> None:
    if not isinstance(sums, list) or len(sums) > MOST_SUMS:
        raise Refused("sums is no list, or too long")
    for each in sums:
        if not isinstance(member(each, "algorithm"), str):
            raise Refused("an algorithm is no text")
        for name in ("members", "processes"):
            if type(member(each, name)) is not int or not 1 <= each[name] <= MOST_MEMBERS:
                raise Refused(f"{name} of sums is {str(each[name])[:20]}")
        columns = each.get("columns", 0)
        if type(columns) is not int or not 0 <= columns <= MOST_MEMBERS:
            raise Refused(f"columns of sums is {str(columns)[:20]}")
        if columns > 0 and each["members"] % columns != 0:
            raise Refused("columns of sums do not divide their members")
        if not isinstance(member(each, "between_hosts"), bool):
            raise Refused("between_hosts is neither true nor false")
        require_way(member(each, "way"))


def costs_in(content: bytes, known: dict[str, Any]) -> Costs:
    """`known`: the calibration that was made here, for this cell. Throws: Refused, Unsure."""
    try:
        made = value_in(content.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise Unsure from None
    except ValueError as error:
        raise Refused(f"it is no JSON: {error}") from None
    if type(member(made, "calibration")) not in (int, float) or made["calibration"] != 1:
        raise Refused("it is no calibration of format 1")
    for name in TEXTS:
        if not isinstance(member(made, name), str):
            raise Refused(f"{name} is no text")
    transports = member(made, "transports")
    if not isinstance(transports, dict):
        raise Refused("transports is no table")
    later = (LATER_TRANSPORT,) if LATER_TRANSPORT in transports else ()
    for transport in (member(transports, name) for name in (*TRANSPORTS, *later)):
        for way in (member(transport, name) for name in WAYS):
            require_way(way)
        for name in TRANSPORT_RATES:
            rate(member(transport, name), name)
    require_sums(made.get("sums", []))
    steps, kernels = member(made, "step_ns"), member(made, "kernels")
    if not isinstance(steps, list) or len(steps) > MOST_STEP_TIMES:
        raise Refused("step_ns is no list, or too long")
    for ns in steps:
        number(ns, "step_ns", 1, MOST_NS)
    if not isinstance(kernels, dict):
        raise Refused("kernels is no table")
    for ns in kernels.values():
        number(ns, "a kernel", 0, MOST_NS)
    if made["source"] == CALIBRATED and any(made[name] != known[name]
                                            for name in ("cpu", "git_commit")):
        raise Refused("it is of another machine or program")
    if set(known["kernels"]) - set(kernels) or not any(kernels.values()):
        raise Unsure
    return Costs(made["source"], made["cpu"], bool(steps))


def gbit(table: dict[str, Any], key: str) -> float | None:
    """In bytes a second; None: no limit."""
    if key not in table:
        return None
    return number(table[key], key, *GBIT) * BYTES_PER_S_OF_GBIT


def way_of(host: dict[str, Any], key: str) -> float | None:
    if key in host and "gbit_per_s" in host:
        raise Refused(f"{key} and gbit_per_s")
    return gbit(host, key if key in host else "gbit_per_s")


def times_of(table: dict[str, Any], costs: Costs) -> tuple[str, float]:
    """The kind and the spread."""
    if "compute_times" not in table:
        return "samples" if costs.has_steps else "constant", 0
    times = table["compute_times"]
    if not isinstance(times, dict):
        raise Refused("compute_times is no table")
    allow(times, {"kind", "spread", "samples"})
    kind = times.get("kind", "constant")
    if kind not in KINDS:
        raise Refused("an unknown kind")
    spread = number(times.get("spread", 0), "spread", 0, SPREAD[1])
    if 0 < spread < SPREAD[0] or (kind == "shifted_exponential" and spread > 1):
        raise Refused("a spread that is out of range")
    samples = times.get("samples", [])
    if not isinstance(samples, list):
        raise Refused("samples are no list")
    for sample in samples:
        number(sample, "a sample", *SAMPLES)
    if (kind == "samples") != bool(samples):
        raise Refused("samples of another kind, or none")
    return kind, spread


def require_room(hosts: list[tuple[int, int]], cores: list[int]) -> None:
    """`hosts`: cores and most processes, 0: as many as have cores. `cores`: of each process."""
    at = used = processes = 0
    for needed in cores:
        while at < len(hosts) and (processes == hosts[at][1] if hosts[at][1]
                                   else used + needed > hosts[at][0]):
            at, used, processes = at + 1, 0, 0
        if at == len(hosts):
            raise Refused("no room")
        used, processes = used + needed, processes + 1


def facts_in(table: dict[str, Any], costs: Costs, processes: int) -> Facts:
    """`processes`: of a worker each. Throws: Refused, Unsure."""
    threads = whole(table, "threads_per_worker", 1, 1, MOST_CORES)
    servers = whole(table, "server_cores", 1, 1, MOST_CORES)
    machine = whole(table, "machine_cores", 0, 1, MOST_CORES)
    whole(table, "seed", 1, 0, 1_000_000_000)
    latency_us = number(table.get("latency_us", 0), "latency_us", 0, MOST_LATENCY_US)
    core = gbit(table, "core_gbit_per_s")
    queue_kb = number(table.get("queue_kb", 0), "queue_kb", 0, MOST_QUEUE_KB)
    kind, spread = times_of(table, costs)
    blocks = table.get("host")
    if not isinstance(blocks, list) or not blocks or not all(isinstance(one, dict)
                                                             for one in blocks):
        raise Refused("no host")
    hosts: list[tuple[int, int]] = []
    links = []
    for block in blocks:
        allow(block, HOST_KEYS)
        host = whole(block, "cores", 1, 1, MOST_CORES), whole(block, "processes", 0, 1, MOST_CORES)
        links += [way_of(block, "out_gbit_per_s"), way_of(block, "in_gbit_per_s")]
        hosts += [host] * whole(block, "count", 1, 1, MOST_HOSTS)
        if len(hosts) > MOST_HOSTS:
            raise Refused("too many hosts")
    if machine > 0 and any(cores != 1 for cores, _ in hosts):
        raise Refused("a machine's cores, and hosts of several")
    require_room(hosts, [threads] * processes)
    if threads != 1:
        raise Unsure  # whether kernels are known
    limits = [link for link in links if link is not None]
    return Facts(len(hosts), costs.source,
                 {"link_bytes_per_s": min(limits, default=None), "core_bytes_per_s": core,
                  "latency_ns": 1e3 * latency_us, "server_cores": servers,
                  "compute_times": kind, "spread": spread, "cpu": costs.cpu,
                  "queue_bytes": 1e3 * queue_kb, "machine_cores": machine})


def read(content: bytes, folder: Path, known: dict[str, Any], processes: int) -> Facts:
    """Of a cluster's file, in whose folder the calibration is. Throws: Refused, Unsure."""
    if len(content) > MOST_BYTES or any(len(line) > MOST_LINE for line in content.split(b"\n")):
        raise Refused("a file or a line that is too long")
    if any(line.count(b".") > MOST_DOTS for line in content.splitlines()):
        raise Unsure
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
        require_words(table)
    except RecursionError:
        raise Unsure from None
    except ValueError as error:
        raise Refused(f"it is no TOML: {error}") from None
    allow(table, KEYS)
    name = table.get("calibration")
    if not isinstance(name, str) or not name:
        raise Refused("no calibration")
    try:
        costs = (folder / name).read_bytes() if (folder / name).is_file() else None
    except (OSError, ValueError) as error:
        raise Refused(f"no file of a calibration: {error}") from None
    if costs is None:
        raise Refused("no regular file of a calibration")
    return facts_in(table, costs_in(costs, known), processes)
