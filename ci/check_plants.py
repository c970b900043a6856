#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every planted fault: its patch in ci/plants applies, and ci/regression_trial uses it.

usage: ci/check_plants.py [ROOT]

Prints a line for each problem; exit code 1 if there is one, 77 if ROOT is no git checkout.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

LIMIT_S = 60


def git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=root, text=True,
                          capture_output=True, timeout=LIMIT_S, check=False)


def is_checkout(root: Path) -> bool:
    if shutil.which("git") is None:
        return False
    top = git(root, "rev-parse", "--show-toplevel")
    return top.returncode == 0 and Path(top.stdout.strip()) == root.resolve()


def problems(root: Path) -> list[str]:
    named = set(re.findall(r'Kind\("\w+", "(\w+)"', (root / "ci/regression_trial").read_text()))
    patches = {patch.stem: patch for patch in sorted((root / "ci/plants").glob("*.patch"))}
    found = [f"ci/regression_trial names {name}, and there is no ci/plants/{name}.patch"
             for name in sorted(named - patches.keys())]
    for name, patch in patches.items():
        if name not in named:
            found.append(f"ci/plants/{name}.patch: ci/regression_trial does not name it")
        tried = git(root, "apply", "--check", str(patch.relative_to(root)))
        if tried.returncode != 0:
            found.append(f"ci/plants/{name}.patch: {tried.stderr.strip()}")
    return found


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    if not is_checkout(root):
        print(f"skipped: {root} is no git checkout, so no patch can be tried")
        return 77
    found = problems(root)
    print("\n".join([*found, f"{len(found)} problems with planted faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
