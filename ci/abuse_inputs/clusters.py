# SPDX-License-Identifier: Apache-2.0
"""Clusters of virtual time: a file of `regatta run --cluster` and its calibration, one of which has
a key, a value or bytes changed. An input is one pair of files, on which a short run is simulated;
its record has to say what Python reads in them.
"""

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import cluster_file, values
from .checkpoints import fnv1a
from .folder import SIMULATED, lost, state_of
from .matrices import INSERTS, ODD, with_key_misspelt, with_value_odd
from .oracle import Verdict, broken
from .processes import Done, run
from .records import with_field_changed
from .subject import CALIBRATED, CALIBRATED_PROCESSES, Subject

KIND = "clusters"
COMMAND = ("run", *CALIBRATED, "--cluster", "cluster.toml", "--out", "new")
SOUND = 0.05
LASTS = b"thirty years"  # sound, and too long for a record
EXACT = 1e-9
LINES = ("latency_us = 25", "core_gbit_per_s = 40", "queue_kb = 80", "seed = 7", "server_cores = 2",
         "machine_cores = 2", "threads_per_worker = 1")
TIMES = ('kind = "gamma"\nspread = 0.2', 'kind = "log_normal"\nspread = 2', "spread = 0",
         'kind = "shifted_exponential"\nspread = 1', 'kind = "samples"\nsamples = [1, 2.5]',
         'kind = "constant"')
HOST = ("cores = 2", "out_gbit_per_s = 1", "in_gbit_per_s = 2.5", "processes = 1")
NUMBERS = ("2", "0", "-1", "1e308", "1e-320", "1e306", "4097", "4096", "9223372036854775807", "1.5",
           "1e8", "100000001", "1e-6", "9e-7", "1e6", "nan", "inf", "true", '"1"', "[]", "-0.0")


def cluster(rng: random.Random) -> str:
    lines = [line for line in LINES if rng.random() < 0.3]
    if rng.random() < 0.5:
        lines += ["[compute_times]", rng.choice(TIMES)]
    lines += ["[[host]]", f"count = {rng.choice((2, 3, 8))}",
              *(line for line in HOST if rng.random() < 0.3)]
    if rng.random() < 0.3:
        lines += ["[[host]]", rng.choice(("", "gbit_per_s = 10", "count = 4000"))]
    return 'calibration = "calibration.json"\n' + "\n".join(lines) + "\n"


def with_number_odd(rng: random.Random, text: str) -> str:
    lines = text.splitlines()
    at = rng.choice([i for i, line in enumerate(lines) if " = " in line])
    lines[at] = f"{lines[at].partition(' = ')[0]} = {rng.choice((*NUMBERS, *ODD))}"
    return "\n".join(lines) + "\n"


def with_other_calibration(rng: random.Random, text: str) -> str:
    name = rng.choice(("nonesuch", ".", "./calibration.json", "cluster.toml", "/dev/zero", "fifo",
                       "/dev/null", "", "calibration.json\\u0000x", "x" * 5000, "loop"))
    return text.replace("calibration.json", name)


def changed_cluster(rng: random.Random, text: str) -> bytes:
    if rng.random() < 0.3:
        return values.damaged(rng, text.encode(), INSERTS)
    for _ in range(rng.choice((1, 1, 2))):
        change = rng.choice((with_key_misspelt, with_value_odd, with_number_odd, with_number_odd,
                             with_other_calibration))
        text = change(rng, text)
    return text.encode(errors="surrogateescape")


def changed_calibration(rng: random.Random, whole: bytes) -> bytes:
    draw = rng.random()
    if draw < 0.25:
        return values.damaged(rng, whole)
    made = json.loads(whole)
    if draw < 0.5:  # written by hand
        made["source"] = "a data sheet"
    if draw < 0.45:
        name = rng.choice(("step_ns", "kernels"))
        number = rng.choice((0, 0.5, 1, 1e13, 1.1e13, 1e308, -1))
        made[name] = [number] * 3 if name == "step_ns" else dict.fromkeys(made[name], number)
        return json.dumps(made).encode()
    return with_field_changed(rng, made).encode(errors="surrogatepass")


def files(subject: Subject, number: int) -> tuple[bytes, bytes]:
    """The cluster's and the calibration's."""
    rng = values.random_of(subject.seed, KIND, number)
    text = cluster(rng)
    draw = rng.random()
    if draw < SOUND:
        return text.encode(), subject.calibration
    if draw < 0.6:
        return changed_cluster(rng, text), subject.calibration
    return text.encode(), changed_calibration(rng, subject.calibration)


def is_same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return math.isclose(found, wanted, rel_tol=EXACT)
    return bool(found == wanted)


def wrong_record(record: dict[str, Any], facts: cluster_file.Facts, content: bytes,
                 calibration: bytes) -> list[str]:
    said = record["simulated"]
    wanted = {"mode": "time", "hosts": facts.hosts, "source": facts.source,
              "cluster": f"{fnv1a(content):016x}", "calibration": f"{fnv1a(calibration):016x}"}
    found = [f"{name} is {said.get(name)!r}, the files have {value!r}"
             for name, value in wanted.items() if not is_same(said.get(name), value)]
    found += [f"{name} is {said['hardware'].get(name)!r}, the files have {value!r}"
              for name, value in facts.hardware.items()
              if not is_same(said["hardware"].get(name), value)]
    if not record["training_ns"] > 0:
        found.append(f"it took {record['training_ns']} ns")
    return found


def wrong_work(content: bytes, calibration: bytes, done: Done, here: Path,
               known: dict[str, Any]) -> list[str]:
    try:
        facts = cluster_file.read(content, here, known, CALIBRATED_PROCESSES)
    except cluster_file.Unsure:
        return []
    except cluster_file.Refused as why:
        return [f"accepted, though it has to be refused: {why}"] if done.code == 0 else []
    if done.code != 0:
        return [] if LASTS in done.stderr or done.overdue else [f"refused: {done.stderr[-200:]!r}"]
    lines = (here / "new" / SIMULATED).read_bytes().splitlines()
    return wrong_record(json.loads(lines[-1]), facts, content, calibration)


def judged(subject: Subject, number: int, here: Path) -> Verdict:
    content, calibration = files(subject, number)
    (here / "cluster.toml").write_bytes(content)
    (here / "calibration.json").write_bytes(calibration)
    (here / "new" / SIMULATED).write_bytes(b"")
    before = state_of(here)
    done = run([subject.program, *COMMAND], here, subject.limit_s)
    known = json.loads(subject.calibration)
    wrong = broken(done) + wrong_work(content, calibration, done, here, known)
    wrong += lost(before, state_of(here), overwrite=False)
    changed = "" if calibration == subject.calibration else ", another calibration"
    text = content[:200].decode(errors="backslashreplace").replace("\n", "; ")
    said = f"regatta {' '.join(COMMAND)}  # {len(content)} bytes{changed}: {text}"
    return Verdict(number, done.accepted, said, tuple(wrong))


def judge(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    here = folder / KIND
    if not here.exists():
        (here / "new").mkdir(parents=True)
        (here / "loop").symlink_to("loop")
        (here / "fifo").symlink_to("/dev/stdin")  # no one writes there
    return [judged(subject, number, here) for number in numbers]
