#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every source, test and benchmark is built: a CMakeLists.txt above it lists it.

usage: ci/check_tests_built.py [ROOT]

A file that no CMakeLists.txt lists is never compiled, and a test in it never fails. Tests in Python
may be listed with or without `.py`. Exit code 1 if a file is not listed.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("kernels", "workloads", "strategies", "harness")


def is_listed(file: Path, root: Path) -> bool:
    """Whether the nearest CMakeLists.txt above the file lists its relative path."""
    folder = file.parent
    while folder != root.parent:
        listing = folder / "CMakeLists.txt"
        if listing.exists():
            name = re.escape(file.relative_to(folder).as_posix())
            if file.suffix == ".py":
                name = name.removesuffix(r"\.py") + r"(?:\.py)?"
            without_comments = re.sub(r"#.*", "", listing.read_text())
            return re.search(rf"(?<![\w/.-]){name}(?![\w/.-])", without_comments) is not None
        folder = folder.parent
    return False


def unbuilt(root: Path) -> list[str]:
    files = [file for folder in FOLDERS for pattern in ("*.cpp", "*.cu", "*_test.py")
             for file in (root / folder).rglob(pattern)]
    return sorted(str(file.relative_to(root)) for file in files if not is_listed(file, root))


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    missing = unbuilt(root)
    for name in missing:
        print(f"{name}: in no CMakeLists.txt, so it is never built")
    print(f"{len(missing)} files are not built")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
