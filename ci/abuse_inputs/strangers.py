# SPDX-License-Identifier: Apache-2.0
"""A race over processes, and connections to its ports by strangers who have no token. The race has
to end as if there were none: exit code 0, the same losses, little more memory, nothing left.

An input of the kind `http2` is a frame of HTTP/2 or a flood of one; of the kind `frames` it is a
call with a message in it. Up to ten are sent over one connection, and what follows one that was
hung up on over another. How it ends is drawn, too: closed, reset, or left open to the end of the
race. Ports of mpirun itself are left alone.
"""

import collections
import contextlib
import json
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
from typing import Any, NamedTuple

from children import in_session

from . import http2, values
from .folder import RECORDS
from .oracle import Verdict, broken, quoted
from .processes import Done, ends_within, finish, memory_file, run, start
from .subject import Subject, Unusable

RACE = ("run", "--workload", "parabola")
STRATEGIES = (("--strategy", "parameter_server", "--workers", "2"),
              ("--strategy", "all_reduce", "--workers", "2"))
PROCESSES = ("--processes", "2")
PROBE_STEPS = 2_000
RACE_S = 3  # of training that strangers may disturb
SLOWER = 4  # the race with strangers and after them, before it counts as hanging
START_S = 30
SENDING_S = 2  # for a connection's input
MORE_MEMORY_BYTES = 200 << 20
BATCH = 3_000
AT_A_TIME = 4  # strangers; those who stay come on top
ATTEMPTS = 3  # races that end before a stranger comes
PER_CONNECTION = 10
STREAMS = 100_000  # from one input of a connection to the next
ANSWER_MS = 1
LISTENING = "0A"
LINGER = struct.pack("ii", 1, 0)


def ports_of(pid: int) -> list[int]:
    """That the process listens at."""
    inodes = set()
    with contextlib.suppress(OSError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                inodes.add(os.readlink(f"/proc/{pid}/fd/{entry}").removeprefix("socket:[")[:-1])
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(line[1].split(":")[1], 16) for line in lines
            if line[3] == LISTENING and line[9] in inodes]


def peak_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


class Race:
    """One that is under way, and the most memory of each of its processes."""

    def __init__(self, subject: Subject, words: Sequence[str], folder: Path, stdout: int,
                 stderr: int) -> None:
        self.program = str(subject.program)
        self.stdout = stdout
        self.child = start([subject.program, *words], folder, stdout, stderr)
        self.peaks: dict[int, int] = {}
        self.over = False

    def pids(self) -> list[int]:
        """Of the program itself, not of mpirun."""
        found = []
        for pid in in_session(self.child.pid):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe") == self.program:
                    found.append(pid)
        return found

    def await_training(self) -> bool:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and not ends_within(self.child.pid, 0.02):
            if b"step 0 " in os.pread(self.stdout, 10_000, 0):
                return True
        return False

    def watch(self, calm: dict[int, int]) -> None:
        """The memory of these processes, from now on."""
        self.peaks = dict(calm)
        threading.Thread(target=self.sample, daemon=True).start()

    def sample(self) -> None:
        while not self.over:
            for pid in self.peaks:
                self.peaks[pid] = max(self.peaks[pid], peak_bytes(pid))
            time.sleep(0.02)

    def is_over(self) -> bool:
        return ends_within(self.child.pid, 0)


class Connection(NamedTuple):
    """All that one stranger does. `parts`: what it sends, by the number of the input."""

    opening: bytes
    parts: dict[int, bytes]
    end: str
    reads: bool


def connections(subject: Subject, kind: str, numbers: Sequence[int]) -> list[Connection]:
    make: Callable[[random.Random, int], bytes] = (
        http2.element if kind == "http2" else http2.message_in_call)
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
        opening = http2.opening(rng) if kind == "http2" else http2.SOUND_OPENING
        found.append(Connection(opening, parts, rng.choice(("close", "close", "reset", "open")),
                                rng.random() < 0.5))
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

    def __init__(self, strangers: list[Connection]) -> None:
        self.waiting = collections.deque(strangers)
        self.lock = threading.Lock()  # guards all
        self.sent: set[int] = set()
        self.taken: set[int] = set()
        self.left_open: list[socket.socket] = []
        self.came = 0

    def come(self, race: Race) -> None:
        """As long as there are any and the race goes on."""
        ports = [port for pid in race.pids() for port in ports_of(pid)]
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
                    self.waiting.appendleft(connection._replace(opening=http2.SOUND_OPENING,
                                                                parts=rest))

    def go(self) -> None:
        for peer in self.left_open:
            peer.close()


class Outcome(NamedTuple):
    done: Done
    wrong: list[str]


def disturbed(subject: Subject, words: Sequence[str], crowd: Crowd, here: Path) -> Outcome:
    begin = time.monotonic()
    with memory_file("stdout") as stdout, memory_file("stderr") as stderr:
        race = Race(subject, words, here, stdout, stderr)
        calm: dict[int, int] = {}
        if race.await_training():
            calm = {pid: peak_bytes(pid) for pid in race.pids()}
            race.watch(calm)
            crowd.come(race)
        in_time = finish(race.child, subject.limit_s + SLOWER * RACE_S)
        race.over = True
        wrong = [] if ends_all(race.child.pid) else ["it leaves processes"]
        wrong += [f"a process took {(race.peaks[pid] - calm[pid]) >> 20} MB more"
                  for pid in calm if race.peaks[pid] > calm[pid] + MORE_MEMORY_BYTES]
        crowd.go()
        done = Done(race.child.returncode, not in_time, time.monotonic() - begin,
                    os.pread(stdout, 1 << 20, 0), os.pread(stderr, 1 << 20, 0))
    return Outcome(done, wrong)


def ends_all(session: int) -> bool:
    """Soon."""
    deadline = time.monotonic() + 5
    while in_session(session):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def record_in(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / RECORDS).read_bytes().splitlines()[-1])
    return record


def losses_of(record: dict[str, Any]) -> list[float]:
    return [evaluation["loss"] for evaluation in record["evaluations"]]


def alone(subject: Subject, words: Sequence[str], folder: Path) -> dict[str, Any]:
    """The record of a run that nobody disturbs. Throws: Unusable."""
    folder.mkdir(parents=True, exist_ok=True)
    done = run([subject.program, *words, "--out", "."], folder, START_S + 2 * subject.limit_s)
    if done.code != 0:
        raise Unusable(f"regatta {' '.join(words)}: exit code {done.code}: {done.stderr[-300:]!r}")
    return record_in(folder)


def race_of(subject: Subject, number: int, here: Path) -> tuple[list[str], list[float]]:
    """One of some seconds, and the losses that it has to have, which processes do not change."""
    strategy = STRATEGIES[number % len(STRATEGIES)]
    kept = here / f"alone_{number % len(STRATEGIES)}.json"
    if not kept.exists():
        probe = alone(subject, (*RACE, *strategy, *PROCESSES, "--steps", str(PROBE_STEPS)), here)
        steps = max(PROBE_STEPS, round(RACE_S * 1e9 * PROBE_STEPS / probe["training_ns"]))
        words = (*RACE, *strategy, "--steps", str(steps))
        losses = losses_of(alone(subject, (*words, "--processes", "1"), here))
        kept.write_text(json.dumps([words, losses]))
    words, losses = json.loads(kept.read_text())
    return words, losses


def judged(subject: Subject, kind: str, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    """All of them in one race, or in more if it ends before they have come."""
    words, losses = race_of(subject, numbers[0] // BATCH, folder.parent)
    strangers = connections(subject, kind, numbers)
    verdicts: list[Verdict] = []
    attempts = 0
    while strangers:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        crowd = Crowd(strangers)
        outcome = disturbed(subject, [*words, *PROCESSES, "--out", "."], crowd, folder)
        wrong = outcome.wrong + broken(outcome.done)
        if outcome.done.code != 0 and not wrong:
            wrong.append(f"exit code {outcome.done.code}: {outcome.done.stderr[-200:]!r}")
        if outcome.done.code == 0 and losses_of(record_in(folder)) != losses:
            wrong.append("the losses are others than without strangers")
        attempts += 0 if crowd.sent else 1
        if attempts == ATTEMPTS:
            wrong.append("no stranger could come")
            crowd.sent |= {number for stranger in strangers for number in stranger.parts}
        tried = sorted(crowd.sent)
        said = f"regatta {quoted([*words, *PROCESSES])}  # {crowd.came} strangers" + (
            f" with {kind}:{tried[0]}-{tried[-1]}" if tried else "")
        verdicts += [Verdict(number, number in crowd.taken, said, tuple(wrong if i == 0 else ()))
                     for i, number in enumerate(tried)]
        strangers = list(crowd.waiting) if attempts < ATTEMPTS else []
    return verdicts


def judge_http2(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    return judged(subject, "http2", numbers, folder / "http2")


def judge_frames(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    return judged(subject, "frames", numbers, folder / "frames")
