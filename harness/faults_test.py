# SPDX-License-Identifier: Apache-2.0
"""Races over several processes in which one dies or is stopped: what is said, what is left.

usage: faults_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed.
"""

import os
import signal
import time
import unittest
from typing import Any

from test_support import Run, is_alive, run_tests, skip_without_mpirun, soon

skip_without_mpirun()

# Steps of some 20 ms, so that a signal meets a run between its ends.
LONG = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32",
        "--steps", "100000", "--strategy", "all_reduce", "--workers", "2", "--processes", "2")


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
        os.kill(run.mpirun, signal.SIGKILL)
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
    run_tests()
