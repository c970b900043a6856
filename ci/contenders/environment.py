#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Provides the frameworks that Regatta is compared with, and the environment of their processes.

    ci/contenders/environment.py torch|tensorflow|jax [--torch pypi|debian]
                                       installs it if missing, checks it
    ci/contenders/environment.py [--torch ...] [--malloc kept|returned] [--device cpu|cuda]
                                 [FRAMEWORK] SCRIPT [OPTION...]
                                       runs SCRIPT in it; FRAMEWORK: default the head of its name

pypi: the packages of FRAMEWORKS from PyPI, installed once by pip into virtual environments of
/usr/bin/python3 in $XDG_CACHE_HOME/regatta (~/.cache/regatta). debian: python3-torch of
/usr/bin/python3.

A process gets only those of the caller's variables that are in KEPT, and Regatta's, so that no
other changes the measurement. Its threads are pinned like Regatta's: the i-th to the i-th core that
the caller may use. Memory that it frees stays in the process; glibc's default is to return large
blocks to Linux and get them again, page by page, in every step. PyTorch's tuning guide advises an
allocator that keeps them, which makes airbench94 twice as fast. `malloc="returned"` keeps glibc's
default.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn

FOLDER = Path(__file__).resolve().parent
SYSTEM_PYTHON = "/usr/bin/python3"
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "CXX")
KEPT_FOR_GPUS = (*KEPT, "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
# Settings of glibc: no mmap, no memory returned to Linux (bytes), large pages if Linux allows them.
MALLOC_KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
               "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
QUESTION = ("import importlib.metadata as m, json, sys, sysconfig; print(json.dumps("
            "[[m.version(name) for name in sys.argv[1:]], sysconfig.get_path('include')]))")


class Framework(NamedTuple):
    name: str
    packages: dict[str, str]  # version by name; the first is the framework
    size: str

    @property
    def version(self) -> str:
        return next(iter(self.packages.values()))


# JAX 0.10.2 is the newest for Debian 12's Python 3.11.
FRAMEWORKS = {each.name: each for each in (
    Framework("torch", {"torch": "2.15.0", "torchft": "0.2.0", "numpy": "2.4.6"}, "5.4 GB"),
    Framework("tensorflow", {"tensorflow-cpu": "2.21.0", "tensorboard": "2.21.0"}, "1.6 GB"),
    Framework("jax", {"jax": "0.10.2", "jaxlib": "0.10.2"}, "0.6 GB"))}
TORCH = FRAMEWORKS["torch"]


class Installed(NamedTuple):
    python: str
    version: str
    headers: str  # the folder of Python.h

    @property
    def compiles(self) -> bool:
        """Whether a PyTorch has torch.compile, which came with 2.0."""
        return int(self.version.split(".")[0]) >= 2


def fail(text: str) -> NoReturn:
    raise SystemExit(f"environment: {text}")


def say(text: str) -> None:
    print(f"environment: {text}", file=sys.stderr, flush=True)


def cache(framework: Framework = TORCH) -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "regatta" / f"{framework.name}-{framework.version}"


def variables(malloc: str = "kept", device: str = "cpu") -> dict[str, str]:
    """The environment of a process that runs a framework. For a GPU, threads are not pinned."""
    kept = KEPT_FOR_GPUS if device == "cuda" else KEPT
    result = {name: value for name, value in os.environ.items()
              if name in kept or name.startswith("REGATTA_")}
    result |= {"TORCHINDUCTOR_CACHE_DIR": str(cache() / "inductor"), "TF_CPP_MIN_LOG_LEVEL": "2"}
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


def make(framework: Framework, folder: Path) -> None:
    """Installs the packages from PyPI into `folder`; continues an interrupted installation."""
    wanted = [f"{name}=={version}" for name, version in framework.packages.items()]
    say(f"making {folder}: {', '.join(wanted)} from PyPI, {framework.size}, some minutes")
    well, said = run([SYSTEM_PYTHON, "-m", "venv", str(folder)])
    if not well:
        fail(f"{SYSTEM_PYTHON} -m venv {folder} failed ({last_line(said)}); "
             "apt-get install python3-venv, and run this again")
    install = [str(folder / "bin/python"), "-m", "pip", "install", *wanted]
    well, said = run(install)
    if not well:
        fail(f"pip could not install {framework.name} ({first_error(said)}); look at the network, "
             f"the proxy and the disk by: {' '.join(install)}")


def ask(python: str, names: list[str]) -> tuple[list[str], str, str]:
    """The versions of packages and the folder of headers, or the error message."""
    well, said = run([python, "-c", QUESTION, *names], variables())
    return (*json.loads(said), "") if well else ([], "", last_line(said))


def installed(framework: Framework = TORCH) -> tuple[Installed | None, str]:
    """The framework as PyPI's packages, or None and the reason why it is not there."""
    python = str(cache(framework) / "bin/python")
    found, headers, problem = ask(python, list(framework.packages))
    if found == list(framework.packages.values()):
        return Installed(python, framework.version, headers), ""
    return None, problem or ", ".join(found)


def from_pypi(framework: Framework = TORCH) -> Installed:
    result, _ = installed(framework)
    if result is None:
        make(framework, cache(framework))
        result, problem = installed(framework)
    if result is None:
        folder = cache(framework)
        fail(f"{folder} does not hold {framework.name} {framework.version} ({problem}); "
             f"rm -r {folder}, and run this again")
    return result


def from_debian() -> Installed:
    found, headers, problem = ask(SYSTEM_PYTHON, ["torch"])
    if not found:
        fail(f"{SYSTEM_PYTHON} has no PyTorch ({problem}); "
             "apt-get install python3-torch, or take PyPI's by --torch pypi")
    return Installed(SYSTEM_PYTHON, found[0], headers)


SOURCES = {"pypi": from_pypi, "debian": from_debian}


def require_compiler(torch: Installed) -> None:
    """Exits if the compiler or headers that torch.compile needs for CPUs are missing."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None or not Path(torch.headers, "Python.h").exists():
        fail(f"torch.compile needs {compiler} and {torch.headers}/Python.h: "
             "apt-get install g++ python3-dev")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", choices=SOURCES, default="pypi")
    parser.add_argument("--malloc", choices=("kept", "returned"), default="kept")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("script", help=f"a file, or one of {', '.join(FRAMEWORKS)}")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="the script's")
    arguments = parser.parse_args()
    name = Path(arguments.script).name.split("_")[0]
    framework = FRAMEWORKS.get(name)
    command = ([] if arguments.script == name else [arguments.script]) + arguments.options
    if framework is None or (command and not Path(command[0]).is_file()):
        fail(f"there is no {' '.join(command)}; give a script whose name begins with "
             f"{', '.join(f'{each}_' for each in FRAMEWORKS)}, or one of these names before it")
    found = SOURCES[arguments.torch]() if framework is TORCH else from_pypi(framework)
    if not command:
        print(json.dumps(found._asdict()))
        return 0
    if "--compile" in command and framework is TORCH:
        require_compiler(found)
    os.execve(found.python, [found.python, *command],
              variables(arguments.malloc, arguments.device))


if __name__ == "__main__":
    sys.exit(main())
