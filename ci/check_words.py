#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts turns of phrase that make comments, docstrings and pages hard to read.

usage: ci/check_words.py [--list] [PATH...]

Fails where a pattern stands more often than its limit, which is for all files. --list prints each
place. `Nothing` and `What` at the head of a sentence, and "what" as a noun, are counted in prose
only: code blocks and quoted `names` are left out. The rule: the verb or the noun that is returned
comes first, a machine is "it", a sentence stands alone.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {"what": 20, "head": 10}  # 1412 and 909 at commit cbfe09a5; each may only fall
PATTERNS = {"what": re.compile(r"\b[Ww]hat(?!ever)\b(?![^.]*\?)"),
            "head": re.compile(r"(?:^|(?<=[.!?] ))(?:Of|By|As|Nothing|What)\b(?! of course)")}
CODE = re.compile(r"`[^`]*`|\"[^\"]*\"")
LICENSE = "SPDX-License-Identifier: Apache-2.0"
STRING_OR_COMMENT = re.compile(
    r"""R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?:[ \t]*//[^\n]*\n?)+""")
CPP, PYTHON = {".h", ".cpp", ".cu", ".cuh", ".proto"}, "#!/usr/bin/python3"


def of_cpp(text: str) -> Iterator[tuple[int, str]]:
    for match in STRING_OR_COMMENT.finditer(text):
        if match[0].lstrip().startswith("//"):
            line = text.count("\n", 0, match.start()) + 1
            yield line, re.sub(r"(?m)^[ \t]*//[/!]?<?[ \t]?", "", match[0])


def of_python(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            if docstring := ast.get_docstring(node):
                yield node.body[0].lineno, docstring
    yield from of_bash(text)


def of_bash(text: str) -> Iterator[tuple[int, str]]:
    for match in re.finditer(r"(?m)(?:^[ \t]*# [^\n]*\n?)+|(?<=  )# [^\n]*", text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, re.sub(r"(?m)^[ \t]*# ?", "", match[0])


def of_page(text: str) -> Iterator[tuple[int, str]]:
    line = 1
    for part in re.split(r"(```(?:.|\n)*?```|\n\n+|\n(?=[*|#-]))", text):
        if not part.startswith("```"):
            yield line, part.strip().lstrip("*|#- ")
        line += part.count("\n")


def passages(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file, with the line at which each passage begins."""
    text = path.read_text()
    if path.suffix in CPP:
        return of_cpp(text)
    if path.suffix == ".py" or text.startswith(PYTHON):
        return of_python(text)
    return of_page(text) if path.suffix == ".md" else of_bash(text)


def found(path: Path) -> Iterator[tuple[int, str, str]]:
    """The line, pattern and excerpt of each place."""
    for line, passage in passages(path):
        prose = re.sub(r"\s+", " ", CODE.sub("``", passage.replace(LICENSE, ""))).strip()
        for pattern, expression in PATTERNS.items():
            for match in expression.finditer(prose):
                yield line, pattern, prose[max(match.start() - 30, 0):match.end() + 30]


def written() -> list[Path]:
    """The tracked files of people."""
    kinds = ("*.h", "*.cpp", "*.cu", "*.cuh", "*.proto", "*.py", "*.md", "*.cmake", "*.txt",
             ".ci/*", "ci/*")
    listed = subprocess.run(("git", "ls-files", *kinds), cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.split()
    return [ROOT / name for name in listed
            if name.endswith((".h", ".cpp", ".cu", ".cuh", ".proto", ".py", ".md", ".cmake"))
            or name.endswith("CMakeLists.txt") or (ROOT / name).read_bytes()[:2] == b"#!"]


def main(arguments: list[str]) -> int:
    listing = "--list" in arguments
    chosen = [Path(each).resolve() for each in arguments if not each.startswith("--")]
    counts = dict.fromkeys(PATTERNS, 0)
    for path in written():
        if chosen and not any(path.is_relative_to(each) for each in chosen):
            continue
        for line, pattern, excerpt in found(path):
            counts[pattern] += 1
            if listing:
                print(f"{path.relative_to(ROOT)}:{line}: {pattern}: {excerpt}")
    over = [name for name, count in counts.items() if count > LIMITS[name] and not chosen]
    print(", ".join(f"{name}: {count} (limit {LIMITS[name]})" for name, count in counts.items()))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
