# SPDX-License-Identifier: Apache-2.0
"""Writes the records of a folder as TensorBoard's event files, by TensorBoard's own writer.

usage: plots/event_files.py FOLDER OUT

OUT gets a folder for each run, named by its cell and seed, with the scalars `loss` and `metric` of
its evaluations and `training loss`, over examples; the time of a point is the run's start plus its
training time. Needs the package `tensorboard`: `ci/contenders/environment.py tensorflow
plots/event_files.py FOLDER OUT` runs it with one. Refuses an OUT that is not empty.
"""

import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from record_files import read


def scalars(record: dict[str, Any]) -> Iterator[tuple[str, int, float, float]]:
    """The name, examples, seconds since the run's start and value of each point."""
    for each in record["evaluations"]:
        for name in ("loss", "metric"):
            yield name, each["examples"], each["training_time_ns"] * 1e-9, each[name]
    for sample in record["losses"]:
        seconds = sample["examples"] / (record["examples_per_s"] or 1)
        yield "training loss", sample["examples"], seconds, sample["loss"]


def name_of(record: dict[str, Any]) -> str:
    cell = record["cell"]
    return (f"{cell['workload']} {cell['strategy']} {cell['workers']} workers {cell['dtype']} "
            f"seed {cell['seed']} {record['run_id'][:8]}")


def write(folder: Path, out: Path) -> int:
    """Writes all runs of the folder; returns their number."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    records = read(folder)
    for record in records:
        begin = datetime.fromisoformat(record["timestamp"].replace("Z", "+00:00")).timestamp()
        writer = EventFileWriter(str(out / name_of(record)))
        for name, examples, seconds, value in scalars(record):
            point = Summary.Value(tag=name, simple_value=value)
            writer.add_event(Event(wall_time=begin + seconds, step=examples,
                                   summary=Summary(value=[point])))
        writer.close()
    return len(records)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(str(__doc__).strip(), file=sys.stderr)
        return 1
    folder, out = map(Path, arguments)
    if out.exists() and any(out.iterdir()):
        print(f"event_files: {out} is not empty; fix: name a new folder", file=sys.stderr)
        return 1
    try:
        print(f"{write(folder, out)} runs: tensorboard --logdir {out}")
    except (OSError, ModuleNotFoundError) as error:
        print(f"event_files: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
