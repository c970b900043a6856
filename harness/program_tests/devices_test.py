# SPDX-License-Identifier: Apache-2.0
"""Runs in virtual time on accelerators by profiles: [devices] of `--cluster FILE`.

usage: devices_test.py REGATTA SCHEMA [unittest arguments]
"""

import json
import unittest
from pathlib import Path
from typing import Any

from test_support import (fresh_folder, output_of, record_validator, regatta, run_tests)

SHAPE = ("--width", "1024", "--heads", "16", "--layers", "4", "--context", "512", "--vocabulary",
         "1024", "--global-batch", "16", "--dtype", "bf16", "--steps", "2")
CELL = ("--workload", "gpt_small", *SHAPE, "--strategy", "all_reduce", "--workers", "4",
        "--processes", "4")
DEVICES = {"inside": "nvlink3", "between": "hdr", "per_host": 2, "cards": 2}
LINKS = {"gb_per_s": 100, "share": 0.9, "base_us": 8, "hop_us": 3, "message_us": 10,
         "message_share": 0.5}
DEVICE = {"memory_gib": 16, "reserved_gib": 1, "gb_per_s": 1000, "tflops_16": 100, "tflops_32": 10,
          "flash_forward_share": 0.5, "flash_backward_share": 0.4, "launch_us": 5}


def toml_of(values: dict[str, Any]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())


def cluster(hosts: str = "count = 2", device: dict[str, Any] | None = None,
            links: dict[str, Any] | None = None, named: str = "a100_80gb",
            **devices: Any) -> Path:
    """A cluster's file; `device` and `links` are profiles beside it in place of named ones."""
    folder = fresh_folder()
    values = DEVICES | {"device": named} | devices
    for name, keys, profile in (("device.toml", ("device",), device),
                                ("links.toml", ("inside", "between"), links)):
        if profile is not None:
            (folder / name).write_text(toml_of(profile))
            values |= dict.fromkeys(keys, name)
    values = {key: value for key, value in values.items() if value is not None}
    (folder / "cluster.toml").write_text(f"[devices]\n{toml_of(values)}[[host]]\n{hosts}\n")
    return folder / "cluster.toml"


def cell(*flags: str) -> list[str]:
    """The cell with flags in place of its own."""
    pairs = dict(zip(CELL[::2], CELL[1::2])) | dict(zip(flags[::2], flags[1::2]))
    return [word for pair in pairs.items() for word in pair]


def simulated(file: Path, *flags: str) -> dict[str, Any]:
    out = fresh_folder()
    output_of("run", *cell(*flags), "--cluster", str(file), "--out", str(out))
    record: dict[str, Any] = json.loads((out / "simulated.jsonl").read_text())
    return record


def step_ns(file: Path, *flags: str) -> int:
    ns: int = simulated(file, *flags)["step_time_ns"]["p50"]
    return ns


class OnDevices(unittest.TestCase):
    def test_a_record_names_profiles_and_has_the_planned_memory(self) -> None:
        record = simulated(cluster())
        record_validator().validate(record)
        self.assertEqual(record["simulated"]["source"],
                         "profile a100_80gb, nvlink3, hdr")
        self.assertEqual(record["simulated"]["hardware"]["link_bytes_per_s"], 48e9)
        for worker in record["workers"]:
            self.assertGreater(worker["planned_bytes"], 100e6)
        self.assertEqual(record["graph"]["bytes_per_step_counted"],
                         record["graph"]["bytes_per_step_computed"])

    def test_no_run_is_faster_with_less(self) -> None:
        usual = step_ns(cluster(device=DEVICE, links=LINKS))
        for key in ("gb_per_s", "tflops_16", "flash_forward_share", "flash_backward_share"):
            with self.subTest(key=key):
                self.assertGreater(step_ns(cluster(device=DEVICE | {key: DEVICE[key] / 10},
                                                   links=LINKS)), usual)
        for links in ({"gb_per_s": 1}, {"share": 0.01}, {"base_us": 5e4}, {"hop_us": 5e4}):
            with self.subTest(links=links):
                self.assertGreater(step_ns(cluster(device=DEVICE, links=LINKS | links)), usual)
        self.assertGreater(step_ns(cluster(device=DEVICE, links=LINKS, oversubscription=100)),
                           usual)
        for worse in ({"attained": 0.5}, {"communication": "blocking"}):
            with self.subTest(worse=worse):
                self.assertGreater(step_ns(cluster(device=DEVICE, links=LINKS, **worse)), usual)
        self.assertLess(step_ns(cluster(device=DEVICE, links=LINKS, exchanged_bits=16)), usual)
        unfused = cluster(device=DEVICE | {"unfused_share": 0.5}, links=LINKS, attention="unfused")
        self.assertGreater(step_ns(unfused), usual)
        planned = [simulated(file)["workers"][0]["planned_bytes"]
                   for file in (cluster(device=DEVICE, links=LINKS), unfused)]
        self.assertGreater(planned[1], planned[0])  # it keeps the scores

    def test_workers_fill_hosts_in_the_given_order(self) -> None:
        flags = ("--strategy", "all_reduce+tensor_parallel", "--shards", "2")
        slow = LINKS | {"gb_per_s": 1}
        folder = cluster(links=slow, inside=None).parent
        near = step_ns(cluster(inside="nvlink3", between=str(folder / "links.toml")), *flags)
        far = step_ns(cluster(inside="nvlink3", between=str(folder / "links.toml"),
                              order="replica shard stage"), *flags)
        self.assertNotEqual(near, far)

    def test_a_step_that_does_not_fit_says_what_would(self) -> None:
        small = DEVICE | {"memory_gib": 1.0, "reserved_gib": 0.25}
        out = fresh_folder()
        done = regatta("run", *CELL, "--cluster", str(cluster(device=small)), "--out", str(out))
        self.assertEqual(done.returncode, 1, done.stdout)
        row = json.loads((out / "simulated.jsonl").read_text())
        record_validator().validate(row)
        self.assertEqual(row["status"], "failed")
        self.assertEqual(done.stderr, f"regatta: {row['failure']['text']}\n")
        self.assertRegex(done.stderr, r"^regatta: a worker needs [\d.]+ GiB, [\d.]+ more than "
                                      r"device.toml has \(0.75 without 0.25 for libraries\); fix: "
                                      r"--strategy sharded --shard optimizer \([\d.]+ GiB\), or "
                                      r".*\n$")
        fix = done.stderr.split("fix: ")[1].split(" (")[0].split()
        step_ns(cluster(device=small), *fix)


class BadInput(unittest.TestCase):
    def test_is_refused_in_one_line(self) -> None:
        for file, says in (
                (cluster(device={key: value for key, value in DEVICE.items()
                                 if key != "tflops_16"}), r"has no tflops_16.*fix: "),
                (cluster(attention="unfused", device=DEVICE), r"has no unfused_share.*fix: "),
                (cluster(device=DEVICE | {"memory_gib": 0}), r"memory_gib is a number from 0.001"),
                (cluster(device={"gb_per_s": 1}), r"device.toml: launch_us is missing"),
                (cluster(device=DEVICE | {"tflop_16": 1}), r"did you mean 'tflops_16'"),
                (cluster(device=DEVICE | {"product_share": [[1, 0.1], [2, 0.9]]}),
                 r"product_share: sizes rise"),
                (cluster(links=LINKS | {"groups": [[4, 1, 1], [2, 1, 1]]}), r"groups do not rise"),
                (cluster(named="a100_80"), r"no profile 'a100_80'"),
                (cluster(hosts="count = 1"), r"has 2 devices, and 4 workers.*count = 2"),
                (cluster(hosts="count = 2\ncores = 2"), r"unknown key 'cores'|key 'cores'"),
                (cluster(between=None), r"several hosts need `between`"),
                (cluster(order="shard shard stage"), r"order has the words"),
                (cluster(attention="fast"), r"attention is flash or unfused"),
                (cluster(cards=0), r"cards is a whole number from 1")):
            with self.subTest(says=says):
                done = regatta("run", *CELL, "--cluster", str(file), "--out", str(fresh_folder()))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertRegex(done.stderr, says)

    def test_of_workers_that_share_a_process(self) -> None:
        done = regatta("run", *cell("--processes", "1"), "--cluster", str(cluster()), "--out",
                       str(fresh_folder()))
        self.assertRegex(done.stderr, r"one worker in each process; fix: --processes 4")


if __name__ == "__main__":
    run_tests()
