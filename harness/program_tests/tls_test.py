# SPDX-License-Identifier: Apache-2.0
"""Races whose processes use TLS, and strangers that look for a way in: real ranks, real openssl.

usage: tls_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or openssl is not installed.
"""

import functools
import itertools
import os
import re
import shutil
import socket
import ssl
import subprocess
import unittest
from pathlib import Path

from proc_support import listening_at
from run_support import Run, path_to_wrapped_mpirun
from test_support import (PARABOLA, fresh_folder, losses_of, record_of, records_in, regatta,
                          run_tests, skip, skip_without_mpirun)

skip_without_mpirun()
if shutil.which("openssl") is None:
    skip("openssl is not installed")

SERVERS = ("--strategy", "parameter_server", "--workers", "2")
COLLECTIVE = ("--strategy", "all_reduce", "--workers", "2", "--processes", "2")
REMEDY = r"cert\.pem must name the address .*ci/make_certificates"
RACE = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32", "--steps",
        "30")
SECONDS = (*RACE, "--straggler", "0:5,1:5")
LONG = (*SECONDS, *SERVERS)


@functools.cache
def certificates(*addresses: str) -> Path:
    """A folder with a new authority and a certificate for the addresses."""
    folder = fresh_folder() / "certificates"
    subprocess.run(["ci/make_certificates", folder, *addresses], check=True, capture_output=True)
    return folder


def folder_of(**files: Path) -> Path:
    """A folder with copies of the files, named by kind: ca, cert, key."""
    folder = fresh_folder()
    for name, source in files.items():
        (folder / f"{name}.pem").write_bytes(source.read_bytes())
    return folder


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


class Runs(unittest.TestCase):
    def test_have_the_losses_of_plain_ones(self) -> None:
        for strategy in (SERVERS, COLLECTIVE):
            with self.subTest(strategy=strategy):
                encrypted = record_of(*PARABOLA, *strategy, "--tls", str(certificates()))
                self.assertEqual(losses_of(encrypted), losses_of(record_of(*PARABOLA, *strategy)))


class BadFolders(unittest.TestCase):
    def refusal(self, folder: Path, *arguments: str) -> str:
        out = fresh_folder()
        done = regatta("run", *PARABOLA, *(arguments or SERVERS), "--tls", str(folder), "--out",
                       str(out))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertFalse((out / "records.jsonl").exists())
        return done.stderr

    def test_are_refused_before_a_rank_starts(self) -> None:
        good = certificates()
        other = certificates("127.0.0.1", "other")
        parts = {name: good / f"{name}.pem" for name in ("ca", "cert", "key")}
        endless = folder_of(ca=parts["ca"], cert=parts["cert"])
        (endless / "key.pem").symlink_to("/dev/zero")
        large, noise = folder_of(**parts), folder_of(**parts)
        os.truncate(large / "key.pem", 1 << 40)
        (noise / "key.pem").write_text(
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
        for folder, text in (
                (Path("/nonexistent"),
                 r"cannot read '/nonexistent/\w+\.pem': No such file or directory; a folder for "
                 r"--tls holds ca\.pem, cert\.pem and key\.pem"),
                (folder_of(**{**parts, "key": Path("/dev/null")}), r"key\.pem': it is empty"),
                (endless, r"key\.pem': it is no regular file"),
                (large, r"key\.pem': it has more than 1048576 bytes"),
                (noise, r"no server starts with it"),
                (folder_of(**{**parts, "ca": good / "key.pem"}),
                 r"ca\.pem' holds no CERTIFICATE in PEM form"),
                (folder_of(**{**parts, "ca": other / "ca.pem"}), REMEDY),
                (folder_of(**{**parts, "key": other / "key.pem"}), REMEDY),
                (certificates("10.1.2.3"), r"TLS at 127\.0\.0\.1 with .*" + REMEDY),
        ):
            with self.subTest(text=text, folder=folder):
                error = self.refusal(folder)
                self.assertRegex(error, text)
                self.assertEqual(error.count("\n"), 1, error)  # without gRPC's own log

    def test_are_refused_where_there_is_one_process(self) -> None:
        self.assertRegex(self.refusal(certificates(), "--strategy", "single"),
                         r"--tls are for runs over processes")


class OtherRanks(unittest.TestCase):
    def refusal(self, flags: tuple[str, ...], flags_of_rank_1: tuple[str, ...]) -> str:
        """The output of rank 1 if a wrapper of mpirun gives it other flags."""
        folder = fresh_folder()
        change = f"""import os, sys
words = [word for word in sys.argv[1:] if word not in {flags!r}] + {list(flags_of_rank_1)!r}
os.execv(words[0], words)"""
        done = regatta("run", *PARABOLA, *COLLECTIVE, *flags, "--out", str(folder),
                       PATH=path_to_wrapped_mpirun(before=("/usr/bin/python3", "-c", change)))
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(records_in(folder)[0]["failure"]["text"], r"rank 1 \(replica1\)")
        (log,) = (folder / "ranks").rglob("rank1.log")
        return log.read_text()

    def test_of_another_authority_are_refused_and_told(self) -> None:
        text = self.refusal(("--tls", str(certificates())),
                            ("--tls", str(certificates("127.0.0.1", "other"))))
        self.assertRegex(text, r"no connection to the coordinator at 127\.0\.0\.1:\d+: .*" + REMEDY)

    def test_without_tls_are_refused_and_told(self) -> None:
        text = self.refusal(("--tls", str(certificates())), ())
        self.assertRegex(text, r"no connection to the coordinator at .*; does it run with --tls\?")

    def test_with_tls_are_told_that_it_does_not_work(self) -> None:
        text = self.refusal((), ("--tls", str(certificates())))
        self.assertRegex(text, REMEDY)


class Strangers(unittest.TestCase):
    def test_without_a_certificate_of_the_authority_are_not_spoken_to(self) -> None:
        run = Run(*LONG, "--tls", str(certificates()), ranks=3)
        run.await_training()
        ports = [*listening_at(run.launcher.pid), *listening_at(run.ranks[0])]
        self.assertGreaterEqual(len(ports), 2)
        without, signed_by_another = (
            ssl.create_default_context(cafile=str(certificates() / "ca.pem")) for _ in range(2))
        other = certificates("127.0.0.1", "other")
        signed_by_another.load_cert_chain(other / "cert.pem", other / "key.pem")
        for port, believing in itertools.product(ports, (without, signed_by_another)):
            with self.subTest(port=port), socket.create_connection(("127.0.0.1", port), 10) as raw:
                with self.assertRaises(OSError):
                    with believing.wrap_socket(raw, server_hostname="127.0.0.1") as stream:
                        stream.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                        if not stream.recv(1000):
                            raise ConnectionError("closed")
        self.assertEqual(run.end(limit_s=60)["failure"], None)
        self.assertEqual(run.left(), [])

    def test_do_not_keep_a_run_from_finishing(self) -> None:
        run = Run(*LONG, "--tls", str(certificates()), ranks=3)
        run.await_training()
        processes = (run.launcher.pid, run.ranks[0])
        before = {pid: resident_bytes(pid) for pid in processes}
        greetings = (b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)),
                     b"GET / HTTP/1.1\r\n\r\n", os.urandom(500))
        crowd: list[socket.socket] = []
        for pid in processes:
            (port,) = listening_at(pid)
            for i in range(200):
                crowd.append(socket.create_connection(("127.0.0.1", port), 10))
                try:
                    crowd[-1].sendall(greetings[i % len(greetings)])
                except OSError:  # already disconnected
                    pass
        for pid in processes:
            self.assertLess(resident_bytes(pid) - before[pid], 64 << 20)
        record = run.end(limit_s=60)
        self.assertEqual(record["failure"], None)
        self.assertEqual(losses_of(record), losses_of(record_of(*RACE, *SERVERS)))
        for connection in crowd:
            connection.close()
        self.assertEqual(run.left(), [])

    def test_find_neither_port_nor_socket_of_a_run_on_one_host(self) -> None:
        for strategy, ranks in ((SERVERS, 3), (COLLECTIVE, 2)):
            with self.subTest(strategy=strategy):
                run = Run(*SECONDS, *strategy, ranks=ranks)
                run.await_training()
                for pid in (run.launcher.pid, run.keeper, *run.ranks.values()):
                    self.assertEqual(listening_at(pid), {})
                self.assertEqual([path for path in run.scratch.rglob("*")
                                  if path.name in ("coordinator", "rank0")], [])
                run.send(0)  # notes its sockets
                self.assertEqual(run.end(limit_s=240)["failure"], None)  # 60 s beside two tests
                self.assertEqual(run.left(), [])


if __name__ == "__main__":
    run_tests()
