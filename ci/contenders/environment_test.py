# SPDX-License-Identifier: Apache-2.0
"""Tests the environments of frameworks with stand-ins for python3, venv and pip, which record their
calls; a test can make venv or pip fail.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import environment as environments

# Output of a pip that does not reach PyPI, shortened.
PIP_FAILED = """WARNING: Retrying (Retry(total=4)): Temporary failure in name resolution
ERROR: Could not find a version that satisfies the requirement torch (from versions: none)
ERROR: No matching distribution found for torch"""
# Records its arguments; has PyTorch after pip has run; fails if no_venv or no_pip is beside it.
PYTHON = """#!/bin/bash
here=$(dirname "$0")
echo "$*" | cut -c 1-30 >>"$XDG_CACHE_HOME/calls"
case $* in
  "-m venv "*) [[ ! -e $here/no_venv ]] || {{ cat "$here/no_venv"; exit 1; }}
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$here"/no_* "$3/bin/" 2>/dev/null; exit 0 ;;
  "-m pip install "*) [[ ! -e $here/no_pip ]] || {{ cat "$here/no_pip" >&2; exit 1; }}
    touch "$here/torch" ;;
  -c*) [[ -e $here/torch ]] || {{ echo "No module named 'torch'" >&2; exit 1; }}
    echo '[["{version}", "0.2.0", "2.4.6"], "/headers"]' ;;
esac
"""


class Environments(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.calls = self.root / "calls"
        python = self.system_python("2.15.0")
        for patch in (mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.root)}),
                      mock.patch.object(environments, "SYSTEM_PYTHON", str(python)),
                      mock.patch.object(environments, "KEPT",
                                        (*environments.KEPT, "XDG_CACHE_HOME")),
                      mock.patch.object(environments, "say")):
            patch.start()
            self.addCleanup(patch.stop)

    def system_python(self, version: str) -> Path:
        python = self.root / "bin/python3"
        python.parent.mkdir(exist_ok=True)
        python.write_text(PYTHON.format(version=version))
        python.chmod(0o755)
        return python

    @contextmanager
    def refused(self, *words: str) -> Iterator[None]:
        """Expects an exit with a message of one line that contains all of the words."""
        with self.assertRaises(SystemExit) as refusal:
            yield
        line = str(refusal.exception)
        self.assertNotIn("\n", line)
        for word in words:
            self.assertIn(word, line)

    def test_pypi_is_installed_once(self) -> None:
        torch = environments.from_pypi()
        self.assertEqual(torch.python, str(self.root / "regatta/torch-2.15.0/bin/python"))
        self.assertEqual((torch.version, torch.headers, torch.compiles),
                         ("2.15.0", "/headers", True))
        calls = self.calls.read_text().splitlines()
        self.assertEqual([call[:6] for call in calls], ["-m ven", "-m pip", "-c imp"])
        self.assertEqual(environments.from_pypi(), torch)
        self.assertEqual(self.calls.read_text().splitlines(), [*calls, calls[-1]])

    def test_pypi_goes_on_where_making_it_was_ended(self) -> None:
        environments.from_pypi()
        (environments.cache() / "bin/torch").unlink()
        self.assertEqual(environments.from_pypi().version, "2.15.0")

    def test_pip_that_fails_is_told_with_its_first_error_and_its_command(self) -> None:
        (self.root / "bin/no_pip").write_text(PIP_FAILED)
        python = environments.cache() / "bin/python"
        with self.refused("Could not find a version", "(from versions: none)", "the network",
                          f"by: {python} -m pip install torch==2.15.0 torchft==0.2.0 numpy==2.4.6"):
            environments.from_pypi()

    def test_a_missing_venv_is_told_with_its_package(self) -> None:
        (self.root / "bin/no_venv").write_text("ensurepip is not\navailable.\n")
        with self.refused("(available.)", "apt-get install python3-venv"):
            environments.from_pypi()

    def test_another_version_is_refused(self) -> None:
        self.system_python("2.14.1")
        with self.refused("does not hold torch 2.15.0 (2.14.1, 0.2.0, 2.4.6)",
                          f"rm -r {environments.cache()}"):
            environments.from_pypi()

    def test_debian_names_its_package(self) -> None:
        with self.refused("No module named 'torch'", "apt-get install python3-torch"):
            environments.from_debian()
        self.system_python("1.13.0")
        (self.root / "bin/torch").touch()
        self.assertFalse(environments.from_debian().compiles)

    def test_compiling_needs_a_compiler_and_headers(self) -> None:
        (self.root / "Python.h").touch()
        torch = environments.Installed("python", "2.15.0", str(self.root))
        with mock.patch.dict(os.environ, {"CXX": "true"}):
            environments.require_compiler(torch)
            with self.refused("/headers/Python.h", "apt-get install g++ python3-dev"):
                environments.require_compiler(torch._replace(headers="/headers"))
        with mock.patch.dict(os.environ, {"CXX": "no-compiler"}):
            with self.refused("needs no-compiler"):
                environments.require_compiler(torch)


class Processes(unittest.TestCase):
    def test_have_nothing_of_the_caller_that_changes_what_is_measured(self) -> None:
        caller = {"PATH": "/bin", "HOME": "/root", "OMP_NUM_THREADS": "1", "LD_PRELOAD": "x.so",
                  "ONEDNN_MAX_CPU_ISA": "AVX2", "PYTHONPATH": "/x", "MALLOC_ARENA_MAX": "1",
                  "CUDA_VISIBLE_DEVICES": "1", "OMP_PLACES": "{9}", "REGATTA_SEED": "3"}
        with mock.patch.dict(os.environ, caller, clear=True), \
                mock.patch.object(os, "sched_getaffinity", return_value={5, 2}):
            kept = environments.variables()
            returned = environments.variables("returned")
            on_gpu = environments.variables(device="cuda")
        common = {"PATH": "/bin", "HOME": "/root", "REGATTA_SEED": "3", "TF_CPP_MIN_LOG_LEVEL": "2",
                  "TORCHINDUCTOR_CACHE_DIR": "/root/.cache/regatta/torch-2.15.0/inductor"}
        self.assertEqual(returned, common | {"CUDA_VISIBLE_DEVICES": "", "OMP_PROC_BIND": "close",
                                             "OMP_PLACES": "{2},{5}"})
        self.assertEqual(kept, returned | environments.MALLOC_KEPT)
        self.assertEqual(on_gpu,
                         common | environments.MALLOC_KEPT | {"CUDA_VISIBLE_DEVICES": "1"})

    def test_scripts_that_are_not_there_are_refused(self) -> None:
        done = subprocess.run([sys.executable, environments.__file__, "torch_no.py"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("there is no torch_no.py; give a script", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
