# SPDX-License-Identifier: Apache-2.0
"""Tests the workflows in .github/workflows, as far as that is possible without GitHub.

Exits with 77 (skipped) if yamllint, which brings Python's yaml, or shellcheck is not installed.
"""

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for program in ("yamllint", "shellcheck"):
    if shutil.which(program) is None:
        print(f"skipped: {program} is not installed: apt-get install {program}")
        sys.exit(77)

import yaml

FOLDER = Path(".github/workflows")
FORM = """
extends: default
rules:
  line-length: {max: 100}
  document-start: disable
  truthy: {check-keys: false}
"""
SHELLS = {None: "#!/bin/sh", "bash": "#!/bin/bash"}  # GitHub adds -e, and to bash -o pipefail


def workflows() -> dict[str, Any]:
    return {path.name: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, workflow in workflows().items():
        for job_name, job in workflow["jobs"].items():
            for number, step in enumerate(job["steps"], 1):
                yield f"{name}, {job_name}, step {number}", step


def complaints(script: str, shell: str | None) -> str:
    done = subprocess.run(["shellcheck", "--severity=warning", "-"], text=True, check=False,
                          input=f"{SHELLS[shell]}\n{script}", capture_output=True)
    return done.stdout + done.stderr


def constants(script: Path) -> dict[str, Any]:
    """The constants at the top level of a script that have literals as values."""
    found = {}
    for one in ast.parse(script.read_text()).body:
        with contextlib.suppress(ValueError):
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                found[one.targets[0].id] = ast.literal_eval(one.value)
    return found


class Workflows(unittest.TestCase):
    def test_are_two_and_have_steps(self) -> None:
        self.assertEqual(list(workflows()), ["ci.yml", "regression.yml"])
        self.assertGreater(len(list(steps())), 10)

    def test_have_the_form_of_yaml(self) -> None:
        done = subprocess.run(["yamllint", "--strict", "-d", FORM, str(FOLDER)], text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_have_scripts_that_shellcheck_accepts(self) -> None:
        self.assertNotEqual(complaints("cat $(ls) | while read x; do ((x)); done\n[[ a ]]", None),
                            "")
        for where, step in steps():
            if "run" in step:
                self.assertEqual(complaints(step["run"], step.get("shell")), "", where)

    def test_put_nothing_of_the_event_into_scripts(self) -> None:
        """Foreign text, such as a title, must be passed by the environment, so that it is never
        code."""
        for where, step in steps():
            self.assertNotIn("${{", step.get("run", ""), where)

    def test_run_what_is_there(self) -> None:
        named = {program for _, step in steps()
                 for program in re.findall(r"(?<![\w/])ci/[\w./]+", step.get("run", ""))}
        self.assertLessEqual({"ci/test", "ci/race", "ci/regression"}, named)
        for program in named:
            self.assertTrue(os.access(program, os.X_OK), program)

    def test_give_every_system_hostile_inputs(self) -> None:
        """More than ctest does, and those that each target of ci/fuzz makes in a minute."""
        self.assertEqual(constants(Path("ci/fuzz"))["SECONDS"], 60)
        whole = [step["run"] for _, step in steps() if step.keys() == {"run"}]  # no `if`
        self.assertIn("ci/fuzz", whole)
        self.assertIn("ctest --preset debug --tests-regex ^properties_", "; ".join(whole))

    def test_run_on_every_system_that_has_its_packages_listed(self) -> None:
        known = re.findall(r"^  \['(\w+) ([\d.]+)'\]=", Path("ci/packages.sh").read_text(), re.M)
        self.assertGreater(len(known), 2)
        for job in workflows()["ci.yml"]["jobs"].values():
            self.assertEqual(job["strategy"]["matrix"]["system"], [":".join(one) for one in known])
            self.assertEqual(job["container"], "${{ matrix.system }}")

    def test_keep_what_a_failed_step_left(self) -> None:
        uploads = [step for _, step in steps() if "upload-artifact" in step.get("uses", "")]
        self.assertEqual([step["with"]["path"] for step in uploads],
                         ["out/race", "build/fuzz/findings", "out/regression"])
        for step in uploads:
            self.assertEqual(step.get("if"), "always()")


if __name__ == "__main__":
    unittest.main()
