#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every source against four rules: which folders a folder may include; which files may
compare names of strategies or devices; and that each room defines names in its own namespace, and
no two headers the same one, because the linker would silently use one for the other.

usage: ci/check_includes.py [ROOT]

Prints one line for each include, comparison or constant that is not allowed; exit code 1 if there
is one.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple


class Rule(NamedTuple):
    folder: str
    project: tuple[str, ...]  # folders it may include, besides itself
    third_party: tuple[str, ...] = ()  # prefixes of other headers that it may include


CUDA = ("cuda", "cublas", "cudnn", "nvtx", "cooperative_groups.h")
GRAPH = ("kernels/base", "kernels/graph")
STEP = (*GRAPH, "kernels/data", "kernels/distribute", "kernels/runtime")
ENGINE = (*STEP, "kernels/rewrite", "kernels/comm", "workloads", "strategies")
RULES = (
    Rule("kernels/base", ()),
    Rule("kernels/graph", ("kernels/base",)),
    Rule("kernels/rewrite", GRAPH),
    Rule("kernels/distribute", GRAPH),
    Rule("kernels/data", GRAPH),
    Rule("kernels/runtime", STEP),
    Rule("kernels/reference", STEP),
    Rule("kernels/cpu", (*STEP, "kernels/rewrite"), ("oneapi/dnnl/",)),
    Rule("kernels/cuda", STEP, CUDA),
    Rule("kernels/virtual", STEP),
    Rule("kernels/comm", STEP,
         ("nccl.h", "grpc/grpc.h", "grpc/support/log.h", "grpcpp/", "google/protobuf/",
          "cuda_runtime.h")),
    Rule("workloads", (*GRAPH, "kernels/data"), ("openssl/",)),
    Rule("strategies", (*GRAPH, "kernels/distribute", "kernels/rewrite")),
    # The rooms of the harness; each uses rooms above it.
    Rule("harness/system", (*STEP, "kernels/comm"),
         ("fmt/", "grpcpp/", "hwloc.h")),
    Rule("harness/record", ("harness/system", *STEP, "strategies"),
         ("fmt/", "nlohmann/", "zlib.h")),
    Rule("harness/plan", ("harness/record", "harness/system", *ENGINE), ("CLI/", "fmt/")),
    Rule("harness/run", ("harness/plan", "harness/system", *ENGINE)),
    Rule("harness/ranks", ("harness/run", "harness/plan", "harness/system", *ENGINE),
         ("fmt/", "grpcpp/")),
    Rule("harness/checkpoint",
         ("harness/run", "harness/plan", "harness/record", "harness/system", *ENGINE),
         ("fmt/", "nlohmann/")),
    Rule("harness/simulate",
         ("harness/ranks", "harness/run", "harness/plan", "harness/record", "harness/system",
          "kernels/virtual", *ENGINE),
         ("fmt/", "nlohmann/", "toml++/")),
    Rule("harness/judge",
         ("harness/plan", "harness/record", "harness/system", *ENGINE), ("fmt/", "nlohmann/")),
    Rule("harness/matrix",
         ("harness/judge", "harness/plan", "harness/record", "harness/system", *ENGINE),
         ("fmt/", "toml++/")),
    Rule("harness/export", ("harness/judge", "harness/record", "harness/system", *ENGINE),
         ("fmt/", "nlohmann/")),
    Rule("harness/race",
         ("harness/checkpoint", "harness/simulate", "harness/ranks", "harness/run", "harness/plan",
          "harness/record", "harness/system", *ENGINE), ("fmt/",)),
    Rule("harness/contender",
         ("harness/race", "harness/ranks", "harness/run", "harness/plan", "harness/record",
          "harness/system", *ENGINE), ("fmt/", "nlohmann/")),
    Rule("harness/cli", ("harness", *ENGINE, "kernels/virtual"), ("CLI/", "fmt/", "nlohmann/")),
)
# Tests, fuzz targets, benchmarks, and code that they share may include any file; other files may
# not include them.
TEST = re.compile(r"(_test|_bench|_fuzz|/test_support)\.(cpp|cu|h)$")
# Code may not depend on a strategy's name, except in claims, which are about named strategies.
# `single` is exempt, because all others are compared with it.
STRATEGY = re.compile(r'constinit const Strategy \w+ = \{\s*\.name = "(\w+)"')
BY_STRATEGY = ("strategies/", "harness/judge/claim")
DEVICE = re.compile(r'[!=]= *(kCpu|kCuda|"cpu"|"cuda")')
BY_DEVICE = ("harness/plan/device_name.h", "harness/run/backend.cpp")
CONSTANT = re.compile(r"inline constexpr [^=;{(]*?(k[A-Z]\w*)(\[\])?(;| =|\{)")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?) (\w+)(?: final)?"
                  r"(?: :[^;]*)? ?\{")
# A namespace and its body; bodies that only declare types of other rooms; names for tests.
BLOCK = re.compile(r"^namespace (regatta[\w:]*) \{\n(.*?)^\}  // namespace \1$", re.M | re.S)
FORWARD = re.compile(r"(?:(?:class|struct|enum class) \w+(?: : [\w:]+)?;\n|\n)*")
SUPPORT = re.compile(r"::test(ing_support)?$")
KEYWORDS = {"virtual": "virtual_time", "export": "exports"}  # names that C++ does not allow
MADE = ("harness/system/build_facts.cmake",)  # scripts that generate headers
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SYSTEM = ("sys/", "linux/", "bits/", "asm/", "arpa/", "netinet/")
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$")  # <vector>; a library's has a dot or a slash
C_SYSTEM = ("fcntl.h", "pthread.h", "sched.h", "signal.h", "unistd.h", "immintrin.h", "omp.h",
            "x86intrin.h", "time.h", "poll.h", "malloc.h", "dlfcn.h", "glob.h", "link.h", "spawn.h",
            "netdb.h", "ifaddrs.h")


def rule_of(path: str) -> Rule | None:
    return next((rule for rule in RULES if path.startswith(rule.folder + "/")), None)


def is_system(header: str) -> bool:
    return bool(STANDARD_HEADER.match(header)) or header in C_SYSTEM or header.startswith(SYSTEM)


def refusal(path: str, header: str, quoted: bool) -> str:
    """The reason why `path` may not include `header`; empty if it may."""
    rule = rule_of(path)
    if rule is None:
        return "its folder has no rule; add one to ci/check_includes.py and to the design"
    if quoted:
        if TEST.search(header):
            return "it is for tests and benchmarks"
        allowed = (rule.folder, *rule.project)
        if header.startswith(tuple(folder + "/" for folder in allowed)):
            return ""
        return f"{rule.folder} may include from the project only {', '.join(allowed)}"
    if is_system(header) or header.startswith(rule.third_party):
        return ""
    libraries = ", ".join(rule.third_party) or "none"
    return f"{rule.folder} may include of third parties only {libraries}"


def strategies(root: Path) -> list[str]:
    """The names of all strategies except `single`."""
    found = [name for file in sorted((root / "strategies").glob("*.cpp"))
             for name in STRATEGY.findall(file.read_text())]
    return [name for name in found if name != "single"]


def comparison(path: str, line: str, names: list[str]) -> str:
    """The reason why `path` may not compare names as in `line`; empty if it may."""
    if names and not path.startswith(BY_STRATEGY):
        if re.search(rf'[!=]= *"({"|".join(names)})"', line):
            return "only strategies/ and the claims ask for a strategy's name; ask the placed graph"
    if not path.startswith(BY_DEVICE) and DEVICE.search(line):
        return "a device's name is asked for only in " + " and ".join(BY_DEVICE)
    return ""


def check_text(path: str, text: str, names: list[str]) -> list[str]:
    """The lines of one file that break a rule, with reasons. `names`: of strategies."""
    if TEST.search(path):
        return []
    problems = []
    for number, line in enumerate(text.splitlines(), start=1):
        found = INCLUDE.match(line)
        why = (refusal(path, found[2], found[1] == '"') if found
               else comparison(path, line, names))
        if why:
            problems.append(f"{path}:{number}: {line.strip()}: {why}")
    return problems


def namespace_of(folder: str) -> str:
    """The namespace of a room: `regatta` for the vocabulary of a step, else one of its name."""
    if folder in (*STEP, "kernels/rewrite"):
        return "regatta"
    name = folder.rsplit("/", maxsplit=1)[-1]
    return f"regatta::{KEYWORDS.get(name, name)}"


def strays(path: str, text: str) -> list[str]:
    """A line for each namespace that is not the room's in which it defines names.

    A source, unlike a header, may define functions that the vocabulary of a step declares.
    """
    rule = rule_of(path)
    if rule is None:
        return []
    own = namespace_of(rule.folder)
    return [f"{path}: namespace {name}: this folder's is {own}"
            for name, body in BLOCK.findall(text)
            if not (name + "::").startswith(own + "::") and not SUPPORT.search(name)
            and (name != "regatta" or path.endswith(".h")) and not FORWARD.fullmatch(body)]


def names_of(text: str) -> set[str]:
    """The constants and types that a header defines, qualified by their namespaces."""
    found = set()
    namespace = ""
    for line in text.splitlines():
        if opened := re.match(r"namespace ([\w:]+) \{", line):
            namespace = opened[1]
        if defined := CONSTANT.match(line) or TYPE.match(line):
            found.add(f"{namespace}::{defined[1]}")
    return found


def twins(headers: dict[str, str]) -> list[str]:
    """A line for each constant or type that two headers define: the linker takes them for one.
    `headers`: text by path."""
    first: dict[str, str] = {}
    problems = []
    for path, text in headers.items():
        for name in sorted(names_of(text)):
            if first.setdefault(name, path) != path:
                problems.append(f"{path}: {name}: {first[name]} has it, too")
    return problems


def sources(root: Path) -> list[str]:
    """The C++ and CUDA files in the folders of the table."""
    tops = sorted({rule.folder.split("/")[0] for rule in RULES})
    found = [path for top in tops for path in (root / top).rglob("*")]
    return sorted(str(path.relative_to(root)) for path in found
                  if path.suffix in (".h", ".cpp", ".cu", ".cuh"))


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    files = sources(root)
    names = strategies(root)
    problems = [problem for file in files
                for problem in (*check_text(file, (root / file).read_text(), names),
                                *strays(file, (root / file).read_text()))]
    headers = [file for file in files if file.endswith(".h") and not TEST.search(file)
               and not file.endswith("_for_test.h")]
    problems += twins({file: (root / file).read_text() for file in (*headers, *MADE)
                       if (root / file).is_file()})
    print("\n".join([*problems, f"{len(files)} files, {len(problems)} lines not allowed"]))
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
