#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The PyTorch that the scripts of this folder race against, and the environment of its processes.

    ci/peers/torch_environment.py [--torch pypi|debian]      makes it where it is missing, checks it
    ci/peers/torch_environment.py [--torch ...] [--malloc kept|returned] [--device cpu|cuda]
                                  SCRIPT [OPTION...]         runs SCRIPT of ci/peers in it

pypi: PyTorch of PyPI, VERSION, installed by pip into a virtual environment of /usr/bin/python3 in
$XDG_CACHE_HOME/regatta (~/.cache/regatta), once: 5.4 GB, some minutes. debian: python3-torch of
/usr/bin/python3.

Of the caller's variables a process gets those in KEPT only, so that none changes what is measured.
Its threads are pinned, as Regatta's are: the i-th to the i-th core that the caller may use. Memory
that it frees stays in the process, where glibc would give large blocks back to Linux and get them
anew, page by page, in every step: PyTorch's guide to tuning advises an allocator that keeps them,
and it makes airbench94 twice as fast. `malloc="returned"` leaves glibc as it is.
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
# Never by mmap, and never back to Linux (bytes); in large pages where Linux gives them on advice.
MALLOC_KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
               "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
QUESTION = ("import json, sysconfig, torch; "
            "print(json.dumps([torch.__version__, sysconfig.get_path('include')]))")


class Torch(NamedTuple):
    python: str
    version: str  # as PyTorch says it
    headers: str  # the folder of Python.h

    @property
    def compiles(self) -> bool:
        """torch.compile came with 2.0."""
        return int(self.version.split(".")[0]) >= 2


def fail(text: str) -> NoReturn:
    raise SystemExit(f"torch_environment: {text}")


def say(text: str) -> None:
    print(f"torch_environment: {text}", file=sys.stderr, flush=True)


def cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "regatta" / f"torch-{VERSION}"


def environment(malloc: str = "kept", device: str = "cpu") -> dict[str, str]:
    """Of a process that runs PyTorch. On a GPU threads are not pinned."""
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
    """Whether it ended well, and what it said: on stdout if so, otherwise on both."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except OSError as error:
        return False, str(error)
    well = done.returncode == 0
    return well, (done.stdout if well else done.stdout + done.stderr).strip()


def last_line(text: str) -> str:
    return text.splitlines()[-1].strip() if text else "it said nothing"


def first_error(text: str) -> str:
    """Of pip, whose first one names the cause."""
    errors = [line for line in text.splitlines() if line.startswith("ERROR:")]
    return errors[0] if errors else last_line(text)


def make(folder: Path) -> None:
    """Goes on where an earlier one was ended."""
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
    """Its PyTorch; without one, why."""
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
    """What torch.compile calls, on a CPU."""
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
