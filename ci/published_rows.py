# SPDX-License-Identifier: Apache-2.0
"""The published tables of harness/simulate/published: rows, and the `regatta run` of each.

A file's keys:
  title, source, assumed, missing
  fitted           numbers of rows (from 0) from which a constant of a profile follows: no test
  [cluster]        the table [devices] of a cluster's file (harness/simulate/device_file.h)
  [run]            values of columns that all rows share
  [table]          columns, rows
  [fits]           columns, rows: runs without a published time
Columns:
  width, heads, layers, context, vocabulary, block   the model, a GPT
  shards, stages, devices                            degrees; replicas are the rest
  batch, micro                                       sequences of a step, and of a microbatch
  accumulation                                       in place of batch: microbatches of a step
  chunks, schedule, recompute, sharded, sequence_parallel, bucket_bytes, overlaps   flags
  overlaps                                           false: nothing runs beside kernels
  reshard                                            --reshard-after-forward
  scattered                                          --scatter-messages of rows with stages
  zero1                                              whether the optimizer's state is sharded
  gradient_bits, kept, logit_bytes, untied           the program's memory (planned_gib())
  fits                                               false: the run ended out of memory
  seconds, tflops, tokens_per_s_per_device           the published figure, one of them
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import tempfile
import tomllib
from typing import Any

ONE_BUCKET = 10**12  # bytes: gradients are exchanged together, after the last backward pass
PROFILES = pathlib.Path(__file__).parent.parent / "harness/simulate/profiles"
STEPS = 2


class WrongTable(Exception):
    """A table that contradicts itself."""


@dataclasses.dataclass
class Row:
    """A row of a table: its number, and its values with those that all rows share."""

    number: int
    values: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def get(self, key: str, default: Any) -> Any:
        return self.values.get(key, default)

    @property
    def replicas(self) -> int:
        parts = self.get("shards", 1) * self.get("stages", 1)
        if self["devices"] % parts:
            raise WrongTable(f"row {self.number}: {parts} shards and stages do not divide "
                             f"{self['devices']} devices")
        return self["devices"] // parts

    @property
    def microbatches(self) -> int:
        if "accumulation" in self.values:
            return self["accumulation"]
        each = self.replicas * self["micro"]
        if self["batch"] % each:
            raise WrongTable(f"row {self.number}: {self.replicas} replicas of microbatches of "
                             f"{self['micro']} do not divide a batch of {self['batch']}")
        return self["batch"] // each

    @property
    def batch(self) -> int:
        return self.replicas * self["micro"] * self.microbatches

    @property
    def simulated(self) -> list[int]:
        """The numbers of microbatches of which a step is simulated. Once a pipeline is full, each
        further microbatch takes the same time, so that two short steps give that of a long one."""
        stages = self.get("stages", 1)
        more = stages if self.get("chunks", 1) > 1 else max(-(-stages // 2), 3)
        few = [stages + more, stages + 2 * more]
        return few if self.microbatches > sum(few) else [self.microbatches]

    @property
    def stage_parts(self) -> list[int]:
        """The parts of the model at each stage or chunk: as many layers, or one more at the first;
        the embedding and the logits each count as a layer if the split is even only then."""
        chunks = self["stages"] * self.get("chunks", 1)
        ends = int(self["layers"] % chunks > 0 and (self["layers"] + 2) % chunks == 0)
        dealt = self["layers"] + 2 * ends
        layers = [dealt // chunks + (chunk < dealt % chunks) for chunk in range(chunks)]
        layers[0] -= ends
        layers[-1] -= ends
        # The parts of a GPT with which a stage may begin (strategies/stages.h).
        shards = self.get("shards", 1) > 1
        by_tokens = shards and self.get("sequence_parallel", False)
        parts = [(4 if by_tokens else 6) * each for each in layers]
        parts[0] += 1 if self.get("block", "") == "llama" else 2
        parts[-1] += 4 + shards - by_tokens
        return parts

    @property
    def published_s(self) -> float:
        """The step time that the published figure means."""
        if "seconds" in self.values:
            return self["seconds"]
        if "tflops" in self.values:
            return self.hardware_flops / (1e12 * self["tflops"] * self["devices"])
        tokens = self.batch * self["context"]
        return tokens / (self["tokens_per_s_per_device"] * self["devices"])

    @property
    def hardware_flops(self) -> float:
        """FLOPs of a step with all activations computed again (arXiv:2104.04473, section 3.6)."""
        return 96 * self.tokens_by_layers * (1 + self.of_scores + self.of_logits)

    @property
    def model_flops(self) -> float:
        """FLOPs of a step's forward and backward passes."""
        return 72 * self.tokens_by_layers * (1 + self.of_scores + self.of_logits * 16 / 12)

    @property
    def tokens_by_layers(self) -> float:
        return self.batch * self["context"] * self["layers"] * self["width"] ** 2

    @property
    def of_scores(self) -> float:
        return self["context"] / (6 * self["width"])

    @property
    def of_logits(self) -> float:
        return self["vocabulary"] / (16 * self["layers"] * self["width"])

    @property
    def name(self) -> str:
        layout = "-".join(str(n) for n in (self.get("shards", 1), self.replicas,
                                           self.get("stages", 1)))
        name = f"{self.get('model', self['width'])} {layout} m{self['micro']}"
        return name + (" sp" if self.get("sequence_parallel", False) else "")

    def flags(self, microbatches: int) -> list[str]:
        """The flags of `regatta run` with a step of so many microbatches, without the cluster."""
        shards, stages, replicas = self.get("shards", 1), self.get("stages", 1), self.replicas
        names = []
        if replicas > 1:
            names.append("sharded" if "sharded" in self.values else "all_reduce")
        names += ["pipeline"] * (stages > 1) + ["tensor_parallel"] * (shards > 1)
        flags = {"workload": "gpt_small", "dtype": "bf16", "strategy": "+".join(names) or "single",
                 "workers": self["devices"], "processes": self["devices"],
                 "global_batch": self.replicas * self["micro"] * microbatches, "steps": STEPS}
        for key in ("width", "heads", "layers", "context", "vocabulary", "block", "recompute"):
            if key in self.values:
                flags[key] = self[key]
        if microbatches > 1 or stages > 1:
            flags["microbatches"] = microbatches
        if stages > 1:
            chunks = self.get("chunks", 1)
            flags["schedule"] = "interleaved" if chunks > 1 else self["schedule"]
            if chunks > 1:
                flags["chunks"] = chunks
            flags["stage_parts"] = ",".join(str(each) for each in self.stage_parts)
            if len(names) > 1:
                flags["stages"] = stages
            if shards > 1 and self.get("scattered", False):
                flags["scatter_messages"] = "yes"
        if shards > 1 and len(names) > 1:
            flags["shards"] = shards
        if replicas > 1 and "sharded" in self.values:
            flags["shard"] = self["sharded"]
            flags["reshard_after_forward"] = self.get("reshard", "yes")
        if replicas > 1 and (not self.get("overlaps", True) or "bucket_bytes" in self.values):
            flags["bucket_bytes"] = self.get("bucket_bytes", ONE_BUCKET)
        words = [word for key, value in flags.items()
                 for word in ("--" + key.replace("_", "-"), str(value))]
        return words + ["--sequence-parallel", "yes"] * (
            shards > 1 and self.get("sequence_parallel", False))


@dataclasses.dataclass
class Table:
    """A file of published rows."""

    name: str
    head: dict[str, Any]
    rows: list[Row]
    untimed: list[Row]

    @property
    def fitted(self) -> set[int]:
        return set(self.head.get("fitted", []))


def read_table(path: pathlib.Path) -> Table:
    """Reads a table. Raises WrongTable."""
    head = tomllib.loads(path.read_text())
    rows: dict[str, list[Row]] = {"table": [], "fits": []}
    for part, found in rows.items():
        columns = head.get(part, {}).get("columns", [])
        for number, values in enumerate(head.get(part, {}).get("rows", [])):
            if len(values) != len(columns):
                raise WrongTable(f"{path.name}, row {number}: {len(values)} values, and the table "
                                 f"has {len(columns)} columns")
            found.append(Row(number, head.get("run", {}) | dict(zip(columns, values))))
    return Table(path.stem, head, rows["table"], rows["fits"])


@dataclasses.dataclass
class Prediction:
    """The result of a row in virtual time."""

    seconds: float | None = None
    memory_gib: float = 0
    fits: bool = True
    why_not: str = ""  # the reason, if the row cannot be predicted


def toml_text(value: Any) -> str:
    return json.dumps(value)


def cluster_text(cluster: dict[str, Any], devices: int, device: str) -> str:
    """A cluster's file for so many devices."""
    per_host = min(cluster["per_host"], devices)
    values = cluster | {"per_host": per_host, "device": device}
    lines = ["[devices]"] + [f"{key} = {toml_text(value)}" for key, value in values.items()]
    return "\n".join(lines + ["[[host]]", f"count = {-(-devices // per_host)}", ""])


def predict(regatta: pathlib.Path, table: Table, row: Row, seconds: float) -> Prediction:
    """Predicts a row from the steps that are simulated; of one without a time, the memory alone."""
    counts = row.simulated[:1] if "fits" in row.values else row.simulated
    made = []
    for count in counts:
        made.append(simulate(regatta, table.head["cluster"], row, count, seconds))
        if made[-1].seconds is None:
            return made[-1]
    if len(made) == 2:
        each = (made[1].seconds - made[0].seconds) / (counts[1] - counts[0])
        made[1].seconds += each * (row.microbatches - counts[1])
    return made[-1]


def simulate(regatta: pathlib.Path, cluster: dict[str, Any], row: Row, microbatches: int,
             seconds: float) -> Prediction:
    """Runs a step in virtual time, on devices whose memory is not limited: a row that was timed
    although it is predicted not to fit has a time, too."""
    profile = (PROFILES / f"{cluster['device']}.toml").read_text()
    limits = tomllib.loads(profile)
    if not row.get("overlaps", True):
        cluster = cluster | {"communication": "blocking"}
    with tempfile.TemporaryDirectory() as folder_name:
        folder = pathlib.Path(folder_name)
        unlimited = [line for line in profile.splitlines() if not line.startswith("memory_gib")]
        (folder / "device.toml").write_text("\n".join([*unlimited, "memory_gib = 1e5", ""]))
        (folder / "cluster.toml").write_text(cluster_text(cluster, row["devices"], "device.toml"))
        command = [str(regatta), "run", *row.flags(microbatches), "--cluster",
                   str(folder / "cluster.toml"), "--virtual", "time", "--out", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                                  check=False)
        except subprocess.TimeoutExpired:
            return Prediction(why_not=f"takes longer than {seconds:.0f} s")
        if done.returncode != 0:
            words = done.stderr.strip().splitlines() or ["no words"]
            return Prediction(why_not=words[-1].removeprefix("regatta: "))
        record = json.loads((folder / "simulated.jsonl").read_text().splitlines()[-1])
    memory = max(planned_gib(worker, row) for worker in record["workers"])
    return Prediction(seconds=record["step_time_ns"]["p50"] * 1e-9, memory_gib=memory,
                      fits=memory + limits["reserved_gib"] <= limits["memory_gib"])


def planned_gib(worker: dict[str, Any], row: Row) -> float:
    """The planned memory of a worker, as the program of the table has it: gradients in fewer bits,
    `kept` times the activations, all logits at each shard of the last stage, an embedding for the
    logits alone. ZeRO-1, which exchanges as many bytes as an all_reduce, leaves it a replica's
    share of master weights and of the optimizer's slots."""
    planned, weights = worker["planned_bytes"], worker["parameter_bytes"]
    shards, stages = row.get("shards", 1), row.get("stages", 1)
    planned -= weights * (1 - row.get("gradient_bits", 32) / 32)
    planned += (row.get("kept", 1) - 1) * (worker["activation_bytes"] - weights / 2)
    if worker["place"].find(f"stage{stages - 1}") >= 0 or stages == 1:
        tokens = row["context"] * row["micro"]
        planned += row.get("logit_bytes", 0) * tokens * row["vocabulary"] * (1 - 1 / shards)
    state = weights + worker["slot_bytes"]
    if row.get("untied", False) and stages == 1:
        table = row["vocabulary"] * row["width"] / shards
        planned += table * (14 + row.get("gradient_bits", 32) / 8)
        state += table * 12
    if row.get("zero1", False):
        planned -= state * (1 - 1 / row.replicas)
    return planned / 2**30
