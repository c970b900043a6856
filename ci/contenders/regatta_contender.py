# SPDX-License-Identifier: Apache-2.0
"""Tells Regatta of a training, so that your script can race. Copy this file beside it, and run
`regatta run --program 'python3 train.py {seed}' --workload-name mine --metric loss --target 3`.

    import regatta_contender as regatta
    regatta.ready(framework="pytorch", torch=torch.__version__)  # set-up ends, the clocks start
    for batch in batches:
        regatta.step(examples_so_far, loss)                      # the loss may be left out
        with regatta.evaluation() as evaluation:                 # now and then
            evaluation.metric = accuracy_in_percent()
    regatta.done()

One process tells, such as rank 0. Without Regatta the lines go to standard output.
harness/contender/README.md has the protocol.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_pipe: int | None = None


def tell(event: str, **fields: Any) -> None:
    """Writes one event; fields that are None are left out."""
    global _pipe
    if _pipe is None:
        path = os.environ.get("REGATTA_PIPE_PATH")  # also where descriptors are not inherited
        _pipe = 1 if path is None else os.open(path, os.O_WRONLY)
    known = {name: value for name, value in fields.items() if value is not None}
    line = (json.dumps({"event": event, **known}) + "\n").encode()
    while line:
        line = line[os.write(_pipe, line):]


def proof(*, weights: str, order: str, gradient_norm: float, **more: Any) -> None:
    """Proves, before ready(), that the program computes the workload that it claims."""
    tell("proof", weights=weights, order=order, gradient_norm=gradient_norm, **more)


def ready(framework: str | None = None, notes: dict[str, str] | None = None,
          **versions: str) -> None:
    tell("ready", framework=framework, notes=notes, versions=versions)


def step(examples: int, loss: float | None = None) -> None:
    """`examples`: in total since ready()."""
    tell("step", examples=examples, loss=loss)


@dataclass
class Evaluation:
    metric: float | None = None
    loss: float | None = None


@contextmanager
def evaluation() -> Iterator[Evaluation]:
    """Stops the training clock within the block, which sets the metric."""
    tell("evaluate_begin")
    result = Evaluation()
    yield result
    tell("evaluate", metric=result.metric, loss=result.loss)


def done() -> None:
    tell("done")
