#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Provides the PyTorch that the scripts of this folder use, and the environment of its processes.

    ci/peers/torch_environment.py [--torch pypi|debian]      installs it if missing, checks it
    ci/peers/torch_environment.py [--torch ...] [--malloc kept|returned] [--device cpu|cuda]
                                  SCRIPT [OPTION...]         runs SCRIPT of ci/peers in it

pypi: PyTorch VERSION from PyPI, installed once by pip into a virtual environment of
/usr/bin/python3 in $XDG_CACHE_HOME/regatta (~/.cache/regatta): 5.4 GB, some minutes. debian:
python3-torch of /usr/bin/python3.

A process gets only those of the caller's variables that are in KEPT, so that no other changes the
measurement. Its threads are pinned like Regatta's: the i-th to the i-th core that the caller may
use. Memory that it frees stays in the process; glibc's default is to return large blocks to Linux
and get them again, page by page, in every step. PyTorch's tuning guide advises an allocator that
keeps them, which makes airbench94 twice as fast. `malloc="returned"` keeps glibc's default.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn

VERSION = "2.15.0"

FOLDER = Path(__file__).resolve().parent
SYSTEM_PYTHON = "/usr/bin/python3"
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "CXX")
KEPT_FOR_GPUS = (*KEPT, "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
# Settings of glibc: no mmap, no memory returned to Linux (bytes), large pages if Linux allows them.
MALLOC_KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
               "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
QUESTION = ("import json, sysconfig, torch; "
            "print(json.dumps([torch.__version__, sysconfig.get_path('include')]))")


class Torch(NamedTuple):
    python: str
    version: str  # PyTorch's own string
    headers: str  # the folder of Python.h

    @property
    def compiles(self) -> bool:
        """Whether it has torch.compile, which came with 2.0."""
        return int(self.version.split(".")[0]) >= 2


def fail(text: str) -> NoReturn:
    raise SystemExit(f"torch_environment: {text}")


def say(text: str) -> None:
    print(f"torch_environment: {text}", file=sys.stderr, flush=True)


def cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "regatta" / f"torch-{VERSION}"


def environment(malloc: str = "kept", device: str = "cpu") -> dict[str, str]:
    """The environment of a process that runs PyTorch. For a GPU, threads are not pinned."""
    result = {name: os.environ[name] for name in (KEPT_FOR_GPUS if device == "cuda" else KEPT)
              if name in os.environ}
    result["TORCHINDUCTOR_CACHE_DIR"] = str(cache() / "inductor")
    if malloc == "kept":
        result |= MALLOC_KEPT
    if device == "cpu":
        cores = sorted(os.sched_getaffinity(0))
        result |= {"CUDA_VISIBLE_DEVICES": "", "OMP_PROC_BIND": "close",
                   "OMP_PLACES": ",".join(f"{{{core}}}" for core in cores)}
    return result


def run(command: list[str], environment: dict[str, str] | None = None) -> tuple[bool, str]:
    """Runs a command. Returns whether it succeeded, and its stdout, or stdout and stderr if not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except OSError as error:
        return False, str(error)
    well = done.returncode == 0
    return well, (done.stdout if well else done.stdout + done.stderr).strip()


def last_line(text: str) -> str:
    return text.splitlines()[-1].strip() if text else "it said nothing"


def first_error(text: str) -> str:
    """The first error in pip's output, which names the cause."""
    errors = [line for line in text.splitlines() if line.startswith("ERROR:")]
    return errors[0] if errors else last_line(text)


def make(folder: Path) -> None:
    """Installs PyTorch from PyPI into `folder`; continues an interrupted installation."""
    say(f"making {folder}: PyTorch {VERSION} from PyPI, 5.4 GB, some minutes")
    well, said = run([SYSTEM_PYTHON, "-m", "venv", str(folder)])
    if not well:
        fail(f"{SYSTEM_PYTHON} -m venv {folder} failed ({last_line(said)}); "
             "apt-get install python3-venv, and run this again")
    install = [str(folder / "bin/python"), "-m", "pip", "install", f"torch=={VERSION}"]
    well, said = run(install)
    if not well:
        fail(f"pip could not install PyTorch ({first_error(said)}); look at the network, the "
             f"proxy and the disk by: {' '.join(install)}")


def ask(python: str) -> tuple[Torch | None, str]:
    """The PyTorch of a python, or None and the error message."""
    well, said = run([python, "-c", QUESTION], environment())
    return (Torch(python, *json.loads(said)), "") if well else (None, last_line(said))


def from_pypi() -> Torch:
    folder = cache()
    python = str(folder / "bin/python")
    torch, problem = ask(python)
    if torch is None:
        make(folder)
        torch, problem = ask(python)
    if torch is None or torch.version.split("+")[0] != VERSION:
        fail(f"{folder} does not hold PyTorch {VERSION} ({problem or torch.version}); "
             f"rm -r {folder}, and run this again")
    return torch


def from_debian() -> Torch:
    torch, problem = ask(SYSTEM_PYTHON)
    if torch is None:
        fail(f"{SYSTEM_PYTHON} has no PyTorch ({problem}); "
             "apt-get install python3-torch, or take PyPI's by --torch pypi")
    return torch


SOURCES = {"pypi": from_pypi, "debian": from_debian}


def require_compiler(torch: Torch) -> None:
    """Exits if the compiler or headers that torch.compile needs for CPUs are missing."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None or not Path(torch.headers, "Python.h").exists():
        fail(f"torch.compile needs {compiler} and {torch.headers}/Python.h: "
             "apt-get install g++ python3-dev")


def command(torch: Torch, script: str, *options: str) -> list[str]:
    return [torch.python, str(FOLDER / script), *options]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", choices=SOURCES, default="pypi")
    parser.add_argument("--malloc", choices=("kept", "returned"), default="kept")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("script", nargs="?", help="of ci/peers")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="the script's")
    arguments = parser.parse_args()
    if arguments.script and not (FOLDER / arguments.script).is_file():
        fail(f"there is no {arguments.script} in {FOLDER}")
    torch = SOURCES[arguments.torch]()
    if not arguments.script:
        print(json.dumps(torch._asdict()))
        return 0
    os.execve(torch.python, command(torch, arguments.script, *arguments.options),
              environment(arguments.malloc, arguments.device))


if __name__ == "__main__":
    sys.exit(main())
