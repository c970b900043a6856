# SPDX-License-Identifier: Apache-2.0
"""What races while it is hit, and what hits it. A trial follows from the seed and its number alone;
when its victim is where in its work depends on the machine.
"""

import random
import re
import signal
from typing import NamedTuple

PROGRAM, MPIRUN, KEEPER = "program", "mpirun", "keeper"  # that clears up after a program
SHORT_STOPS_S = (0.1, 8.0)  # less and more than the 5 s of silence after which a rank is lost
ENDING = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Cell(NamedTuple):
    """Takes a second or two. Workers sleep in each step, which leaves the cores to others, but not
    for long where another program has interrupted what they computed."""

    name: str
    arguments: str
    workers: int = 2
    ranks: int = 0  # 0: one process
    steps: int = 400
    sleep: int = 20  # how often as long as it computes
    synchronous: bool = True  # the losses of a resumed run are those of a run in one piece
    checkpoints: bool = True
    weight: float = 2  # how often it races, beside others

    @property
    def flags(self) -> list[str]:
        words = [*self.arguments.split(), "--steps", str(self.steps)]
        sleepers = ",".join(f"{worker}:{self.sleep}" for worker in range(self.workers))
        return words + (["--straggler", sleepers] if self.sleep > 1 else [])

    def awake(self) -> "Cell":
        """For a worker that is stopped: while it computes, it would sleep so much longer."""
        return self._replace(sleep=1)


PARABOLA = "--workload parabola"
ALL_REDUCE = f"{PARABOLA} --strategy all_reduce"
SERVER = f"{PARABOLA} --strategy parameter_server"
BACKUP = f"{SERVER} --workers 2 --backup-workers 1 --global-batch 20"
ASYNC = f"{PARABOLA} --strategy parameter_server_async"
THIN = "--workload resnet9_thin --dataset shapes --global-batch 32"


def over(ranks: int, name: str, options: str = "", synchronous: bool = True) -> Cell:
    """A worker in each rank; the name begins with the strategy's."""
    strategy = re.split("[ ,]", name)[0]
    words = f"{PARABOLA} --strategy {strategy} {options} --workers {ranks}"
    return Cell(f"{name}, {ranks} ranks", f"{words} --processes {ranks}", ranks, ranks,
                synchronous=synchronous, steps=600, weight=1)


PLACED = (  # sends and receives between ranks, and exchanges that keep something between steps
    over(2, "in_graph"),
    over(3, "in_graph"),
    over(3, "central_storage"),
    over(3, "model_parallel"),
    over(3, "tensor_parallel"),
    *(over(2, f"pipeline {schedule}", f"--schedule {schedule}")
      for schedule in ("gpipe", "1f1b", "zero_bubble")),
    over(3, "pipeline, 5 microbatches", "--microbatches 5"),
    over(4, "all_reduce+pipeline", "--stages 2"),
    *(over(2, f"sharded {what}", f"--shard {what}")
      for what in ("optimizer", "gradients", "parameters")),
    over(4, "model_parallel+sharded", "--stages 2"),
    over(3, "local_sgd", "--sync-every 4"),
    over(2, "diloco", "--sync-every 8 --fragments 2 --delay 2"),
    over(3, "gossip"),
    over(3, "ad_psgd", synchronous=False),
    over(2, "gossip beside a step", "--overlap 1"),
    *(over(2, f"all_reduce+{compressed}") for compressed in ("powersgd", "top_k", "bf16_compress")),
)

CELLS = (
    Cell("ring, 2 ranks", f"{ALL_REDUCE} --workers 2 --processes 2", ranks=2, steps=200),
    Cell("ring, 4 ranks", f"{ALL_REDUCE} --workers 4 --processes 4", 4, 4, steps=200),
    Cell("ring, 4 workers on 2 ranks", f"{ALL_REDUCE} --workers 4 --processes 2", 4, 2,
         steps=350),
    Cell("mpi, 2 ranks", f"{ALL_REDUCE} --all-reduce mpi --workers 2 --processes 2", ranks=2,
         steps=300),
    Cell("mpi, 3 ranks", f"{ALL_REDUCE} --all-reduce mpi --workers 3 --processes 3", 3, 3,
         steps=200),
    Cell("reduce_to_one, 3 ranks",
         f"{ALL_REDUCE} --all-reduce reduce_to_one --workers 3 --processes 3", 3, 3, steps=250),
    Cell("independent, 2 ranks", f"{PARABOLA} --strategy independent --workers 2 --processes 2",
         ranks=2, steps=450),
    Cell("server", f"{SERVER} --workers 2", ranks=3, steps=400),
    Cell("2 servers", f"{SERVER} --workers 2 --servers 2", ranks=4, steps=300),
    Cell("server, backup", BACKUP, 3, 4, synchronous=False, steps=400),
    Cell("server, backup, goes on", f"{BACKUP} --continue-on-loss", 3, 4, synchronous=False,
         checkpoints=False, steps=400),
    Cell("async", f"{ASYNC} --workers 2", ranks=3, synchronous=False, steps=450),
    Cell("async, 2 servers, bound", f"{ASYNC} --workers 2 --servers 2 --staleness-bound 2",
         ranks=4, synchronous=False, steps=300),
    Cell("async, goes on", f"{ASYNC} --workers 2 --continue-on-loss", ranks=3, synchronous=False,
         checkpoints=False, steps=450),
    Cell("async, 2 servers, goes on", f"{ASYNC} --workers 3 --servers 2 --continue-on-loss", 3, 5,
         synchronous=False, checkpoints=False, steps=350),
    Cell("ring, resnet9_thin", f"{THIN} --strategy all_reduce --workers 2 --processes 2", ranks=2,
         steps=4, sleep=3, weight=0.5),
    Cell("server, resnet9_thin", f"{THIN} --strategy parameter_server --workers 2", ranks=3,
         steps=4, sleep=3, weight=0.5),
    Cell("single", PARABOLA, 1, weight=1, steps=2_000),
    Cell("in_graph", f"{PARABOLA} --strategy in_graph --workers 2", weight=1, steps=500),
    Cell("central_storage", f"{PARABOLA} --strategy central_storage --workers 2", weight=1,
         steps=250),
    Cell("all_reduce", f"{ALL_REDUCE} --workers 2", weight=1, steps=2_000),
    Cell("model_parallel", f"{PARABOLA} --strategy model_parallel --workers 2", weight=1,
         steps=900),
    Cell("async_shared", f"{PARABOLA} --strategy async_shared --workers 2", synchronous=False,
         weight=1, steps=2_000),
    Cell("ad_psgd in one process", f"{PARABOLA} --strategy ad_psgd --workers 3",
         synchronous=False, weight=1, steps=2_000),
    Cell("server in one process", f"{SERVER} --workers 2 --processes 1", weight=1, steps=200),
    Cell("async server in one process", f"{ASYNC} --workers 2 --processes 1", synchronous=False,
         weight=1, steps=800),
    *PLACED,
)


class Moment(NamedTuple):
    """When the fault comes: so long after a beginning that is seen from outside."""

    after: str  # start: of the program; training: the first evaluation is printed; end: the last
    delay_s: float


class Fault(NamedTuple):
    """Of one process, and what follows it after a while."""

    victim: str  # program, mpirun, keeper, or the number of a rank
    number: int  # of the signal
    then: str = ""  # continue: the victim; a signal's name: to the program
    after_s: float = 0

    @property
    def stops(self) -> bool:
        return self.number == signal.SIGSTOP

    @property
    def kind(self) -> str:
        name = signal.Signals(self.number).name.removeprefix("SIG")
        return name + (f", then {self.then}" if self.then else "")


class Trial(NamedTuple):
    number: int
    cell: Cell
    checkpoint_every: int  # steps; 0: no checkpoints
    moment: Moment
    fault: Fault

    def text(self) -> str:
        every = f", checkpoint every {self.checkpoint_every}" if self.checkpoint_every else ""
        after = f" {self.fault.after_s:.2f} s later" if self.fault.then else ""
        return (f"{self.number}: {self.cell.name}{every}: {self.fault.kind}{after} "
                f"({self.fault.victim}) {self.moment.delay_s:.2f} s after {self.moment.after}")


def fault_of(rng: random.Random, cell: Cell) -> Fault:
    """A rank about as often as the program and mpirun together. No process is stopped for good that
    only the one who stopped it can end: the program itself is continued."""
    victim = PROGRAM
    if cell.ranks:
        ranks = [str(rank) for rank in range(cell.ranks)]
        victim = rng.choices((PROGRAM, MPIRUN, rng.choice(ranks), KEEPER), (5, 5, 9, 1))[0]
    if rng.random() < 0.55:
        return Fault(victim, rng.choices(ENDING, (4, 2, 2, 1))[0])
    if victim == PROGRAM or rng.random() < 0.5:
        return Fault(victim, signal.SIGSTOP, "continue", rng.uniform(*SHORT_STOPS_S))
    if rng.random() < 0.5:
        return Fault(victim, signal.SIGSTOP)
    ending = rng.choice(("SIGINT", "SIGTERM"))
    return Fault(victim, signal.SIGSTOP, ending, rng.uniform(0.05, 2))


def moment_of(rng: random.Random) -> Moment:
    after = rng.choices(("start", "training", "end"), (4, 5, 1))[0]
    return Moment(after, rng.uniform(0, {"start": 1.2, "training": 0.3, "end": 0.2}[after]))


def trial_of(seed: int, number: int) -> Trial:
    rng = random.Random(f"{seed}:{number}")
    cell = rng.choices(CELLS, [cell.weight for cell in CELLS])[0]
    fault = fault_of(rng, cell)
    if fault.then == "continue" and fault.victim not in (MPIRUN, KEEPER):
        cell = cell.awake()
    every = 0
    if cell.checkpoints and rng.random() < 0.4:
        every = max(1, round(cell.steps * rng.uniform(0.05, 0.3)))
    return Trial(number, cell, every, moment_of(rng), fault)
