#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests races across hosts that are network namespaces of this machine: losses equal those on one.

usage: ci/hosts_test.py REGATTA

Skips (exit code 77) if namespaces cannot be made: not root, or no iproute2.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

REGATTA = str(Path(sys.argv.pop()).resolve()) if len(sys.argv) > 1 else ""
HOSTS = Path(__file__).resolve().parent / "hosts"
SKIPPED = 77
LINK_MBIT = "1000"
DELAY_MS = 3


def final_losses(strategy: list[str], hosts: int | str, delay_ms: int = 0,
                 steps: int = 100) -> tuple[float, dict[str, Any]]:
    """Runs a race; returns the loss of its last evaluation, and its record. `hosts`: 0 runs it on
    this machine without namespaces."""
    with tempfile.TemporaryDirectory() as folder:
        command = [REGATTA, "run", "--workload", "parabola", "--steps", str(steps), "--out",
                   folder, *strategy]
        if hosts != 0:
            command = [str(HOSTS), str(hosts), LINK_MBIT, str(delay_ms), *command, "--hosts",
                       "@hosts", "--listen", "@address"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if ran.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {ran.stdout}{ran.stderr}")
        record = json.loads((Path(folder) / "records.jsonl").read_text())
        return record["evaluations"][-1]["loss"], record


def addresses_in(namespace: str) -> set[str]:
    """The addresses at which regatta's processes on a host listen, without Open MPI's daemons."""
    sockets = subprocess.run(["ss", "-ltnpH", "-N", namespace], capture_output=True, text=True,
                             check=True).stdout.splitlines()
    return {line.split()[3].rsplit(":", 1)[0].strip("[]").removeprefix("::ffff:")
            for line in sockets if '"regatta"' in line}


class AcrossHosts(unittest.TestCase):
    def test_all_reduce_computes_the_bits_of_one_process(self) -> None:
        for hosts in (2, 3):
            workers = ["--strategy", "all_reduce", "--workers", str(hosts)]
            together, _ = final_losses(workers, 0)
            apart, record = final_losses([*workers, "--processes", str(hosts)], hosts)
            self.assertEqual(apart, together)
            self.assertEqual(record["cell"]["processes"], hosts)

    def test_places_compute_the_bits_of_one_process(self) -> None:
        """Places on different hosts send to each other and compute the bits of one process."""
        for hosts, strategy in ((2, "in_graph"), (3, "in_graph"), (2, "central_storage"),
                                (3, "model_parallel"),
                                (2, "pipeline --schedule gpipe"),
                                (3, "pipeline --schedule 1f1b --microbatches 5"),
                                (3, "pipeline --schedule zero_bubble")):
            with self.subTest(hosts=hosts, strategy=strategy):
                workers = ["--strategy", *strategy.split(), "--workers", str(hosts)]
                together, _ = final_losses(workers, 0, steps=30)
                apart, record = final_losses([*workers, "--processes", str(hosts)], hosts, steps=30)
                self.assertEqual(apart, together)
                self.assertEqual(len({worker["host"] for worker in record["workers"]}), hosts)

    def test_hierarchical_copy_goes_inside_a_host_first(self) -> None:
        four = ["--strategy", "all_reduce", "--all-reduce", "hierarchical_copy", "--workers", "4"]
        together, _ = final_losses(four, 0)
        apart, record = final_losses([*four, "--processes", "4"], "2x2")
        self.assertAlmostEqual(apart, together, delta=1e-6 * together)
        self.assertEqual(record["cell"]["processes"], 4)

    def test_a_torus_computes_the_bits_of_one_process(self) -> None:
        six = ["--strategy", "all_reduce", "--all-reduce", "torus", "--torus", "2x3", "--workers",
               "6"]
        _, together = final_losses(six, 0, steps=30)
        _, record = final_losses([*six, "--processes", "6"], "3x2", steps=30)
        self.assertEqual(record["losses"], together["losses"])
        hosts = [worker["host"] for worker in record["workers"]]
        self.assertEqual(hosts, ["host0", "host0", "host1", "host1", "host2", "host2"])

    def test_parameter_servers_compute_the_bits_of_central_storage(self) -> None:
        central, _ = final_losses(["--strategy", "central_storage", "--workers", "2"], 0)
        for servers in (1, 2):
            apart, record = final_losses(["--strategy", "parameter_server", "--workers", "2",
                                          "--servers", str(servers)], servers + 2)
            self.assertEqual(apart, central)
            self.assertEqual(record["cell"]["options"]["servers"], servers)

    @unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
    def test_parameter_servers_talk_by_tls(self) -> None:
        server = ["--strategy", "parameter_server", "--workers", "2"]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([HOSTS.parent / "make_certificates", folder, "10.77.0.1"], check=True,
                           capture_output=True)
            encrypted, _ = final_losses([*server, "--tls", folder], "2x2", steps=20)
        self.assertEqual(encrypted, final_losses([*server, "--processes", "1"], 0, steps=20)[0])

    def test_records_tell_of_the_hosts(self) -> None:
        ring = ["--strategy", "all_reduce", "--workers", "2", "--processes", "2"]
        _, apart = final_losses(ring, 2, DELAY_MS, steps=5)
        self.assertEqual(apart["environment"]["REGATTA_HOSTS_LINKS"], "1000 Mbit/s, 3 ms, cubic")
        self.assertEqual(apart["machine"]["cores_used"], 2)  # one core on each host
        _, together = final_losses(ring, "1x2", steps=5)
        self.assertEqual(together["machine"]["cores_used"], 1)
        for record, shared in ((apart, False), (together, True)):
            self.assertEqual(record["cell"]["threads_per_worker"], 1)
            self.assertEqual(record["cell"]["oversubscribed"], shared)

    def test_records_tell_who_came_late_and_what_the_clocks_cannot_tell(self) -> None:
        _, record = final_losses(["--strategy", "all_reduce", "--workers", "2", "--processes", "2"],
                                 2, DELAY_MS, steps=30)
        first, second = record["clocks"]
        self.assertEqual(first, {"rank": 0, "offset_ns": 0, "drift_ppb": 0, "error_ns": 0})
        self.assertGreaterEqual(second["error_ns"], 0.9e6 * DELAY_MS)  # half of a round trip
        # These hosts share a kernel and so its clock.
        self.assertLessEqual(abs(second["offset_ns"]), second["error_ns"])
        for worker in record["workers"]:
            self.assertEqual(worker["late_ns"]["count"], 30)
            self.assertEqual(worker["late_uncertainty_ns"], second["error_ns"])

    def test_a_step_takes_its_two_messages_one_after_the_other(self) -> None:
        ring = ["--strategy", "all_reduce", "--processes", "2"]  # a share there, the sum back
        server = ["--strategy", "parameter_server"]  # push, then pull
        for hosts, strategy in ((2, ring), (3, server)):
            _, record = final_losses([*strategy, "--workers", "2"], hosts, DELAY_MS, steps=30)
            times = record["step_time_ns"]
            self.assertGreaterEqual(times["p50"] / 1e6, 2 * DELAY_MS)
            self.assertLess(times["min"] / 1e6, 3 * DELAY_MS)  # 3: margin for a busy machine

    def test_servers_listen_at_the_address_of_their_host(self) -> None:
        servers = ["--strategy", "parameter_server", "--workers", "2", "--servers", "2"]
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                [str(HOSTS), "4", LINK_MBIT, "0", REGATTA, "run", "--workload", "parabola",
                 "--steps", "10000", "--out", folder, *servers, "--hosts", "@hosts", "--listen",
                 "@address"], stdout=subprocess.PIPE, text=True) as script:
            assert script.stdout is not None
            while "step 0 " not in (line := script.stdout.readline()):
                self.assertNotEqual(line, "", "the race did not begin")
            addresses = [addresses_in(f"rg{script.pid}h{host}") for host in range(4)]
            script.communicate()
        self.assertEqual(script.returncode, 0)
        self.assertEqual(addresses, [{"10.77.0.1"}, {"10.77.0.2"}, set(), set()])

    def test_leaves_no_namespace_behind(self) -> None:
        with subprocess.Popen([str(HOSTS), "2", "0", "0", "ip", "netns", "identify"],
                              stdout=subprocess.PIPE, text=True) as script:
            name = script.communicate()[0].strip()
        self.assertEqual(name, f"rg{script.pid}h0")  # the command ran in the first host
        left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
        self.assertNotIn(f"rg{script.pid}", left.stdout)


if __name__ == "__main__":
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None:
        print("skipped: network namespaces need root and iproute2")
        sys.exit(SKIPPED)
    tried = subprocess.run([str(HOSTS), "2", "0", "1", "true"], capture_output=True, text=True,
                           check=False)
    if tried.returncode != 0 and re.search("Operation not permitted|/dev/net/tun", tried.stderr):
        print(f"skipped: this container may not make network namespaces: {tried.stderr.strip()}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
