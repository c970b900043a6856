# SPDX-License-Identifier: Apache-2.0
"""Folders of `--tls`: an authority, a certificate and a key, one of which is spoilt, and addresses
of `--listen`. An input is one folder and one address, by which a race of one worker and its server
is to talk. Where Python's own TLS cannot shake hands with the folder's files, the race has to be
refused before a process of it starts; where nothing is spoilt, it has to run.
"""

import base64
import contextlib
import os
import random
import shutil
import ssl
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from . import values
from .folder import RECORDS, lost, state_of
from .oracle import Verdict, broken, quoted
from .processes import Done, run
from .subject import Subject, Unusable

KIND = "keys"
MAKER = Path(__file__).resolve().parent.parent / "make_certificates"
NAMES = ("ca.pem", "cert.pem", "key.pem")
RUN = ("run", "--workload", "parabola", "--strategy", "parameter_server", "--workers", "1",
       "--steps", "2", "--out", "new", "--tls", "keys")
USUAL = ("", "127.0.0.1", "localhost")
NO_ADDRESSES = ("256.1.1.1", "198.51.100.7", "203.0.113.9:80", "x" * 300, "a b", "\n", "[::1",
                "127.0.0.1:80", "-", "--", "2001:db8::7", "nonesuch.invalid", "\x1b[31m", ":",
                "::g")
SOUND = 0.05
MOST_LINES = 1  # of a refusal
HUGE = 1 << 40
FLIGHTS = 4  # of messages, more than a handshake has


class Given(NamedTuple):
    """`spoilt`: what is wrong with the folder; empty: nothing."""

    words: tuple[str, ...]
    spoilt: str
    address: str


def make(folder: Path, *addresses: str) -> None:
    done = subprocess.run([MAKER, folder, *addresses], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unusable(f"{MAKER.name}: {done.stderr.strip()}")


def der_of(content: bytes) -> bytes:
    lines = [line for line in content.splitlines() if not line.startswith(b"-")]
    return base64.b64decode(b"".join(lines))


def pem(label: str, content: bytes) -> bytes:
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN {label}-----\n{text}-----END {label}-----\n".encode()


CHANGES: tuple[tuple[str, Callable[[random.Random, bytes], bytes]], ...] = (
    ("damaged", values.damaged), ("damaged", values.damaged), ("damaged", values.damaged),
    ("cut", lambda rng, content: content[:rng.randrange(len(content))]),
    ("twice", lambda _, content: content + content),
    ("crlf", lambda _, content: content.replace(b"\n", b"\r\n")),
    ("der", lambda _, content: der_of(content)),
    ("without lines", lambda _, content: content.replace(b"\n", b"")),
    ("of damaged bytes", lambda rng, content: pem(
        content.split(b"BEGIN ")[1].split(b"-")[0].decode(), values.damaged(rng, der_of(content)))),
    ("encrypted", lambda _, content: content.replace(b"BEGIN ", b"BEGIN ENCRYPTED ")
     .replace(b"END ", b"END ENCRYPTED ")),
    ("of noise", lambda rng, content: pem(
        content.split(b"BEGIN ")[1].split(b"-")[0].decode(), rng.randbytes(200))),
    ("its label", lambda _, content: content.splitlines()[0] + b"\n"),
    ("many", lambda _, content: content * 500))
KINDS = ("gone", "empty", "folder", "fifo", "loop", "zero", "null", "huge", "other", "stranger",
         "elsewhere")


def replaced(rng: random.Random, file: Path, kind: str, certificates: Path) -> None:
    file.unlink()
    if kind == "empty":
        file.touch()
    elif kind == "folder":
        file.mkdir()
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "huge":
        file.touch()
        os.truncate(file, HUGE)
    elif kind == "other":
        other = rng.choice([name for name in NAMES if name != file.name])
        shutil.copy(certificates / "own" / other, file)
    elif kind in ("stranger", "elsewhere"):
        shutil.copy(certificates / kind / file.name, file)
    elif kind != "gone":
        file.symlink_to({"loop": file.name, "zero": "/dev/zero", "null": "/dev/null"}[kind])


def made(rng: random.Random, here: Path, certificates: Path) -> Given:
    folder = here / "keys"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in NAMES:
        shutil.copy(certificates / "own" / name, folder / name)
    draw = rng.random()
    address = rng.choice(USUAL)
    spoilt = ""
    if draw < 0.1 + SOUND:
        address = rng.choice(NO_ADDRESSES) if draw >= SOUND else address
    else:
        file = folder / rng.choice(NAMES)
        if rng.random() < 0.4:
            kind = rng.choice(KINDS)
            replaced(rng, file, kind, certificates)
            spoilt = f"{file.name} is {kind}"
        else:
            how, change = rng.choice(CHANGES)
            file.write_bytes(change(rng, file.read_bytes()))
            spoilt = f"{file.name} is {how}"
    return Given((*RUN, f"--listen={address}") if address else RUN, spoilt, address)


def shakes_hands(folder: Path, address: str) -> bool:
    """A client and a server, both with the folder's files, in memory."""
    sides = []
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        for is_server in (False, True):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server
                                     else ssl.PROTOCOL_TLS_CLIENT)
            context.verify_mode = ssl.CERT_REQUIRED
            # As gRPC does: a certificate may be its own authority.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            context.load_verify_locations(folder / "ca.pem")
            context.load_cert_chain(folder / "cert.pem", folder / "key.pem", password="")
            name = None if is_server else address
            pipes = (incoming, outgoing) if is_server else (outgoing, incoming)
            sides.append(context.wrap_bio(*pipes, server_side=is_server, server_hostname=name))
        for _ in range(FLIGHTS):
            for side in sides:
                with contextlib.suppress(ssl.SSLWantReadError):
                    side.do_handshake()
        return all(side.version() is not None for side in sides)
    except (OSError, ValueError):  # of which an SSLError is one
        return False


def is_readable(folder: Path) -> bool:
    """All of them, without waiting and without end."""
    files = [folder / name for name in NAMES]
    return all(file.is_file() and file.stat().st_size < HUGE for file in files)


def wrong_work(given: Given, done: Done, here: Path) -> list[str]:
    said = done.stderr.decode(errors="replace")
    records = (here / "new" / RECORDS).read_bytes()
    if done.code == 0:
        if given.address in NO_ADDRESSES:
            return ["accepted, though no address of this machine is given"]
        if not is_readable(here / "keys") or not shakes_hands(here / "keys",
                                                              given.address or "127.0.0.1"):
            return [f"accepted, though no one can shake hands: {given.spoilt}"]
        return [] if records else ["exit code 0 without a record"]
    if not given.spoilt and given.address not in NO_ADDRESSES:
        return [f"refused: {said[-200:]!r}"]
    found = [f"a refusal of {len(said.splitlines())} lines: {said[:200]!r}"
             for _ in (0,) if len(said.splitlines()) > MOST_LINES]
    return found + (["a refusal with a record"] if records else [])


def judged(subject: Subject, number: int, here: Path) -> Verdict:
    rng = values.random_of(subject.seed, KIND, number)
    given = made(rng, here, here.parent / "certificates")
    (here / "new" / RECORDS).write_bytes(b"")
    before = state_of(here, most_bytes=HUGE - 1)
    done = run([subject.program, *given.words], here, subject.limit_s)
    wrong = broken(done) + wrong_work(given, done, here)
    wrong += lost(before, state_of(here, most_bytes=HUGE - 1), overwrite=False)
    said = f"regatta {quoted(given.words)}  # {given.spoilt or 'sound'}"
    return Verdict(number, done.accepted, said, tuple(wrong))


def judge(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    here, certificates = folder / KIND, folder / "certificates"
    if not certificates.exists():
        (here / "new").mkdir(parents=True)
        make(certificates / "own")
        make(certificates / "stranger")
        make(certificates / "elsewhere", "198.51.100.7")
    return [judged(subject, number, here) for number in numbers]
