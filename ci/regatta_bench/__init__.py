# SPDX-License-Identifier: Apache-2.0
"""The command `regatta` of the wheel: becomes the program, which lies beside this file."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Never returns. The program draws by this interpreter, and finds the mpirun of a wheel beside
    it if PATH has no other."""
    if "avx2" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        sys.exit("regatta: this wheel needs a processor with AVX2; fix: make one for this "
                 "processor, from a checkout, by ci/wheel out/wheel -D REGATTA_ARCH=native")
    program = str(Path(__file__).parent / "bin/regatta")
    os.environ["REGATTA_PYTHON"] = sys.executable
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath),
                                          str(Path(sys.executable).parent)])
    os.execv(program, ["regatta", *sys.argv[1:]])
