# SPDX-License-Identifier: Apache-2.0
"""Runs in virtual time: `regatta run --cluster FILE`.

usage: simulated_test.py REGATTA SCHEMA [unittest arguments]
"""

import json
import unittest
from pathlib import Path
from typing import Any

from simulated_support import CELL, HOSTS, calibration, calibration_of, cluster, simulated
from test_support import (fresh_folder, output_of, record_of, record_validator, regatta, run_tests,
                          skip_without_mpirun)

skip_without_mpirun()
VALIDATOR = record_validator()


class SimulatedRun(unittest.TestCase):
    def test_writes_a_record_of_its_own_kind(self) -> None:
        record = simulated(cluster())
        VALIDATOR.validate(record)
        self.assertEqual(record["simulated"]["mode"], "time")
        self.assertEqual(record["simulated"]["hosts"], 4)
        self.assertEqual(record["simulated"]["hardware"], {
            "link_bytes_per_s": 1.25e9, "core_bytes_per_s": None, "latency_ns": 20e3,
            "server_cores": 1, "compute_times": "samples", "spread": 0,
            "cpu": record["machine"]["cpu"], "queue_bytes": 0, "machine_cores": 0})
        self.assertEqual([worker["host"] for worker in record["workers"]],
                         ["host0", "host1", "host2", "host3"])
        self.assertEqual(record["evaluations"], [])
        self.assertEqual(record["graph"]["bytes_per_step_counted"],
                         record["graph"]["bytes_per_step_computed"])

    def test_is_of_the_same_cell_as_the_real_run(self) -> None:
        virtual = simulated(cluster(), "--steps", "50")["cell"]
        real = record_of(*CELL, "--steps", "50")["cell"]
        for machine in ("oversubscribed", "threads_per_worker"):
            virtual.pop(machine)
            real.pop(machine)
        self.assertEqual(virtual, real)

    def test_is_alike_twice_and_differs_by_seed(self) -> None:
        varied = '[compute_times]\nkind = "gamma"\nspread = 0.3\n' + HOSTS
        steps = [simulated(cluster(text), "--steps", "40")["step_time_ns"]
                 for text in (varied, varied, "seed = 2\n" + varied)]
        self.assertEqual(steps[0], steps[1])
        self.assertNotEqual(steps[0], steps[2])

    def test_is_slower_over_a_longer_way(self) -> None:
        near, far = (simulated(cluster(f"latency_us = {us}\n[compute_times]\n{HOSTS}"))
                     ["step_time_ns"]["p50"] for us in (0, 500))
        # A ring of four takes six steps, each of one latency.
        self.assertAlmostEqual((far - near) / 3e6, 1, delta=0.02)

    def test_has_workers_drift_apart_by_what_waits_in_front_of_a_full_link(self) -> None:
        cell = ("--workload", "parabola", "--strategy", "parameter_server_async", "--workers", "2",
                "--processes", "2")
        made = json.loads(calibration_of(cell))

        def step_ns(queue_kb: float) -> int:
            file = cluster(f'queue_kb = {queue_kb}\n[compute_times]\nkind = "gamma"\n'
                           "spread = 0.2\n[[host]]\ncount = 3\nout_gbit_per_s = 1e-4\n"
                           "processes = 1\n", **made)
            out = fresh_folder()
            output_of("run", *cell, "--steps", "200", "--cluster", str(file), "--out", str(out))
            record = json.loads((out / "simulated.jsonl").read_text())
            self.assertEqual(record["simulated"]["hardware"]["queue_bytes"], 1000 * queue_kb)
            return int(record["step_time_ns"]["p50"])

        # A push, and a pull that shares the server's link, or has it to itself.
        self.assertAlmostEqual(step_ns(0.01) / step_ns(0), 2 / 3, delta=0.05)

    def test_a_torus_is_slower_if_its_rows_cross_hosts(self) -> None:
        torus = (*CELL[:-3], "6", "--processes", "6", "--all-reduce", "torus")
        changes = json.loads(calibration_of(torus))
        file = cluster("latency_us = 500\n[[host]]\ncount = 3\nprocesses = 2\n", **changes)

        def step_ns(sides: str) -> int:
            out = fresh_folder()
            output_of("run", *torus, "--torus", sides, "--cluster", str(file), "--out", str(out))
            record = json.loads((out / "simulated.jsonl").read_text())
            self.assertEqual({each["torus"] for each in record["graph"]["all_reduces"]}, {sides})
            nanoseconds: int = record["step_time_ns"]["p50"]
            return nanoseconds
        self.assertGreater(step_ns("3x2"), step_ns("2x3"))

    def test_waits_for_a_straggler(self) -> None:
        even = f"[compute_times]\n{HOSTS}"
        usual = simulated(cluster(even))
        # So slow that messages, measured beside other programs, take little time in comparison.
        slow = simulated(cluster(even), "--straggler", "1:300")
        self.assertAlmostEqual(slow["workers"][1]["straggler_factor"], 300, delta=0.2)
        self.assertAlmostEqual(slow["workers"][1]["compute_ns"],
                               300 * usual["workers"][0]["compute_ns"], delta=1e3)
        self.assertIsNone(slow["workers"][0]["straggler_factor"])
        self.assertGreater(slow["workers"][0]["wait_ns"],
                           usual["workers"][0]["wait_ns"] + slow["workers"][1]["delay_ns"] / 2)

    def test_builds_one_of_the_workers_that_are_alike(self) -> None:
        even = cluster(f"latency_us = 50\n[compute_times]\n{HOSTS}")
        shares = ("--global-batch", "48")
        one = simulated(even, *shares)
        every = simulated(even, *shares, "--straggler", "1:1")  # workers have speeds of their own
        VALIDATOR.validate(one)
        self.assertEqual((one["simulated"]["places_per_built"], len(one["workers"])), (4, 1))
        self.assertEqual((every["simulated"]["places_per_built"], len(every["workers"])), (None, 4))
        for name in ("bytes_per_step_counted", "bytes_per_step_computed"):
            self.assertEqual(one["graph"][name], every["graph"][name])
        for field in ("p50", "max"):
            self.assertAlmostEqual(one["step_time_ns"][field], every["step_time_ns"][field],
                                   delta=10)
        for batch, are_alike in (("48", True), ("50", False)):
            told = output_of("run", *CELL, "--global-batch", batch, "--cluster", str(even), "--out",
                             str(fresh_folder()))
            self.assertEqual("1 of 4 workers built, the others are alike" in told, are_alike)

    def test_shares_the_cores_of_a_machine(self) -> None:
        """Two cores are shared by two hosts each, whose workers compute at the same time and for
        so long that messages take little time in comparison."""
        even = f"[compute_times]\n{HOSTS}"
        alike = {"kernels": dict.fromkeys(json.loads(calibration())["kernels"], 1e5)}
        records = {cores: simulated(cluster(f"machine_cores = {cores}\n{even}", **alike))
                   for cores in (1, 2, 4)}
        computing = {cores: each["workers"][0]["compute_ns"] for cores, each in records.items()}
        self.assertEqual(records[2]["simulated"]["hardware"]["machine_cores"], 2)
        own = simulated(cluster(even, **alike))["workers"][0]["compute_ns"]
        self.assertAlmostEqual(computing[4], own, delta=1e3)
        for cores, most in ((2, 2), (1, 4)):
            self.assertLess(computing[cores] / own, 1.001 * most)
            self.assertGreater(computing[cores] / own, 0.75 * most)

    def test_is_not_ranked_with_real_runs(self) -> None:
        out = fresh_folder()
        output_of("run", *CELL, "--cluster", str(cluster()), "--out", str(out))
        alone = json.loads(output_of("report", str(out), "--format", "json"))
        output_of("run", *CELL, "--steps", "20", "--out", str(out))
        both = json.loads(output_of("report", str(out), "--format", "json"))
        self.assertEqual((len(alone["workloads"]), len(both["workloads"])), (0, 1))
        ranked = [run["command"] for cell in both["workloads"][0]["cells"] for run in cell["runs"]]
        self.assertEqual(len(ranked), 1)
        self.assertNotIn("--cluster", ranked[0])
        for judged in (alone, both):
            (virtual,) = judged["virtual_time"]
            (cell,) = virtual["cells"]
            self.assertIn("--cluster", cell["runs"][0]["command"])
            self.assertIn("links of 10000 Mbit/s", virtual["machine"]["cpu"])


class TrainingRun(unittest.TestCase):
    """virtual_trainer_test.cpp tests that it computes the same as a real run."""

    def test_has_losses_evaluations_and_virtual_clocks(self) -> None:
        flags = ("--virtual", "train", "--steps", "40", "--target", "3")
        record = simulated(cluster("latency_us = 500\n[compute_times]\n" + HOSTS), *flags)
        VALIDATOR.validate(record)
        real = record_of(*CELL, *flags[2:])
        self.assertEqual(record["losses"], real["losses"])
        self.assertEqual(record["checksums"], real["checksums"])
        self.assertEqual([one["metric"] for one in record["evaluations"]],
                         [one["metric"] for one in real["evaluations"]])
        self.assertEqual(record["simulated"]["mode"], "train")
        self.assertEqual(record["status"], "reached")
        # A ring of four takes six steps, each of one latency.
        self.assertGreater(record["training_ns"], 40 * 6 * 500e3)
        self.assertEqual(record["full_ns"], record["training_ns"])
        last = record["evaluations"][-1]
        self.assertEqual(last["training_time_ns"], record["training_ns"])
        self.assertEqual(last["result_time_ns"], record["training_ns"])
        self.assertEqual([worker["host"] for worker in record["workers"]],
                         ["host0", "host1", "host2", "host3"])

    def test_of_loops_that_share_has_their_staleness(self) -> None:
        """Also if loops average with a peer."""
        flags = ("--steps", "40", "--straggler", "1:3")
        for strategy in ("async_shared", "ad_psgd"):
            with self.subTest(strategy):
                record = self.asynchronous(*flags, strategy=strategy)
                self.assertEqual(record["status"], "missed")
                counts = [worker["staleness_histogram"] for worker in record["workers"]]
                self.assertGreater(sum(sum(count) for count in counts if count), 40)
                again = self.asynchronous(*flags, strategy=strategy)
                self.assertEqual(record["losses"], again["losses"])
                self.assertEqual(record["training_ns"], again["training_ns"])

    def test_that_diverges_leaves_a_row(self) -> None:
        """The row's times are virtual, so they are the same in two runs."""
        rows = [self.asynchronous("--steps", "200", "--rate-scale", "1e6") for _ in range(2)]
        for record in rows:
            self.assertEqual(record["failure"]["kind"], "diverged")
            self.assertEqual(record["simulated"]["mode"], "train")
            self.assertEqual(record["training_ns"], record["full_ns"])
        self.assertEqual(rows[0]["training_ns"], rows[1]["training_ns"])

    def asynchronous(self, *flags: str, strategy: str = "async_shared") -> dict[str, Any]:
        cell = ("--workload", "parabola", "--strategy", strategy, "--workers", "3")
        out = fresh_folder()
        (out / "calibration.json").write_text(calibration_of(cell))
        (out / "cluster.toml").write_text('calibration = "calibration.json"\n[[host]]\n'
                                          'cores = 3\n[compute_times]\nkind = "gamma"\n'
                                          "spread = 0.3\n")
        done = regatta("run", *cell, "--cluster", str(out / "cluster.toml"), "--virtual", "train",
                       *flags, "--out", str(out))
        self.assertIn(done.returncode, (0, 2), done.stderr)
        (line,) = (out / "simulated.jsonl").read_text().splitlines()
        record: dict[str, Any] = json.loads(line)
        VALIDATOR.validate(record)
        return record


class BadInput(unittest.TestCase):
    def refused(self, file: Path, says: str, *flags: str) -> None:
        out = fresh_folder() / "out"
        done = regatta("run", *CELL, "--cluster", str(file), *flags, "--out", str(out))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, says)

    def test_is_refused_in_one_line(self) -> None:
        for text, says in (
                ("", r"there is no host"),
                ("[[host]]\ncount = 2\n", r"no room for process 2 of 4.*more hosts"),
                ("[[host]]\ncount = 4\ngbit_per_s = 0\n", r"gbit_per_s is 0"),
                ("[[host]]\ncoers = 2\n", r"did you mean 'cores'"),
                ("machine_cores = 2\n[[host]]\ncount = 4\ncores = 2\n",
                 r"with machine_cores a host has one core"),
                ('[compute_times]\nkind = "gama"\n' + HOSTS, r"did you mean 'gamma'"),
                ('[compute_times]\nkind = "samples"\n' + HOSTS, r"samples belong to"),
                ('[compute_times]\nkind = "gamma"\nspread = 1e160\n' + HOSTS, r"from 0 to 10"),
                ('[compute_times]\nsamples = 5\n' + HOSTS, r"samples are a list"),
                ("[[host]]\ngbit_per_s = 1\nin_gbit_per_s = 2\n", r"gbit_per_s or in_gbit_per_s"),
                ("[[host]\n", r"line 2: ")):
            with self.subTest(text=text):
                self.refused(cluster(text), says)

    def test_of_a_calibration_that_does_not_fit(self) -> None:
        made = json.loads(calibration())
        slow = made["transports"] | {"open_mpi": made["transports"]["open_mpi"]
                                     | {"adding_bytes_per_ns": 0}}

        falling = json.loads(calibration())["transports"]
        falling["grpc"]["on_host"]["points"] = [[10, 1e9], [20, 1e8]]
        falling_cores = json.loads(calibration())["transports"]
        falling_cores["grpc"]["between_hosts"]["core_points"] = [[10, 9], [20, 8]]
        for changes, says in (
                ({"cpu": "another"}, r"of the processor 'another'.*regatta calibrate anew"),
                ({"git_commit": "0" * 40}, r"of commit '0+'.*regatta calibrate anew"),
                ({"kernels": {}}, r"lacks \d+ kernels of this cell, such as '.*regatta calibrate"),
                ({"calibration": 2}, r"no calibration of format 1"),
                ({"transports": slow}, r"adding_bytes_per_ns is 0"),
                ({"transports": falling}, r": points do not rise"),
                ({"transports": falling_cores}, r": core_points do not rise")):
            with self.subTest(changes=list(changes)):
                self.refused(cluster(**changes), says)
        transports = made["transports"].copy()
        transports.pop("open_mpi_sums")  # an older file
        self.assertEqual(simulated(cluster(transports=transports))["simulated"]["mode"], "time")
        by_hand = cluster(cpu="another", git_commit="", source="the vendor's data sheet")
        self.assertEqual(simulated(by_hand)["simulated"]["source"], "the vendor's data sheet")

    def test_of_what_is_not_there(self) -> None:
        self.refused(Path("/nowhere/cluster.toml"), r"cannot read /nowhere/cluster.toml")
        lonely = fresh_folder() / "cluster.toml"
        lonely.write_text('calibration = "none.json"\n' + HOSTS)
        self.refused(lonely, r"none.json")

    def test_of_flags_that_mean_nothing_there(self) -> None:
        self.refused(cluster(), r"--trace", "--trace", str(fresh_folder() / "trace.json"))
        self.refused(cluster(), r"--checkpoint-every", "--checkpoint-every", "5")
        self.refused(cluster(), r"give --steps", "--epochs", "2")
        self.refused(cluster(), r"leave --cores out", "--cores", "1")
        self.refused(cluster(), r"no process is started", "--listen", "127.0.0.1")
        self.refused(cluster(), r"--cluster: .*leave --device out", "--device", "cuda")
        self.refused(cluster(), r"--continue-on-loss is for", "--continue-on-loss")
        train = ("--virtual", "train")
        self.refused(cluster(), r"--all-reduce ring", *train, "--all-reduce", "mpi")
        self.refused(cluster(), r"--cluster: .*leave --device out", *train, "--device", "cuda")
        self.refused(cluster(), r"has no checkpoints", *train, "--checkpoint-every", "5")
        self.refused(cluster(), r"leave --cores out", *train, "--cores", "1")
        self.refused(cluster(), r"unknown virtual 'trian'; did you mean 'train'", "--virtual",
                     "trian")

    def test_of_training_without_a_cluster(self) -> None:
        done = regatta("run", *CELL, "--virtual", "train", "--out", str(fresh_folder() / "out"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "regatta: --virtual train needs --cluster: the hosts and "
                                      "links of the run\n")


if __name__ == "__main__":
    run_tests()
