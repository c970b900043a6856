# SPDX-License-Identifier: Apache-2.0
"""The command `regatta` of the wheel: becomes the program, which lies beside this file."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Never returns. The program draws by this interpreter, and finds the mpirun of a wheel beside
    it if PATH has no other, and NVIDIA's wheels if no virtual environment is active."""
    program = str(Path(__file__).parent / "bin/regatta")
    os.environ["REGATTA_PYTHON"] = sys.executable
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath),
                                          str(Path(sys.executable).parent)])
    os.execv(program, ["regatta", *sys.argv[1:]])
