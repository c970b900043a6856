# SPDX-License-Identifier: Apache-2.0
"""Tests make_kernel_resources and make with stand-ins for cuobjdump and the programs."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Output in the format of cuobjdump --dump-resource-usage.
USAGE = """identifier = /work/kernels/cuda/ops/bias.cu
Fatbin elf code:
Resource usage:
 Common:
  GLOBAL:0
 Function _Z3onev:
  REG:40 STACK:{stack} SHARED:1024 LOCAL:0 CONSTANT[0]:600 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function _Z3twov:
  REG:62 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:600 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


# Mangled names of kernels from a compiler, and their names in the table.
NAMED = {
    "_ZN7regatta4cuda6detail9run_blockINS1_13TileOfProductINS0_45_GLOBAL__N__34ab696e_12_kernels_0_"
    "cu_d9ebefe313MatrixProductIffEEEEEEvT_": "TileOfProduct<MatrixProduct>",
    "_ZN7regatta4cuda6detail12run_elementsINS0_6MapOneIffNS0_45_GLOBAL__N__34ab696e_12_kernels_0_"
    "cu_d9ebefe34GeluEEEEEvlT_": "MapOne<Gelu>",
}


def stand_in(path: Path, text: str, code: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\ncat <<'END'\n{text}\nEND\nexit {code}\n")
    path.chmod(0o755)


class Resources(unittest.TestCase):
    def setUp(self) -> None:
        if not shutil.which("c++filt"):
            self.skipTest("no c++filt")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "library.a").write_text("")

    def table(self, text: str, *flags: str) -> subprocess.CompletedProcess:
        stand_in(self.folder / "cuobjdump", text)
        return subprocess.run(
            [HERE / "make_kernel_resources", self.folder / "library.a", "--cuobjdump",
             self.folder / "cuobjdump", *flags], capture_output=True, text=True)

    def test_are_the_most_of_each_body(self) -> None:
        done = self.table(USAGE.format(stack=0))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^ +1 +40 +0 +0 +1024  one$")
        self.assertRegex(done.stdout, r"(?m)^2 kernels; most registers 62; with a stack: 0$")

    def test_name_bodies_without_types_and_widths(self) -> None:
        for name, body in NAMED.items():
            done = self.table(USAGE.format(stack=0).replace("_Z3onev", name))
            self.assertIn(f"  {body}\n", done.stdout)

    def test_of_a_kernel_that_spills_fail(self) -> None:
        done = self.table(USAGE.format(stack=8))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("with a stack: 1", done.stdout)

    def test_of_nothing_are_an_error(self) -> None:
        self.assertEqual(self.table("").returncode, 2)

    def test_are_skipped_without_the_tool(self) -> None:
        done = subprocess.run([HERE / "make_kernel_resources", self.folder / "library.a",
                               "--cuobjdump", "no-such-tool"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (77, "skipped: no no-such-tool\n"))


class Tables(unittest.TestCase):
    def test_tell_what_failed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            build, out = Path(folder) / "build", Path(folder) / "out"
            stand_in(build / "bin/gpu_launches_test", "[ RUN      ] A\nresnet9\n  16 of 16", 1)
            done = subprocess.run([HERE / "make", "--build", build, "--out", out,
                                   "--cuobjdump", "no-such-tool"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            launches = (out / "step_launches.txt").read_text().splitlines()
            self.assertTrue(launches[1].startswith("# commit "), launches)
            self.assertEqual(launches[2:], ["resnet9", "  16 of 16", "exit code 1"])
            self.assertIn("exit code 77", (out / "kernel_resources.txt").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
