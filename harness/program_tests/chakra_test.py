# SPDX-License-Identifier: Apache-2.0
"""`regatta graph --format chakra`: traces that protoc reads, compared with the graph's own text.

usage: chakra_test.py REGATTA SCHEMA [unittest arguments]
"""

import functools
import json
import re
import shutil
import unittest
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from chakra_support import ALL_REDUCE, TraceNode, groups_in, read_trace
from test_support import fresh_folder, output_of, regatta, run_tests

RING = ("--workload", "resnet9_thin", "--strategy", "all_reduce", "--workers", "4",
        "--processes", "4", "--bucket-bytes", "0")
SERVERS = ("--workload", "resnet9_thin", "--strategy", "parameter_server", "--workers", "3",
           "--servers", "2")
PIPELINE = ("--workload", "resnet9_thin", "--strategy", "pipeline", "--workers", "3",
            "--processes", "3")
LOCAL = ("--workload", "parabola", "--strategy", "local_sgd", "--sync-every", "4", "--workers", "2",
         "--processes", "2")
ASYNC = ("--workload", "parabola", "--strategy", "parameter_server_async", "--workers", "2")
SHARDED = ("--workload", "parabola", "--strategy", "sharded", "--shard", "parameters",
           "--workers", "3", "--processes", "3")
BOTH = ("--workload", "resnet9_thin", "--strategy", "all_reduce+pipeline", "--workers", "4",
        "--stages", "2", "--processes", "4")
ALL = (RING, SERVERS, PIPELINE, LOCAL, ASYNC, SHARDED, BOTH)
SMALL = ("--workload", "parabola", "--strategy", "all_reduce", "--workers", "2", "--processes", "2")


class Traces(NamedTuple):
    nodes: list[list[TraceNode]]  # by process
    groups: dict[str, list[int]]


@functools.cache
def traces_of(*flags: str) -> Traces:
    folder = fresh_folder() / "traces"
    output_of("graph", *flags, "--format", "chakra", "--out", str(folder))
    files = sorted(folder.glob("*.et"))
    names = {f"chakra.{process}.et" for process in range(len(files))}
    if {path.name for path in folder.iterdir()} - {"comm_groups.json"} != names:
        raise AssertionError(f"{flags}: {files}")
    return Traces([read_trace(folder / f"chakra.{process}.et") for process in range(len(files))],
                  groups_in(folder, len(files)))


@functools.cache
def parts_of(*flags: str) -> list[str]:
    """The output of `regatta graph` for each process."""
    return re.split(r"(?<=a step\n)(?=variable|%0 )", output_of("graph", *flags))


def bytes_of(nodes: list[TraceNode], kind: str) -> int:
    return sum(node.attributes["comm_size"] for node in nodes if node.type == kind)


def traffic_in(part: str) -> tuple[int, int, int]:
    """Bytes sent, bytes received and messages of a step, summed over the places."""
    found = re.findall(r"(?m)^# .* sends (\d+) bytes and receives (\d+) bytes in (\d+) messages",
                       part)
    return tuple(sum(int(place[i]) for place in found) for i in range(3))  # type: ignore


def run_all(traces: Traces) -> int:
    """Counts the nodes that end if each begins when its dependencies have ended, a receive ends
    with its send, and the n-th collectives of a group end together at all members."""
    done: list[set[int]] = [set() for _ in traces.nodes]
    sent: set[tuple[int, ...]] = set()
    reached: dict[tuple[str, int], list[tuple[int, int]]] = {}
    begun: list[set[int]] = [set() for _ in traces.nodes]
    counts: Counter[tuple[str, int]] = Counter()
    before = -1
    while before != (before := sum(map(len, done))):
        for process, nodes in enumerate(traces.nodes):
            for node in nodes:
                if node.id in begun[process]:
                    continue
                if not done[process].issuperset(node.ctrl_deps + node.data_deps):
                    continue
                of = node.attributes
                if node.type == "COMM_RECV_NODE" and channel(node) not in sent:
                    continue
                begun[process].add(node.id)
                if node.type == "COMM_COLL_NODE":
                    key = of["pg_name"], counts[of["pg_name"], process]
                    counts[of["pg_name"], process] += 1
                    members = reached.setdefault(key, [])
                    members.append((process, node.id))
                    if len(members) == len(traces.groups[of["pg_name"]]):
                        for member, id in members:
                            done[member].add(id)
                    continue
                if node.type == "COMM_SEND_NODE":
                    sent.add(channel(node))
                done[process].add(node.id)
    return before


def channel(node: TraceNode) -> tuple[int, ...]:
    return tuple(node.attributes[name] for name in ("comm_src", "comm_dst", "comm_tag",
                                                    "comm_size"))


class Trace(unittest.TestCase):
    def test_has_a_node_for_each_instruction_of_a_step(self) -> None:
        view = re.compile(r"= (read|reshape|slice|sent)\(")
        for flags in (RING, SERVERS, PIPELINE, BOTH):
            for part, nodes in zip(parts_of(*flags), traces_of(*flags).nodes, strict=True):
                lines = [line for line in part.splitlines()
                         if line.startswith("%") and not view.search(line)]
                ops = [re.search(r"= (\w+)", line)[1] for line in lines]
                self.assertEqual([node.name.split()[0] for node in nodes], ops, flags)
                self.assertEqual([node.id for node in nodes], list(range(1, len(ops) + 1)))

    def test_depends_on_what_stands_before_it(self) -> None:
        for flags in ALL:
            for nodes in traces_of(*flags).nodes:
                for node in nodes:
                    deps = node.ctrl_deps + node.data_deps
                    self.assertEqual(len(deps), len(set(deps)))
                    self.assertTrue(all(0 < id < node.id for id in deps), (flags, node))

    def test_of_all_processes_runs_to_its_end(self) -> None:
        for flags in ALL:
            traces = traces_of(*flags)
            self.assertEqual(run_all(traces), sum(map(len, traces.nodes)), flags)

    def test_has_for_each_send_the_receive_of_its_bytes_and_tag(self) -> None:
        for flags in (SERVERS, PIPELINE, ASYNC, BOTH):
            ends: dict[str, list[tuple[int, ...]]] = {"COMM_SEND_NODE": [], "COMM_RECV_NODE": []}
            for process, nodes in enumerate(traces_of(*flags).nodes):
                for node in nodes:
                    if node.type in ends:
                        own = "comm_src" if node.type == "COMM_SEND_NODE" else "comm_dst"
                        self.assertEqual(node.attributes[own], process)
                        ends[node.type].append(channel(node))
            sends, receives = ends.values()
            self.assertGreater(len(sends), 0)
            self.assertEqual(sorted(sends), sorted(receives), flags)
            self.assertEqual(len({end[:3] for end in sends}), len(sends), flags)

    def test_moves_the_bytes_that_the_graph_counts(self) -> None:
        for flags in (SERVERS, PIPELINE, ASYNC):
            for part, nodes in zip(parts_of(*flags), traces_of(*flags).nodes, strict=True):
                sent, received, messages = traffic_in(part)
                self.assertEqual(bytes_of(nodes, "COMM_SEND_NODE"), sent, flags)
                self.assertEqual(bytes_of(nodes, "COMM_RECV_NODE"), received, flags)
                self.assertEqual(sum(node.type == "COMM_RECV_NODE" for node in nodes), messages)

    def test_has_the_buckets_of_a_ring(self) -> None:
        for part, nodes in zip(parts_of(*RING), traces_of(*RING).nodes, strict=True):
            rings = [node for node in nodes if node.is_communication()]
            self.assertGreater(len(rings), 10)
            self.assertEqual({node.attributes["comm_type"] for node in rings}, {ALL_REDUCE})
            self.assertEqual({node.attributes["pg_name"] for node in rings}, {"0"})
            self.assertEqual({node.attributes["algorithm"] for node in rings}, {"ring"})
            sent, received, _ = traffic_in(part)
            # 2 (n - 1) / n M; shares of a bucket differ by an element of 4 bytes.
            by_formula = 2 * 3 / 4 * sum(node.attributes["comm_size"] for node in rings)
            self.assertAlmostEqual(sent, by_formula, delta=2 * 4 * len(rings))
            self.assertAlmostEqual(received, by_formula, delta=2 * 4 * len(rings))

    def test_counts_work_and_bytes_of_kernels(self) -> None:
        by_name = {node.name: node.attributes for node in traces_of(*SMALL).nodes[0]}
        # 25 examples of the 50: [25, 1] by [5, 1] gives [25, 5].
        self.assertEqual(by_name["dense hidden"], {"is_cpu_op": False, "num_ops": 2 * 25 * 5,
                                                   "tensor_size": 4 * (25 + 5 + 25 * 5)})
        self.assertEqual(by_name["tanh hidden"]["num_ops"], 25 * 5)


@unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
class Times(unittest.TestCase):
    file: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.file = fresh_folder() / "calibration.json"
        output_of("calibrate", *SMALL, "--out", str(cls.file))

    def cluster(self, kernels: dict[str, float]) -> str:
        folder = fresh_folder()
        made = json.loads(self.file.read_text()) | {"kernels": kernels}
        (folder / "calibration.json").write_text(json.dumps(made))
        (folder / "cluster.toml").write_text(
            'calibration = "calibration.json"\n[[host]]\ncount = 2\n')
        return str(folder / "cluster.toml")

    def test_are_those_of_the_calibration_rounded_once(self) -> None:
        kernels = json.loads(self.file.read_text())["kernels"]
        nodes, _ = traces_of(*SMALL, "--cluster", self.cluster(dict.fromkeys(kernels, 1300))).nodes
        times = [node.duration_micros for node in nodes if not node.is_communication()]
        self.assertEqual(sum(times), round(1.3 * len(times)))
        self.assertEqual(set(times), {1, 2})
        self.assertEqual(sum(node.duration_micros for node in nodes), sum(times))

    def test_that_are_missing_are_an_error(self) -> None:
        done = regatta("graph", *SMALL, "--format", "chakra", "--cluster", self.cluster({}),
                       "--out", str(fresh_folder() / "traces"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"lacks \d+ kernels of this cell")


class BadInput(unittest.TestCase):
    def refused(self, says: str, *flags: str) -> None:
        done = regatta("graph", *flags)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, says)

    def test_is_refused_in_one_line(self) -> None:
        out = ("--format", "chakra", "--out", str(fresh_folder() / "traces"))
        full = fresh_folder()
        (full / "mine").write_text("mine")
        self.refused(r"name a new folder with --out", *SMALL, "--format", "chakra")
        self.refused(r"--out is for --format chakra", *SMALL, "--out", "traces")
        self.refused(r"--cluster is for --format chakra", *SMALL, "--cluster", "cluster.toml")
        self.refused(r"is not empty", *SMALL, "--format", "chakra", "--out", str(full))
        self.refused(r"cannot read none.toml", *SMALL, *out, "--cluster", "none.toml")
        self.refused(r"a process has 2; fix: give --processes 2", *SMALL[:-2], *out)
        self.refused(r"no trace waits for the first of several workers", *SERVERS,
                     "--backup-workers", "1", *out)
        for strategy in (("async_shared",), ("ad_psgd", "--processes", "2")):
            self.refused(r"reach into one another's parameters", *SMALL[:2], "--workers", "2",
                         "--strategy", *strategy, *out)
        self.refused(r"did you mean 'chakra'", *SMALL, "--format", "chakras")


if __name__ == "__main__":
    run_tests()
