#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ci/kubernetes/mpijob.yaml, as far as it can be checked without Kubernetes: it satisfies the
schema, asks for as many processes as its workers have room for, and its command is one.

usage: ci/kubernetes_test.py REGATTA
Exits 77 (skipped) where python3-jsonschema or yamllint, which brings Python's yaml, is not there.
"""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error}: apt-get install python3-jsonschema yamllint")
    sys.exit(77)

REGATTA = sys.argv.pop() if len(sys.argv) > 1 else ""
FOLDER = Path(__file__).resolve().parent / "kubernetes"
VALIDATOR = jsonschema.Draft202012Validator(json.loads((FOLDER / "mpijob_schema.json").read_text()))
JOB: dict[str, Any] = yaml.safe_load((FOLDER / "mpijob.yaml").read_text())
OF_THE_CLUSTER = ("--hosts", "--listen", "--out", "--workload")


def container(job: dict[str, Any], kind: str) -> dict[str, Any]:
    return job["spec"]["mpiReplicaSpecs"][kind]["template"]["spec"]["containers"][0]


def flags() -> dict[str, str]:
    words = container(JOB, "Launcher")["args"]
    return dict(word.split("=", 1) for word in words[1:])


class Job(unittest.TestCase):
    def errors(self, *path: str, value: Any = None) -> list[str]:
        """Of the job in which `value` stands at `path`; None: nothing does."""
        job = copy.deepcopy(JOB)
        part: Any = job
        for key in path[:-1]:
            part = part[key]
        if value is None and path:
            del part[path[-1]]
        elif path:
            part[path[-1]] = value
        return [error.message for error in VALIDATOR.iter_errors(job)]

    def test_satisfies_the_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(VALIDATOR.schema)
        self.assertEqual(self.errors(), [])

    def test_would_not_with_what_the_operator_refuses(self) -> None:
        for path, value in ((("apiVersion",), "kubeflow.org/v1"),
                            (("spec", "slotsPerWorker"), "1"),
                            (("spec", "runPolicy", "cleanPodPolicy"), "Never"),
                            (("spec", "mpiReplicaSpecs", "Worker"), None),
                            (("spec", "mpiReplicaSpecs", "Launcher", "replicas"), 2),
                            (("spec", "mpiReplicaSpecs", "Worker", "template"), None),
                            (("spec", "workers"), 2)):
            self.assertNotEqual(self.errors(*path, value=value), [], path)

    def test_has_room_for_its_processes(self) -> None:
        workers = JOB["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]
        self.assertEqual(int(flags()["--processes"]), workers * JOB["spec"]["slotsPerWorker"])

    def test_names_the_hosts_as_the_operator_lists_them(self) -> None:
        self.assertEqual(flags()["--hosts"], "/etc/mpi/hostfile")
        (variable,) = container(JOB, "Launcher")["env"]
        self.assertEqual(flags()["--listen"], f"$({variable['name']})")
        self.assertEqual(variable["valueFrom"]["fieldRef"]["fieldPath"], "status.podIP")

    def test_keeps_its_record_in_a_volume(self) -> None:
        (mount,) = container(JOB, "Launcher")["volumeMounts"]
        self.assertEqual(flags()["--out"], mount["mountPath"])
        spec = JOB["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
        self.assertEqual([volume["name"] for volume in spec["volumes"]], [mount["name"]])

    def test_has_a_command_that_runs(self) -> None:
        """On this host, and shorter."""
        kept = [f"{name}={value}" for name, value in flags().items() if name not in OF_THE_CLUSTER]
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([REGATTA, "run", *kept, "--workload=parabola", "--steps=5",
                                   f"--out={folder}"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            record = json.loads((Path(folder) / "records.jsonl").read_text())
        self.assertEqual(record["cell"]["processes"], 2)


if __name__ == "__main__":
    unittest.main()
