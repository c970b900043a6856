# SPDX-License-Identifier: Apache-2.0
"""Races over several processes: real ranks, started by mpirun, and what happens when they die.

usage: processes_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)
if shutil.which("mpirun") is None:
    print("skipped: mpirun is not installed")
    sys.exit(77)

REGATTA = str(Path(sys.argv[1]).resolve())
SCHEMA: dict[str, Any] = json.loads(Path(sys.argv[2]).read_text())
SCRATCH = tempfile.TemporaryDirectory(prefix="regatta-processes-")

PARABOLA = ("--workload", "parabola", "--steps", "200")
# Steps of some 20 ms, so that a signal meets a run between its ends.
LONG = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32",
        "--steps", "100000", "--strategy", "all_reduce", "--workers", "2", "--processes", "2")
END_LIMIT_S = 10  # from a death to the failed row
LEFT_LIMIT_S = 15  # to the last process


def fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def regatta(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([REGATTA, *arguments], capture_output=True, text=True, timeout=300,
                          env=os.environ | environment)


def records_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


@functools.cache
def record_of(*arguments: str) -> dict[str, Any]:
    """The one record of a run. The same arguments run once."""
    folder = fresh_folder()
    done = regatta("run", *arguments, "--out", str(folder))
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return records_in(folder)[0]


def losses_of(record: dict[str, Any]) -> list[float]:
    return [evaluation["loss"] for evaluation in record["evaluations"]]


def soon(condition: Callable[[], bool], limit_s: float) -> bool:
    """Whether the condition holds within the limit."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def children_of(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has just ended
        return []


def is_alive(pid: int) -> bool:
    """Zombies are not: they hold nothing."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def rank_of(pid: int) -> int | None:
    """Of a process that mpirun has started and that has become this program."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
    name = b"OMPI_COMM_WORLD_RANK="
    ranks = [int(entry[len(name):]) for entry in environment if entry.startswith(name)]
    return ranks[0] if ranks and program == REGATTA else None


class Run:
    """A race over processes that is under way."""

    def __init__(self, *arguments: str, ranks: int = 2) -> None:
        self.folder = fresh_folder()
        self.launcher = subprocess.Popen([REGATTA, "run", *arguments, "--out", str(self.folder)],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ranks: dict[int, int] = {}
        if not soon(lambda: self.find_ranks() == ranks, 30):
            self.launcher.kill()
            raise AssertionError(f"no {ranks} ranks: {self.launcher.communicate()}")
        self.mpirun = children_of(self.launcher.pid)

    def find_ranks(self) -> int:
        for mpirun in children_of(self.launcher.pid):
            for pid in children_of(mpirun):
                rank = rank_of(pid)
                if rank is not None:
                    self.ranks[rank] = pid
        return len(self.ranks)

    def await_training(self) -> None:
        """Until the first evaluation has been printed, and a little more."""
        assert self.launcher.stdout is not None
        self.launcher.stdout.readline()
        time.sleep(0.5)

    def end(self, limit_s: float = END_LIMIT_S) -> dict[str, Any]:
        """The record, which has to be there within the limit; the exit code is a failed run's."""
        if not soon(lambda: (self.folder / "records.jsonl").exists()
                    and (self.folder / "records.jsonl").stat().st_size > 0, limit_s):
            self.launcher.kill()
            raise AssertionError(f"no record within {limit_s} s: {self.launcher.communicate()}")
        self.launcher.wait(timeout=LEFT_LIMIT_S)
        self.launcher.communicate()
        return records_in(self.folder)[-1]

    def left(self) -> list[int]:
        """Processes that still run after a time in which all should have ended."""
        pids = [*self.ranks.values(), *self.mpirun, self.launcher.pid]
        soon(lambda: not any(is_alive(pid) for pid in pids), LEFT_LIMIT_S)
        return [pid for pid in pids if is_alive(pid)]


class Processes(unittest.TestCase):
    def test_of_independent_replicas_share_the_batches(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "independent", "--workers", "2",
                           "--processes", "2")
        self.assertEqual(record["evaluations"][-1]["examples"], 200 * 50)
        self.assertEqual([worker["steps"] for worker in record["workers"]], [200, 200])

    def test_leave_a_record_that_satisfies_the_schema(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "all_reduce", "--workers", "3",
                           "--processes", "2")
        validator = jsonschema.Draft202012Validator(SCHEMA)
        self.assertEqual([error.message for error in validator.iter_errors(record)], [])
        self.assertEqual(record["cell"]["processes"], 2)
        self.assertEqual([worker["rank"] for worker in record["workers"]], [0, 0, 1])
        self.assertEqual([worker["place"] for worker in record["workers"]],
                         ["replica0", "replica1", "replica2"])
        self.assertEqual(len(record["graph"]["nodes_per_process"]), 2)
        self.assertEqual(sum(record["graph"]["nodes_per_process"]), record["graph"]["nodes"])

    def test_follow_one_process_bit_for_bit(self) -> None:
        for algorithm, workers, processes in (("ring", 2, 2), ("ring", 3, 2), ("ring", 3, 3),
                                              ("reduce_to_one", 5, 2)):
            cell = (*PARABOLA, "--strategy", "all_reduce", "--workers", str(workers),
                    "--all-reduce", algorithm)
            with self.subTest(algorithm=algorithm, workers=workers, processes=processes):
                one = record_of(*cell)
                several = record_of(*cell, "--processes", str(processes))
                self.assertEqual(losses_of(several), losses_of(one))
                self.assertEqual(several["checksums"], one["checksums"])
                for ours, expected in zip(several["losses"], one["losses"], strict=True):
                    self.assertEqual(ours["examples"], expected["examples"])
                    self.assertAlmostEqual(ours["loss"], expected["loss"], places=5)

    def test_build_graphs_that_do_not_grow_with_the_workers(self) -> None:
        nodes = {}
        for strategy in ("in_graph", "all_reduce"):
            for workers in ("2", "3", "5"):
                processes = workers if strategy == "all_reduce" else "1"
                record = record_of("--workload", "parabola", "--steps", "1", "--strategy",
                                   strategy, "--workers", workers, "--processes", processes)
                nodes[strategy, workers] = record["graph"]["nodes_per_process"]
                self.assertEqual(len(nodes[strategy, workers]), int(processes))
        self.assertLess(nodes["in_graph", "2"], nodes["in_graph", "3"])
        self.assertLess(nodes["in_graph", "3"], nodes["in_graph", "5"])
        for workers in "235":
            self.assertEqual(set(nodes["all_reduce", workers]), set(nodes["all_reduce", "2"]))

    def test_average_running_statistics_like_one_process(self) -> None:
        cell = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32",
                "--steps", "6", "--strategy", "all_reduce", "--workers", "2")
        self.assertEqual(losses_of(record_of(*cell, "--processes", "2")),
                         losses_of(record_of(*cell)))

    def test_count_the_bytes_that_the_graph_says(self) -> None:
        for algorithm in ("ring", "reduce_to_one", "hierarchical_copy", "mpi"):
            record = record_of(*PARABOLA, "--strategy", "all_reduce", "--workers", "2",
                               "--processes", "2", "--all-reduce", algorithm)
            with self.subTest(algorithm=algorithm):
                graph = record["graph"]
                self.assertGreater(graph["bytes_per_step_computed"], 0)
                self.assertEqual(graph["bytes_per_step_counted"], graph["bytes_per_step_computed"])

    def test_hold_whole_replicas_of_a_composition(self) -> None:
        cell = (*PARABOLA, "--strategy", "all_reduce+model_parallel", "--workers", "4",
                "--stages", "2")
        several = record_of(*cell, "--processes", "2")
        self.assertEqual(losses_of(several), losses_of(record_of(*cell)))
        self.assertEqual([worker["rank"] for worker in several["workers"]], [0, 0, 1, 1])

    def test_write_a_trace_each(self) -> None:
        file = fresh_folder() / "trace.json"
        record_of(*PARABOLA, "--strategy", "all_reduce", "--workers", "2", "--processes", "2",
                  "--trace", str(file))
        for rank in (0, 1):
            events = json.loads(Path(f"{file}.rank{rank}").read_text())["traceEvents"]
            self.assertLessEqual({"compute", "communication"},
                                 {event["cat"] for event in events if event["ph"] == "X"})
        self.assertFalse(file.exists())

    def test_keep_what_ranks_print(self) -> None:
        folder = fresh_folder()
        done = regatta("run", *PARABOLA, "--strategy", "independent", "--workers", "2",
                       "--processes", "2", "--out", str(folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        logs = folder / "ranks" / records_in(folder)[0]["run_id"]
        self.assertRegex((logs / "rank0.log").read_text(), r"^regatta: rank 0 of 2.*replica0\n$")
        self.assertRegex((logs / "rank1.log").read_text(), r"^regatta: rank 1 of 2.*replica1\n$")
        self.assertEqual({path.name for path in logs.iterdir()}, {"rank0.log", "rank1.log"})


class Allocation(unittest.TestCase):
    """Of processes that exist already: the user ran mpirun."""

    def start(self, folder: Path, processes: int,
              *arguments: str) -> subprocess.CompletedProcess[str]:
        root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
        return subprocess.run(["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np",
                               str(processes), REGATTA, "run", *PARABOLA, *arguments, "--out",
                               str(folder)], capture_output=True, text=True, timeout=120)

    def test_is_joined(self) -> None:
        for strategy, processes in (("all_reduce", 2), ("parameter_server", 3)):
            cell = ("--strategy", strategy, "--workers", "2")
            folder = fresh_folder()
            done = self.start(folder, processes, *cell, "--processes", "2")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            records = records_in(folder)
            self.assertEqual(len(records), 1)
            expected = record_of(*PARABOLA, *cell, "--processes", "1")
            self.assertEqual(losses_of(records[0]), losses_of(expected))

    def test_of_another_size_is_refused(self) -> None:
        folder = fresh_folder()
        done = self.start(folder, 3, "--strategy", "all_reduce", "--workers", "2", "--processes",
                          "2")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mpirun has started 3 processes, but this run has 2", done.stderr)
        self.assertFalse((folder / "records.jsonl").exists())


class ParameterServers(unittest.TestCase):
    def test_of_a_synchronous_run_follow_one_process_bit_for_bit(self) -> None:
        for workers, processes, servers in ((2, 2, 1), (3, 2, 2), (3, 3, 3), (5, 2, 1)):
            cell = (*PARABOLA, "--strategy", "parameter_server", "--workers", str(workers),
                    "--servers", str(servers))
            with self.subTest(workers=workers, processes=processes, servers=servers):
                one = record_of(*cell, "--processes", "1")
                several = record_of(*cell, "--processes", str(processes))
                self.assertEqual(losses_of(several), losses_of(one))
                self.assertEqual(several["checksums"], one["checksums"])
                self.assertEqual(several["cell"]["processes"], servers + processes)
                self.assertEqual(several["cell"]["servers"], servers)

    def test_have_a_process_each_as_have_the_workers(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "parameter_server", "--workers", "2",
                           "--servers", "2")
        ranks = {worker["place"]: worker["rank"] for worker in record["workers"]}
        self.assertEqual(ranks, {"server0": 0, "server1": 1, "replica0": 2, "replica1": 3})
        self.assertEqual(record["machine"]["link"], "gRPC")

    def test_count_the_bytes_that_the_graph_says(self) -> None:
        for strategy in ("parameter_server", "parameter_server_async"):
            record = record_of(*PARABOLA, "--strategy", strategy, "--workers", "2")
            graph = record["graph"]
            self.assertGreater(graph["bytes_per_step_computed"], 0)
            self.assertEqual(graph["bytes_per_step_counted"], graph["bytes_per_step_computed"])

    def test_of_an_asynchronous_run_measure_staleness(self) -> None:
        for servers in ("1", "2"):
            record = record_of("--workload", "parabola", "--steps", "2000", "--strategy",
                               "parameter_server_async", "--workers", "2", "--servers", servers)
            with self.subTest(servers=servers):
                self.assertEqual(record["evaluations"][-1]["examples"], 2000 * 50)
                updates = [sum(w["staleness_histogram"]) for w in record["workers"]]
                # Weight and bias of two layers; each worker's step is half a batch. Servers may
                # hold a variable in parts.
                self.assertGreaterEqual(sum(updates), 2 * 2000 * 4)
                steps = [w["steps"] for w in record["workers"] if "server" not in w["place"]]
                self.assertEqual(sum(steps), 2 * 2000)
                self.assertGreater(min(steps), 0)

    def test_of_a_bounded_run_let_no_worker_run_away(self) -> None:
        cell = ("--workload", "parabola", "--steps", "1000", "--strategy",
                "parameter_server_async", "--workers", "2", "--straggler", "1:50")
        bounded = record_of(*cell, "--staleness-bound", "1")
        steps = [w["steps"] for w in bounded["workers"] if "server" not in w["place"]]
        self.assertLessEqual(abs(steps[0] - steps[1]), 2)
        self.assertEqual(bounded["cell"]["staleness_bound"], 1)


class BadInput(unittest.TestCase):
    def refusal(self, *arguments: str, **environment: str) -> str:
        folder = fresh_folder()
        done = regatta("run", *PARABOLA, *arguments, "--out", str(folder), **environment)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertFalse((folder / "records.jsonl").exists())
        return done.stderr

    def test_is_refused_before_a_rank_starts(self) -> None:
        two = ("--workers", "2", "--processes", "2")
        for arguments, text in (
                (("--strategy", "in_graph", *two), r"'in_graph' runs in one process"),
                (("--strategy", "async_shared", *two), r"'async_shared' runs in one process"),
                (("--processes", "2"), r"'single' runs in one process"),
                (("--strategy", "all_reduce", "--workers", "2", "--processes", "3"),
                 r"--processes is 3, but there are only 2 replicas"),
                (("--strategy", "all_reduce", "--workers", "2", "--processes", "0"),
                 r"--processes is 0; at least 1"),
                (("--strategy", "all_reduce", *two, "--servers", "1"),
                 r"'all_reduce' has no servers"),
                (("--strategy", "parameter_server", *two, "--servers", "0"),
                 r"--servers is 0; 1 to"),
                (("--strategy", "parameter_server", *two, "--staleness-bound", "1"),
                 r"--staleness-bound is for parameter_server_async"),
                (("--strategy", "parameter_server_async", *two, "--staleness-bound", "-1"),
                 r"--staleness-bound is 0 or more"),
                (("--strategy", "all_reduce", *two, "--continue-on-loss"),
                 r"--continue-on-loss is for parameter_server_async"),
                (("--strategy", "all_reduce", *two, "--hosts", "/dev/null"),
                 r"--hosts needs --listen"),
                (("--strategy", "all_reduce", *two, "--hosts", "/dev/null", "--listen",
                  "127.0.0.1"), r"--listen 127\.0\.0\.1 .*cannot be reached from other"),
                (("--strategy", "all_reduce", *two, "--listen", "203.0.113.1"),
                 r"cannot listen on '203\.0\.113\.1'"),
        ):
            with self.subTest(arguments=arguments):
                self.assertRegex(self.refusal(*arguments), text)

    def test_is_a_missing_mpirun(self) -> None:
        error = self.refusal("--strategy", "all_reduce", "--workers", "2", "--processes", "2",
                             PATH="/nonexistent")
        self.assertRegex(error, r"cannot start mpirun: No such file.*ci/packages\.sh")

    def refusal_of_rank_1(self, *arguments: str) -> str:
        """A wrapper of mpirun gives rank 1 more arguments."""
        folder = fresh_folder()
        wrapper = folder / "mpirun"
        wrapper.write_text(f"""#!/usr/bin/python3
import os, sys
at = sys.argv.index("-np")
head, program = sys.argv[1:at], sys.argv[at + 2:]
exported = [word for pair in zip(head, head[1:]) if pair[0] == "-x" for word in pair]
os.execv("{shutil.which('mpirun')}", ["mpirun", *head, "-np", "1", *program, ":", *exported,
                                      "-np", "1", *program, *{arguments!r}])
""")
        wrapper.chmod(0o755)
        return self.refusal("--strategy", "all_reduce", "--workers", "2", "--processes", "2",
                            PATH=f"{folder}:{os.environ['PATH']}")

    def test_of_one_rank_shows_both_sides(self) -> None:
        error = self.refusal_of_rank_1("--seed", "7", "--global-batch", "40")
        self.assertRegex(error, r"do not agree.*rank 1 \(replica1, process \d+ on \S+\): "
                                r"seed \(1 here, 7 there\), recipe \(batch 50.*batch 40")
        self.assertNotIn("rank 0", error)

    def test_of_a_rank_is_told_with_its_rank(self) -> None:
        error = self.refusal_of_rank_1("--dataset", "shapes")
        self.assertRegex(error, r"rank 1 .*unknown dataset for workload 'parabola' 'shapes'")


class Divergence(unittest.TestCase):
    def test_of_a_rank_ends_the_run_with_what_all_ranks_had_measured(self) -> None:
        folder = fresh_folder()
        done = regatta("run", *PARABOLA, "--strategy", "all_reduce", "--workers", "2",
                       "--processes", "2", "--rate-scale", "1e30", "--out", str(folder))
        self.assertEqual(done.returncode, 2)
        record = records_in(folder)[0]
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "diverged"))
        self.assertRegex(record["failure"]["text"], r"rank \d \(replica\d, process .*step")
        self.assertEqual([worker["rank"] for worker in record["workers"]], [0, 1])


class Death(unittest.TestCase):
    def check_failed(self, record: dict[str, Any], text: str) -> None:
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "peer_lost"))
        self.assertRegex(record["failure"]["text"], text)

    def test_of_any_rank_while_training_fails_the_run_and_names_it(self) -> None:
        for rank in (0, 1):
            run = Run(*LONG)
            run.await_training()
            os.kill(run.ranks[rank], signal.SIGKILL)
            self.check_failed(run.end(),
                              rf"rank {rank} \(replica{rank}, process {run.ranks[rank]} on .* was "
                              r"lost after about \d+ steps: it exited on signal 9 \(Killed\); its "
                              rf"output is in .*rank{rank}\.log")
            self.assertEqual(run.launcher.returncode, 2)
            self.assertEqual(run.left(), [])

    def test_of_a_rank_that_has_just_started_fails_the_run(self) -> None:
        run = Run(*LONG)
        os.kill(run.ranks[1], signal.SIGKILL)
        self.check_failed(run.end(), r"rank 1 .*signal 9")
        self.assertEqual(run.left(), [])

    def test_of_mpirun_fails_the_run(self) -> None:
        run = Run(*LONG)
        run.await_training()
        os.kill(run.mpirun[0], signal.SIGKILL)
        record = run.end()
        self.assertEqual(record["failure"]["kind"], "peer_lost")
        self.assertEqual(run.left(), [])

    def test_of_the_launcher_ends_all_ranks(self) -> None:
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            run = Run(*LONG)
            run.await_training()
            run.launcher.send_signal(number)
            run.launcher.communicate()
            self.assertEqual(run.launcher.returncode, -number)
            self.assertEqual(run.left(), [], number)


class DeathUnderParameterServers(unittest.TestCase):
    def start(self, strategy: str, *arguments: str) -> Run:
        run = Run("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32",
                  "--strategy", strategy, "--workers", "2", *arguments, ranks=3)
        run.await_training()
        return run

    def test_of_any_role_fails_a_synchronous_run(self) -> None:
        for rank, place in ((0, "server0"), (2, "replica1")):
            run = self.start("parameter_server", "--steps", "100000")
            os.kill(run.ranks[rank], signal.SIGKILL)
            record = run.end()
            self.assertEqual(record["failure"]["kind"], "peer_lost")
            self.assertRegex(record["failure"]["text"],
                             rf"rank {rank} \({place}, process .*exited on signal 9")
            self.assertEqual(run.left(), [])

    def test_of_a_worker_is_survived_by_an_asynchronous_run_that_may_go_on(self) -> None:
        for servers in ("1", "2"):
            run = Run("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32",
                      "--strategy", "parameter_server_async", "--workers", "2", "--servers",
                      servers, "--steps", "60", "--continue-on-loss", ranks=2 + int(servers))
            run.await_training()
            os.kill(run.ranks[int(servers) + 1], signal.SIGKILL)
            record = run.end(limit_s=60)
            with self.subTest(servers=servers):
                self.assertIn(record["status"], ("missed", "reached"), record["failure"])
                self.assertEqual(record["evaluations"][-1]["examples"], 60 * 32)
                self.assertNotIn("replica1", [w["place"] for w in record["workers"]])
                self.assertEqual(len(record["lost_processes"]), 1)
                self.assertRegex(record["lost_processes"][0], r"^rank \d \(replica1, .*was lost")
                self.assertEqual(run.left(), [])

    def test_of_a_server_fails_an_asynchronous_run_that_may_go_on(self) -> None:
        run = self.start("parameter_server_async", "--steps", "100000", "--continue-on-loss")
        os.kill(run.ranks[0], signal.SIGKILL)
        record = run.end()
        self.assertRegex(record["failure"]["text"], r"rank 0 \(server0, .*was lost")
        self.assertEqual(run.left(), [])

    def test_by_stopping_is_told_to_a_worker_that_resumes(self) -> None:
        run = self.start("parameter_server_async", "--steps", "1500", "--continue-on-loss")
        os.kill(run.ranks[2], signal.SIGSTOP)
        time.sleep(8)
        os.kill(run.ranks[2], signal.SIGCONT)
        self.assertTrue(soon(lambda: not is_alive(run.ranks[2]), 5))
        self.assertIsNone(run.launcher.poll())
        logs = list((run.folder / "ranks").rglob("rank2.log"))
        self.assertRegex(logs[0].read_text(), r"this rank ends: rank 2 .*said nothing for 5 s")
        run.launcher.terminate()
        run.launcher.communicate()
        self.assertEqual(run.left(), [])


class Stop(unittest.TestCase):
    def test_of_a_rank_for_long_fails_the_run(self) -> None:
        run = Run(*LONG)
        run.await_training()
        os.kill(run.ranks[1], signal.SIGSTOP)
        record = run.end()
        self.assertEqual(record["failure"]["kind"], "peer_lost")
        self.assertRegex(record["failure"]["text"], r"rank 1 .*has said nothing for 5 s")
        self.assertEqual(run.left(), [])

    def test_of_a_rank_for_a_moment_does_no_harm(self) -> None:
        short = [*LONG]
        short[short.index("--steps") + 1] = "60"
        run = Run(*short)
        run.await_training()
        os.kill(run.ranks[1], signal.SIGSTOP)
        time.sleep(2.5)
        os.kill(run.ranks[1], signal.SIGCONT)
        record = run.end(limit_s=60)
        self.assertIn(record["status"], ("missed", "reached"))
        self.assertEqual(run.left(), [])

    def test_of_the_launcher_for_long_does_no_harm(self) -> None:
        run = Run(*LONG)
        run.await_training()
        run.launcher.send_signal(signal.SIGSTOP)
        time.sleep(7)
        run.launcher.send_signal(signal.SIGCONT)
        time.sleep(1.5)
        self.assertIsNone(run.launcher.poll())
        run.launcher.terminate()
        run.launcher.communicate()
        self.assertEqual(run.left(), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
