# SPDX-License-Identifier: Apache-2.0
"""The kinds of input: what each is, how many are tried at once, and its share of all."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from . import checkpoints, clusters, commands, data, keys, matrices, records, strangers
from .oracle import Verdict
from .subject import Subject


class Kind(NamedTuple):
    """`batch`: inputs that one worker takes at a time; for records, http2 and frames those of one
    file or race. `first`, `later`: shares of the first 10,000 inputs and of those beyond, by what
    one costs."""

    name: str
    judge: Callable[[Subject, Sequence[int], Path], list[Verdict]]
    batch: int
    first: float
    later: float
    needs: tuple[str, ...] = ()  # programs that have to be there


FIRST = 10_000
MPI = ("mpirun",)
# Those that take longest come first.
KINDS = (
    Kind("http2", strangers.judge_http2, strangers.BATCH, first=0.15, later=0.15, needs=MPI),
    Kind("frames", strangers.judge_frames, strangers.BATCH, first=0.07, later=0.07, needs=MPI),
    Kind("doors", strangers.judge_doors, strangers.BATCH, first=0.08, later=0.1, needs=MPI),
    Kind("keys", keys.judge, 2, first=0.006, later=0.001, needs=(*MPI, "openssl")),
    Kind("data", data.judge, 1, first=0.004, later=0.001),
    Kind("commands", commands.judge, 20, first=0.19, later=0.11),
    Kind("clusters", clusters.judge, 20, first=0.06, later=0.03, needs=MPI),
    Kind("matrices", matrices.judge, 10, first=0.05, later=0.02),
    Kind("checkpoints", checkpoints.judge, 20, first=0.05, later=0.03),
    Kind("records", records.judge, records.BATCH, first=0.34, later=0.488),
)


def counts(inputs: int, kinds: Sequence[Kind]) -> dict[str, int]:
    """How many of each, at least one."""
    first, later = min(inputs, FIRST), max(inputs - FIRST, 0)
    all_first = sum(kind.first for kind in kinds)
    all_later = sum(kind.later for kind in kinds)
    return {kind.name: max(1, round(first * kind.first / all_first
                                    + later * kind.later / all_later)) for kind in kinds}
