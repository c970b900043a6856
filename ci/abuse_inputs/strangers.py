# SPDX-License-Identifier: Apache-2.0
"""Connections to the ports of a race by strangers who have no token. The race has to end as if
there were none: exit code 0, the same losses, little more memory, nothing left.

An input of the kind `http2` is a frame of HTTP/2 or a flood of one; of the kind `frames` it is a
call with a message in it; of the kind `doors` it is a request to be let in. Up to ten are sent over
one connection, and what follows one that was hung up on over another. How it ends is drawn, too:
closed, reset, or left open to the end of the race. Thousands come to one race; what is wrong with
it is traced to the fewest that are enough.
"""

import collections
import os
import random
import select
import shutil
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from . import http2, known, values
from .oracle import Verdict, broken, quoted
from .processes import Done, finish, memory_file
from .race import (PROCESSES, RACE_S, Race, ends_all, losses_of, peak_bytes, ports_of, race_of,
                   record_in)
from .subject import Subject

SENDING_S = 2  # for a connection's input
SLOWER = 3  # the race with strangers and after them, before it counts as hanging
MORE_MEMORY_BYTES = 200 << 20
BATCH = 5_000
AT_A_TIME = 16  # strangers; those who stay come on top
ATTEMPTS = 3  # races that end before a stranger comes
PER_CONNECTION = 10
KNOWN = 2  # connections, to each port one, begin with what is known
STREAMS = 100_000  # from one input of a connection to the next
ANSWER_MS = 1
ENDS = ("close", "close", "reset", "open")
LINGER = struct.pack("ii", 1, 0)


MAKERS = {"http2": http2.element, "frames": http2.message_in_call, "doors": http2.request}
OPENINGS = {"http2": http2.SOUND_OPENING, "frames": http2.SOUND_OPENING, "doors": b""}


class Connection(NamedTuple):
    """All that one stranger does. `parts`: what it sends, by the number of the input."""

    opening: bytes
    parts: dict[int, bytes]
    end: str
    reads: bool


def connections(subject: Subject, kind: str, numbers: Sequence[int]) -> list[Connection]:
    make: Callable[[random.Random, int], bytes] = MAKERS[kind]
    groups: dict[int, list[int]] = {}
    for number in numbers:
        groups.setdefault(number // PER_CONNECTION, []).append(number)
    found = []
    for group, members in groups.items():
        rng = values.random_of(subject.seed, f"{kind} connection", group)
        parts = {}
        for number in members:
            stream = 1 + STREAMS * (number % PER_CONNECTION)
            parts[number] = make(values.random_of(subject.seed, kind, number), stream)
        end = rng.choice(ENDS)
        if kind == "http2" and group < KNOWN:
            end = "open"
            known_parts = enumerate(known.frames(), start=group * PER_CONNECTION)
            parts |= {number: part for number, part in known_parts if number in parts}
        opening = http2.opening(rng) if kind == "http2" else OPENINGS[kind]
        found.append(Connection(opening, parts, end, rng.random() < 0.5))
    return found


def awaited(peer: socket.socket, event: int, limit_ms: int) -> bool:
    poll = select.poll()
    poll.register(peer, event)
    return bool(poll.poll(limit_ms))


def hung_up(peer: socket.socket) -> bool:
    """Soon."""
    return awaited(peer, select.POLLRDHUP, ANSWER_MS)


class Spoken(NamedTuple):
    """Which inputs were sent, which of them the other side did not hang up on, and the socket, if
    it stays open."""

    sent: set[int]
    taken: set[int]
    peer: socket.socket | None = None


def speak(connection: Connection, port: int) -> Spoken:
    spoken = Spoken(set(), set())
    try:
        peer = socket.create_connection(("127.0.0.1", port), timeout=SENDING_S)
    except OSError:
        return spoken
    try:
        peer.sendall(connection.opening)
        if hung_up(peer):
            return spoken
        for number, part in connection.parts.items():
            spoken.sent.add(number)
            peer.sendall(part)
            if hung_up(peer):
                break
            spoken.taken.add(number)
            if connection.reads and awaited(peer, select.POLLIN, 0):
                peer.recv(1 << 20)
        if connection.end == "open":
            return spoken._replace(peer=peer)
        if connection.end == "reset":
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
    except OSError:  # it hung up, or takes no more
        pass
    finally:
        if connection.end != "open":
            peer.close()
    return spoken


class Crowd:
    """Strangers, some at a time. What one could not send, another sends."""

    def __init__(self, strangers: list[Connection], opening: bytes) -> None:
        self.opening = opening  # of those who come for others
        self.waiting = collections.deque(strangers)
        self.lock = threading.Lock()  # guards all
        self.sent: set[int] = set()
        self.taken: set[int] = set()
        self.left_open: list[socket.socket] = []
        self.came = 0

    def come(self, race: Race) -> None:
        """As long as there are any and the race goes on."""
        ports = ports_of(race.pids())
        threads = [threading.Thread(target=self.queue, args=(race, ports))
                   for _ in range(AT_A_TIME)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def queue(self, race: Race, ports: list[int]) -> None:
        while ports and not race.is_over():
            with self.lock:
                if not self.waiting:
                    return
                connection = self.waiting.popleft()
                self.came += 1
                port = ports[self.came % len(ports)]
            spoken = speak(connection, port)
            rest = {number: part for number, part in connection.parts.items()
                    if number not in spoken.sent}
            with self.lock:
                self.sent |= spoken.sent
                self.taken |= spoken.taken
                self.left_open += [spoken.peer] if spoken.peer else []
                if rest:
                    self.waiting.appendleft(connection._replace(opening=self.opening, parts=rest))

    def go(self) -> None:
        for peer in self.left_open:
            peer.close()


def disturbed(subject: Subject, words: Sequence[str], crowd: Crowd,
              here: Path) -> tuple[Done, list[str]]:
    """How the race ended, and what its end does not tell."""
    begin = time.monotonic()
    with memory_file("stdout") as stdout, memory_file("stderr") as stderr:
        race = Race(subject, words, here, stdout, stderr)
        calm: dict[int, int] = {}
        if race.await_training():
            calm = {pid: peak_bytes(pid) for pid in race.pids()}
            race.watch(calm)
            crowd.come(race)
        in_time, _ = finish(race.child, subject.limit_s + SLOWER * RACE_S)
        race.over = True
        wrong = [] if ends_all(race.child.pid) else ["it leaves processes"]
        wrong += [f"a process took {(race.peaks[pid] - calm[pid]) >> 20} MB more"
                  for pid in calm if race.peaks[pid] > calm[pid] + MORE_MEMORY_BYTES]
        crowd.go()
        done = Done(race.child.returncode, not in_time, time.monotonic() - begin,
                    os.pread(stdout, 1 << 20, 0), os.pread(stderr, 1 << 20, 0))
    return done, wrong


class Meeting:
    """A race and the strangers who come to it, of one kind."""

    def __init__(self, subject: Subject, kind: str, number: int, folder: Path) -> None:
        self.subject = subject
        self.kind = kind
        self.folder = folder
        words, self.losses = race_of(subject, number // BATCH, folder.parent)
        self.words = [*words, *PROCESSES]

    def hold(self, strangers: list[Connection]) -> tuple[Crowd, list[str]]:
        """And what was wrong with the race."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        crowd = Crowd(strangers, OPENINGS[self.kind])
        done, wrong = disturbed(self.subject, [*self.words, "--out", "."], crowd, self.folder)
        wrong += broken(done)
        if done.code != 0 and not wrong:
            wrong.append(f"exit code {done.code}: {done.stderr[-200:]!r}")
        if done.code == 0 and losses_of(record_in(self.folder)) != self.losses:
            wrong.append("the losses are others than without strangers")
        return crowd, wrong

    def to_blame(self, strangers: list[Connection]) -> list[Connection]:
        """A part of them that breaks the race again, as small as halving finds one."""
        while len(strangers) > 1:
            middle = len(strangers) // 2
            halves = (strangers[:middle], strangers[middle:])
            half = next((half for half in halves if self.hold(half)[1]), None)
            if half is None:
                break
            strangers = half
        return strangers


blamed: set[str] = set()  # kinds; once is enough for a worker, for it takes minutes


def with_finding(verdicts: list[Verdict], wrong: list[str],
                 guilty: list[Connection]) -> list[Verdict]:
    """On the first of those who are to blame, together with the others."""
    numbers = sorted(number for one in guilty for number in one.parts)
    first = numbers[0] if numbers else verdicts[0].number
    together = f"{first}-{numbers[-1]}" if len(numbers) > 1 else ""
    return [verdict._replace(wrong=tuple(wrong), together=together)
            if verdict.number == first else verdict for verdict in verdicts]


def judged(subject: Subject, kind: str, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    """All of them in one race, or in more if it ends before they have come."""
    meeting = Meeting(subject, kind, numbers[0], folder)
    strangers = connections(subject, kind, numbers)
    verdicts: list[Verdict] = []
    attempts = 0
    while strangers:
        crowd, wrong = meeting.hold(strangers)
        guilty = [one for one in strangers if crowd.sent & set(one.parts)] or strangers[:1]
        if wrong and crowd.sent and kind not in blamed:
            blamed.add(kind)
            guilty = meeting.to_blame(guilty)
        attempts += 0 if crowd.sent else 1
        if attempts == ATTEMPTS:  # a finding, which needs an input
            wrong.append("no stranger could come")
            crowd.sent |= {number for stranger in strangers for number in stranger.parts}
        said = f"regatta {quoted(meeting.words)}  # and {crowd.came} strangers"
        verdicts += [Verdict(number, number in crowd.taken, said, ()) for number in crowd.sent]
        if wrong:
            verdicts = with_finding(verdicts, wrong, guilty)
        strangers = list(crowd.waiting) if attempts < ATTEMPTS else []
    return verdicts


def judge_http2(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    return judged(subject, "http2", numbers, folder / "http2")


def judge_frames(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    return judged(subject, "frames", numbers, folder / "frames")


def judge_doors(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    return judged(subject, "doors", numbers, folder / "doors")
