# SPDX-License-Identifier: Apache-2.0
"""Races over processes whose ports are reached by clients of other runs and versions; and races
that find no port free. Real ranks, real sockets.

usage: strangers_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed. Needs call_as_stranger beside REGATTA.
"""

import contextlib
import functools
import math
import os
import re
import socket
import subprocess
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

from proc_support import environment_of, listening_at, open_ports, processes_with
from run_support import END_LIMIT_S, Run, rank_of
from test_support import (MARK, PARABOLA, REGATTA, environment_of_its_own, fresh_folder, losses_of,
                          record_of, run_tests, skip_without_mpirun, soon)

skip_without_mpirun()

STRANGER = Path(REGATTA).with_name("call_as_stranger")
SCARCE_PORTS = ("/usr/bin/python3", str(Path(__file__).with_name("scarce_ports.py")))
RAPID_RESETS = ("/usr/bin/python3", str(Path(__file__).with_name("rapid_resets.py")))
SERVER = ("--strategy", "parameter_server", "--workers", "2")
RING = ("--strategy", "all_reduce", "--workers", "2")
LOOPBACK = {"127.0.0.1", "::1"}
OVER_PROCESSES = ("--processes", "2")  # a server has one of its own
END_LIMIT_OF_RACE_S = 60
RACE_S = 4  # of training that strangers may disturb
OTHER_ID, OTHER_TOKEN = "0" * 32, "0" * 64
CONTROL, EXCHANGE = "/regatta.control.Control/Session", "/regatta.Exchange/Stream"
HELLO_OF_RANK_1 = b"\x0a\x02\x08\x01"  # harness/ranks/control.proto


@functools.cache
def long_race(strategy: tuple[str, ...], seconds: int = RACE_S) -> tuple[str, ...]:
    """The parabola with as many steps as take `seconds` over processes, here and now."""
    step_ns = record_of(*PARABOLA, *strategy, *OVER_PROCESSES)["step_time_ns"]["p50"]
    return "--workload", "parabola", "--steps", str(round(seconds * 1e9 / step_ns)), *strategy


class Strangers(unittest.TestCase):
    race_s = RACE_S

    @contextlib.contextmanager
    def undisturbed(self, strategy: tuple[str, ...]) -> Iterator[Run]:
        """A race that the block must not disturb, and that lasts longer than the block."""
        race = long_race(strategy, self.race_s)
        run = Run(*race, *OVER_PROCESSES, ranks=3)
        run.await_line("step 0 ")
        run.send(0)  # notes its sockets
        try:
            yield run
        except BaseException:
            run.launcher.terminate()
            raise
        self.assertIsNone(run.launcher.poll(), f"the race was over before its time: {run.said()}")
        self.record = run.end(END_LIMIT_OF_RACE_S)
        self.assertEqual((self.record["failure"], run.launcher.returncode), (None, 0))
        in_one_process = record_of(*race, "--processes", "1")  # the same bits, computed in a moment
        self.assertEqual(losses_of(self.record), losses_of(in_one_process))
        self.assertEqual((run.left(), run.errors.read_text()), ([], ""))


class Clients(Strangers):
    door = ""

    def answer(self, address: str, method: str, metadata: dict[str, str],
               message: bytes = b"") -> str:
        """The answer to a client that has passed the door."""
        done = subprocess.run(
            [STRANGER, address, self.door, method,
             *(f"{key}={value}" for key, value in metadata.items())],
            input=message, capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().strip()

    def check_refusals(self, address: str, method: str, sound: dict[str, str]) -> None:
        """Checks the refusal of clients whose metadata are those in `sound` except for one
        entry."""
        for key, value, words in (
                ("regatta-protocol", "9", r"FAILED_PRECONDITION: .*'9'"),
                ("regatta-protocol", "", r"FAILED_PRECONDITION: .*''"),
                ("regatta-run", OTHER_ID, r"FAILED_PRECONDITION: .*another run$"),
                ("regatta-token", OTHER_TOKEN, r"UNAUTHENTICATED: the token is not this run's$"),
                ("regatta-token", "", r"UNAUTHENTICATED: the token is not this run's$"),
        ):
            with self.subTest(method=method, key=key, value=value):
                self.assertRegex(self.answer(address, method, sound | {key: value}), f"^{words}")
        self.assertRegex(self.answer(address, method + "Other", sound), "^UNIMPLEMENTED")

    def test_of_other_runs_and_versions_and_with_bad_messages_are_told_what_is_wrong(self) -> None:
        with self.undisturbed(SERVER) as run:
            of_rank = environment_of(run.ranks[0])
            run_id, token = of_rank["REGATTA_RUN_ID"], of_rank["REGATTA_TOKEN"]
            self.door = token[:32]
            rank = {"regatta-protocol": "2", "regatta-run": run_id, "regatta-token": token}
            coordinator = of_rank["REGATTA_COORDINATOR"]
            self.check_refusals(coordinator, CONTROL, rank)
            for message, words in ((HELLO_OF_RANK_1, "ALREADY_EXISTS: rank 1 has a session"),
                                   (bytes(3 << 20), "(RESOURCE_EXHAUSTED|INVALID_ARGUMENT): "),
                                   (b"\xff" * 100, "(INTERNAL|INVALID_ARGUMENT): ")):
                self.assertRegex(self.answer(coordinator, CONTROL, rank, message), f"^{words}")
            (port,) = open_ports(run.ranks[0])
            server = f"127.0.0.1:{port}"
            worker = {"regatta-protocol": "1", "regatta-run": run_id, "regatta-token": token,
                      "regatta-process": "1"}
            self.check_refusals(server, EXCHANGE, worker)
            for process, words in (("0", "INVALID_ARGUMENT: process is '0', must be 1 to 2"),
                                   ("1", "ALREADY_EXISTS: process 1 was connected before")):
                one = worker | {"regatta-process": process}
                self.assertRegex(self.answer(server, EXCHANGE, one, bytes(17 << 20)), f"^{words}")


class Attack(Strangers):
    race_s = 2 * RACE_S  # for many streams on a slow machine
    STREAMS = 250_000
    MOST_BYTES = 200 << 20  # of memory, of each process
    MOST_TIMES = 2  # factor on the time of a step
    CALM, WATCHED = 0.3, 0.9  # shares of the race: before the attack, and until memory is checked
    TOLD = 0.1  # share between two progress lines of the race
    TRIES = 3

    def test_by_rapid_resets_costs_neither_memory_nor_time(self) -> None:
        """The attack has no token. Other load may begin with it, but hardly in each try."""
        times: list[float] = []
        while len(times) < self.TRIES and min(times, default=math.inf) >= self.MOST_TIMES:
            times.append(self.times_under_attack())
        self.assertLess(min(times), self.MOST_TIMES, times)

    def times_under_attack(self) -> float:
        """The factor by which a step takes longer while both doors are attacked, until the race
        has ended."""
        with self.undisturbed(SERVER) as run:
            self.await_share(run, self.CALM)
            attackers = [self.attack(port) for pid in (run.launcher.pid, run.ranks[0])
                         for port in open_ports(pid)]
            for attacker in attackers:
                assert attacker.stdout is not None
                attacker.stdout.readline()
            begun = share_done(run)
            self.await_share(run, self.WATCHED)
            for pid in (run.launcher.pid, *run.ranks.values()):
                self.assertLess(peak_bytes(pid), self.MOST_BYTES)
        streams = [int(one.communicate(timeout=END_LIMIT_S)[0]) for one in attackers]
        self.assertEqual(len(streams), 2)
        self.assertGreater(min(streams), self.STREAMS // 4)
        self.assertGreater(sum(streams), self.STREAMS)
        self.assertLess(begun, 0.5)
        return self.example_ns(begun + self.TOLD, 1) / self.example_ns(0, self.CALM)

    def attack(self, port: int) -> subprocess.Popen[str]:
        """Starts an attacker, which prints a line when it begins."""
        attacker = subprocess.Popen([*RAPID_RESETS, str(port)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(attacker.kill)
        return attacker

    def await_share(self, run: Run, share: float) -> None:
        self.assertTrue(soon(lambda: share_done(run) >= share, END_LIMIT_OF_RACE_S), run.said())

    def example_ns(self, begin: float, end: float) -> float:
        """The mean time of an example between two shares of the training."""
        curve = [(one["examples"], one["training_time_ns"]) for one in self.record["evaluations"]]
        part = [one for one in curve if begin <= one[0] / curve[-1][0] <= end]
        return (part[-1][1] - part[0][1]) / (part[-1][0] - part[0][0])


def share_done(run: Run) -> float:
    """The share of its steps that the run has reported."""
    done, steps = re.findall(r"step (\d+) of (\d+)", "".join(run.lines))[-1]
    return int(done) / int(steps)


def peak_bytes(pid: int) -> int:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines()
               if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


class Ports(Strangers):
    def addresses_of(self, run: Run) -> dict[int, set[str]]:
        """The addresses at which each process of the race listens; ends the race."""
        run.await_line("step 0 ")
        addresses = {pid: listening_at(pid) for pid in (*run.processes(), run.keeper)}
        run.launcher.terminate()
        run.launcher.wait()
        self.assertGreaterEqual(len(addresses), len(run.ranks) + 3)  # mpirun, the program, keeper
        self.assertEqual(run.left(), [])
        return addresses

    def test_are_open_to_this_machine_only(self) -> None:
        for strategy, ranks in ((SERVER, 3), ((*RING, "--all-reduce", "mpi"), 2), (RING, 2)):
            with self.subTest(strategy=strategy):
                run = Run(*long_race(strategy), *OVER_PROCESSES, ranks=ranks)
                self.assertLessEqual(set().union(*self.addresses_of(run).values()), LOOPBACK)

    def test_of_the_coordinator_alone_are_where_listen_says(self) -> None:
        for strategy, ranks in ((SERVER, 3), (RING, 2)):
            with self.subTest(strategy=strategy):
                run = Run(*long_race(strategy), *OVER_PROCESSES, "--listen", "127.0.0.2",
                          ranks=ranks)
                addresses = self.addresses_of(run)
                self.assertEqual(addresses.pop(run.launcher.pid), {"127.0.0.2"})
                self.assertLessEqual(set().union(*addresses.values()), LOOPBACK)

    def test_of_ranks_that_the_user_has_started_are_open_to_this_machine_only(self) -> None:
        root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
        with environment_of_its_own() as variables, subprocess.Popen(
                ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np", "2", REGATTA,
                 "run", *long_race(RING), *OVER_PROCESSES, "--out", str(fresh_folder())],
                stdout=subprocess.PIPE, text=True, env=variables) as mpirun:
            assert mpirun.stdout is not None
            while "step 0 " not in (line := mpirun.stdout.readline()):
                self.assertNotEqual(line, "", "the race did not begin")
            ranks = [pid for pid in processes_with(MARK, variables[MARK])
                     if rank_of(pid) is not None]
            addresses = [listening_at(pid) for pid in ranks]
            mpirun.terminate()
        self.assertEqual(len(ranks), 3)  # the coordinator has started a rank 0
        self.assertLessEqual(set().union(*addresses), LOOPBACK)

    def test_of_a_calibration_are_open_to_this_machine_only(self) -> None:
        addresses: set[str] = set()
        over_tcp: set[int] = set()
        with environment_of_its_own() as variables, subprocess.Popen(
                [REGATTA, "calibrate", "--workload", "parabola", *RING, *OVER_PROCESSES, "--out",
                 str(fresh_folder() / "calibration.json")], stdout=subprocess.PIPE,
                env=variables) as calibrate:
            while calibrate.poll() is None:
                for pid in processes_with(MARK, variables[MARK]):
                    found = listening_at(pid)
                    addresses |= found
                    if found and rank_of(pid) is not None:
                        over_tcp.add(pid)
                time.sleep(0.05)  # ranks over TCP are there for a second
        self.assertEqual((calibrate.returncode, len(over_tcp)), (0, 2))
        self.assertLessEqual(addresses, LOOPBACK)

    def test_of_a_race_cannot_be_shared(self) -> None:
        """Two gRPC servers share a port by default, each getting some of the connections."""
        with self.undisturbed(SERVER) as run:
            for port in (*open_ports(run.launcher.pid), *open_ports(run.ranks[0])):
                with socket.socket() as other:
                    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                    with self.assertRaisesRegex(OSError, "Address already in use"):
                        other.bind(("127.0.0.1", port))

    def refusal_with_few_ports(self, before: tuple[str, ...], *arguments: str,
                               **environment: str) -> str:
        """The error of a run that cannot begin, on a machine with 40 ports."""
        machine = ("unshare", "--map-root-user", "--net", *SCARCE_PORTS, "make", "40")
        tried = subprocess.run([*machine, "true"], capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest(f"no network namespace can be made: {tried.stderr.strip()}")
        folder = fresh_folder()
        with environment_of_its_own() as variables:
            done = subprocess.run([*machine, *before, REGATTA, "run", *PARABOLA, *arguments,
                                   "--out", str(folder)], capture_output=True, text=True,
                                  timeout=60, env=variables | environment)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertFalse((folder / "records.jsonl").exists())
        return done.stderr

    def test_that_are_all_taken_end_a_run_before_a_rank_starts(self) -> None:
        error = self.refusal_with_few_ports((*SCARCE_PORTS, "take_all_but", "0", "0"), *SERVER)
        self.assertRegex(error, r"^regatta: cannot listen at 127\.0\.0\.1:0: .*no port is free "
                                r"there; fix: .*ip_local_port_range\n$")


if __name__ == "__main__":
    run_tests()
