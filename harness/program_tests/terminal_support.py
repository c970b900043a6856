# SPDX-License-Identifier: Apache-2.0
"""A terminal as the program sees one, and the screen as a person sees it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import NamedTuple

from test_support import REGATTA

PIECE = re.compile(r"\x1b\[(\d*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


class Screen:
    """The lines of an endless terminal, which understands the program's sequences."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0
        self.colours: list[str] = []
        self.left = ""  # an escape sequence that is not complete yet

    def feed(self, text: str) -> None:
        text, self.left = self.left + text, ""
        cut = text.rfind("\x1b")
        if cut >= 0 and not re.match(r"\x1b\[\d*[A-Za-z]", text[cut:]):
            text, self.left = text[:cut], text[cut:]
        for number, command, home, newline, plain in PIECE.findall(text):
            if command:
                self.obey(command, int(number or "1"), number)
            elif home:
                self.column = 0
            elif newline:
                self.down()
            else:
                for character in plain:
                    self.put(character)

    def obey(self, command: str, count: int, number: str) -> None:
        if command == "A":
            self.row = max(0, self.row - count)
        elif command == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif command == "J":
            self.lines[self.row] = self.lines[self.row][:self.column]
            del self.lines[self.row + 1:]
        elif command == "m":
            self.colours.append(number)
        else:
            raise AssertionError(f"unknown sequence: {number}{command}")

    def down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    def put(self, character: str) -> None:
        if self.column == self.columns:  # text continues in the next line
            self.column = 0
            self.down()
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
        self.column += 1

    def shown(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).rstrip()


class Frame(NamedTuple):
    at_s: float  # since the program was started
    text: str


class Seen(NamedTuple):
    frames: list[Frame]  # the screen after each piece of output
    screen: Screen
    raw: str  # all output, with its sequences
    code: int


def on_terminal(*arguments: str, columns: int = 80, without: tuple[str, ...] = ("NO_COLOR",),
                **environment: str) -> Seen:
    """Runs the program in a terminal, which output and errors share. Returns all screens."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in without}
    screen = Screen(columns)
    frames, raw = [], ""
    begin = time.monotonic()
    with subprocess.Popen([REGATTA, *arguments], stdin=its, stdout=its, stderr=its,
                          env=inherited | environment) as program:
        os.close(its)
        try:
            while piece := os.read(ours, 65536):
                raw += piece.decode()
                screen.feed(piece.decode())
                if not select.select([ours], [], [], 0.005)[0]:  # the drawing is complete
                    frames.append(Frame(time.monotonic() - begin, screen.shown()))
        except OSError:  # EIO: the program closed its end
            pass
    os.close(ours)
    return Seen(frames, screen, raw, program.returncode)


def examples_in(text: str) -> list[list[str]]:
    """The commands of the program that a help text shows, as words."""
    joined = re.sub(r"\\\n *", "", text)
    return [line.split() for line in re.findall(r"(?m)^  regatta (.*)$", joined)]


def scratch(folder: Path, words: list[str]) -> list[str]:
    """The command with its outputs and folders below `folder`."""
    return [str(folder / word) if re.match(r"out\b|.*\.json$", word) else word
            for word in words]
