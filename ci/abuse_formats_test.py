# SPDX-License-Identifier: Apache-2.0
"""ci/abuse finds what is taken otherwise than it is meant: clusters with their calibrations,
certificates, checkpoints; and the bytes that it sends are those of HTTP/2.

usage: ci/abuse_formats_test.py
"""

import json
import shutil
import tempfile
import unittest
from pathlib import Path
from typing import Any

from abuse_inputs import checkpoints, cluster_file, clusters, http2, keys, toml, values
from abuse_inputs.processes import Done

SCRATCH = tempfile.TemporaryDirectory(prefix="regatta-abuse-formats-test-")
WAY = {"message_ns": 900, "bytes_per_ns": None}
COSTS = {"on_host": WAY, "between_hosts": WAY, "adding_bytes_per_ns": 9,
         "sending_bytes_per_ns": None}
CALIBRATION = {"calibration": 1, "source": "by hand", "cpu": "x", "git_commit": "", "command": "",
               "timestamp": "", "transports": dict.fromkeys(cluster_file.TRANSPORTS, COSTS),
               "step_ns": [1e6], "kernels": {"dense": 5}}

SUM = {"algorithm": "ring", "members": 4, "processes": 4, "between_hosts": False,
       "way": {"message_ns": 9000, "bytes_per_ns": 1.2}}


class Clusters(unittest.TestCase):
    TEXT = """calibration = "calibration.json"
latency_us = 25
[[host]]
count = 2
gbit_per_s = 8
"""

    def setUp(self) -> None:
        self.here = Path(SCRATCH.name) / "clusters"
        self.here.mkdir(exist_ok=True)

    def facts(self, text: str, **changes: Any) -> cluster_file.Facts:
        (self.here / "calibration.json").write_text(json.dumps(CALIBRATION | changes))
        return cluster_file.read(text.encode(), self.here, CALIBRATION, processes=2)

    def test_are_read_as_a_record_has_to_tell_them(self) -> None:
        facts = self.facts(self.TEXT)
        self.assertEqual((facts.hosts, facts.source), (2, "by hand"))
        self.assertEqual(facts.hardware, {
            "link_bytes_per_s": 1e9, "core_bytes_per_s": None, "latency_ns": 25e3,
            "server_cores": 1, "compute_times": "samples", "spread": 0, "cpu": "x",
            "queue_bytes": 0, "machine_cores": 0})
        said = {"mode": "time", "hosts": 2, "source": "by hand", "hardware": facts.hardware,
                "cluster": f"{checkpoints.fnv1a(b'c'):016x}",
                "calibration": f"{checkpoints.fnv1a(b'd'):016x}"}
        record = {"simulated": said, "training_ns": 5}
        self.assertEqual(clusters.wrong_record(record, facts, b"c", b"d"), [])
        self.assertIn("hosts is 3", clusters.wrong_record(
            record | {"simulated": said | {"hosts": 3}}, facts, b"c", b"d")[0])
        self.assertEqual(self.facts(self.TEXT, sums=[SUM]), facts)
        self.assertIn("calibration is", clusters.wrong_record(record, facts, b"c", b"e")[0])

    def test_that_are_wrong_have_to_be_refused(self) -> None:
        for old, new in (("25", "1e9"), ("25", "true"), ("count = 2", "count = 0"), ("8", "0"),
                         ("count = 2", "count = 1"), ("latency_us", "latency"), ("8", "nan"),
                         ("host", "hosts"), ("calibration.json", "nonesuch"), ("25", "'25'"),
                         ("gbit_per_s = 8", "gbit_per_s = 8\nin_gbit_per_s = 8"),
                         ("[[host]]", "[compute_times]\nspread = 1e-9\n[[host]]"),
                         ("[[host]]", "[compute_times]\nkind = 'samples'\n[[host]]")):
            with self.subTest(new=new), self.assertRaises(toml.Refused):
                self.facts(self.TEXT.replace(old, new, 1))
        for changes in ({"calibration": True}, {"step_ns": [0.5]}, {"kernels": {"dense": 1e14}},
                        {"kernels": []}, {"cpu": 1}, {"transports": {}}, {"transports": 5},
                        {"sums": [SUM | {"members": 0}]}, {"sums": [SUM | {"way": {}}]},
                        {"sums": 1},
                        {"source": cluster_file.CALIBRATED, "cpu": "y"}):
            with self.subTest(changes=changes), self.assertRaises(toml.Refused):
                self.facts(self.TEXT, **changes)
        with self.assertRaises(toml.Unsure):
            self.facts(self.TEXT, kernels={"another": 5})


@unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
class Keys(unittest.TestCase):
    def test_shake_hands_only_where_they_belong_together(self) -> None:
        own, stranger = Path(SCRATCH.name) / "own", Path(SCRATCH.name) / "stranger"
        keys.make(own)
        keys.make(stranger)
        self.assertTrue(keys.shakes_hands(own, "127.0.0.1"))
        self.assertTrue(keys.shakes_hands(own, "localhost"))
        self.assertFalse(keys.shakes_hands(own, "127.0.0.2"))
        shutil.copy(stranger / "ca.pem", own)
        self.assertFalse(keys.shakes_hands(own, "127.0.0.1"))
        given = keys.Given(keys.RUN, "ca.pem is stranger", "")
        (own / "keys").symlink_to(own)
        (own / "new").mkdir()
        (own / "new/records.jsonl").write_text("{}\n")
        self.assertIn("no one can shake hands", keys.wrong_work(given, Done(0, False, 0), own)[0])
        self.assertIn("a refusal with a record", keys.wrong_work(given, Done(1, False, 0), own))
        (own / "new/records.jsonl").write_text("")
        noisy = Done(1, False, 0, b"", b"E1 ssl.cc\nregatta: no\n")
        self.assertIn("a refusal of 2 lines", keys.wrong_work(given, noisy, own)[0])

    def test_of_a_door_are_guessed(self) -> None:
        asked = [http2.request(values.random_of(1, "doors", number), 1) for number in range(50)]
        self.assertTrue(any(b"Proxy-Authorization: Bearer" in one for one in asked))


class Bytes(unittest.TestCase):
    def test_of_http2_are_as_the_standard_has_them(self) -> None:
        self.assertEqual(http2.frame(http2.PING, 0, 0, b"12345678"),
                         b"\0\0\x08\x06\0\0\0\0\0" + b"12345678")
        self.assertEqual(http2.integer(1337, 5), b"\x1f\x9a\x0a")  # RFC 7541, C.1.2
        rng = values.random_of(1, "http2", 3)
        self.assertEqual(http2.element(rng, 1),
                         http2.element(values.random_of(1, "http2", 3), 1))

    def test_of_a_checkpoint_are_sealed_by_the_hash_of_all_before(self) -> None:
        self.assertEqual(checkpoints.fnv1a(b"foobar"), 0x85944171F73967E8)
        self.assertEqual(checkpoints.sealed(checkpoints.sealed(b"x" * 50)),
                         checkpoints.sealed(b"x" * 50))
        refused = checkpoints.wrong_work(b"y" * 40, b"x" * 40, Done(0, False, 0), Path("."))
        self.assertEqual(refused, ["accepted, though its checksum does not match"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
