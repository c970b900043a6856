# SPDX-License-Identifier: Apache-2.0
"""Holds the losses of gpt_thin's training by Regatta's `single` against PyTorch's, in f32.

    ci/peers/torch_environment.py torch_gpt_losses.py [--steps 50] [--seeds 1] [--threads 1]
        [--layers 4] [--width 128] [--heads 4] [--context 64] [--vocabulary 256] [--build DIR]

Both sides begin with the same weights and take the same blocks of `pairs` in the same order: this
file draws them anew from Philox4x32-10 as in kernels/base/random.h, kernels/runtime/initialize.cpp
and workloads/data/pairs.h. Rounding grows at some steps by a factor of 100, so PyTorch also trains
the first FOLLOWED steps in f64. Regatta's losses may differ from those by TIMES as much as
PyTorch's f32 has differed until then, and by TIMES RESOLUTION. Prints a line for each seed, then
mean and spread of the losses over all validation blocks at the end of training. Exit code 1 if a
loss differs by more, or if the two means differ by more than the greater spread.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import torch_gpt

ROOT = Path(__file__).resolve().parents[2]

FOLLOWED = 50
TIMES = 10
RESOLUTION = 1e-6  # nats

BATCH = 12
TRAIN_BLOCKS, VALIDATION_BLOCKS = 16_384, 512
WEIGHTS, ORDER, DATA_SET = 1, 2, 4  # purposes of random streams
SYMBOLS = 16
RANK = (0, 0, 0, 0, 1, 1, 2, 3)
WORD = 0xFFFFFFFF
COSINE_PIECES = 200

Integers = torch.Tensor  # i64, holding 32-bit words


def words(seed: int, purpose: int, index: Integers, a: int, b: Integers | int) -> list[Integers]:
    """The four words of draw `index` of the stream (seed, purpose, a, b), broadcast over index and
    b. Products are modulo 2^64, as integers of C++ without a sign."""
    counter = [index, torch.tensor(a), torch.as_tensor(b), torch.tensor(purpose)]
    key = [seed & WORD, seed >> 32]
    for _ in range(10):
        first, third = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(third >> 32 & WORD) ^ counter[1] ^ key[0], third & WORD,
                   (first >> 32 & WORD) ^ counter[3] ^ key[1], first & WORD]
        key = [key[0] + 0x9E3779B9 & WORD, key[1] + 0xBB67AE85 & WORD]
    return counter


def fnv1a(text: str) -> int:
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return value


def normal(seed: int, name: str, count: int) -> torch.Tensor:
    """Standard normal numbers in f32, by Box-Muller in f64: the draws of a variable."""
    stream = fnv1a(name)
    word = words(seed, WEIGHTS, torch.arange(count), stream & WORD, stream >> 32)
    u = (word[0].double() + 1) * 2.0**-32
    angle = 2 * math.pi * word[1].double() * 2.0**-32
    return ((-2 * u.log()).sqrt() * angle.cos()).float()


@torch.no_grad()
def draw_weights(network: torch_gpt.Gpt, seed: int) -> None:
    """Sets all matrices in f32; gains are 1."""
    for name, variable in network.named_parameters():
        if not name.endswith(".gain"):
            into_residual = name.endswith((".proj", ".down"))
            deviation = network.deviation_into_residual if into_residual else 0.02
            variable.copy_((torch.tensor(deviation) * normal(seed, name, variable.numel()))
                           .view_as(variable))


def example_order(seed: int, epoch: int) -> list[int]:
    order = list(range(TRAIN_BLOCKS))
    bounds = torch.arange(TRAIN_BLOCKS + 1)
    chosen = (words(seed, ORDER, bounds, epoch, 0)[0] * bounds >> 32).tolist()
    for i in range(TRAIN_BLOCKS, 1, -1):
        order[i - 1], order[chosen[i]] = order[chosen[i]], order[i - 1]
    return order


def followers() -> Integers:
    """The four symbols that may follow symbols a and b, at 16 a + b."""
    rows = []
    for word in torch.stack(words(0, DATA_SET, torch.arange(SYMBOLS**2), 0, 0), 1).tolist():
        deck = list(range(SYMBOLS))
        for i in range(4):
            j = i + (word[i] * (SYMBOLS - i) >> 32)
            deck[i], deck[j] = deck[j], deck[i]
        rows.append(deck[:4])
    return torch.tensor(rows)


def pairs(split: int, blocks: int, context: int) -> Integers:
    """The blocks of a split (1: training, 2: validation). Shapes: [blocks, context + 1]."""
    word = words(0, DATA_SET, torch.arange(context + 1), split, torch.arange(blocks)[:, None])[0]
    follow, rank = followers(), torch.tensor(RANK)[word >> 29]
    x = word * SYMBOLS >> 32  # right in the first two columns
    for t in range(2, context + 1):
        x[:, t] = follow[SYMBOLS * x[:, t - 2] + x[:, t - 1], rank[:, t]]
    return x


def rate(step: int, steps: int) -> float:
    """Rises in a tenth of the steps, then falls to a tenth by half a cosine, which Regatta draws by
    200 straight pieces."""
    rising = steps // 10
    if step < rising:
        return torch_gpt.PEAK_RATE * (step + 1) / (rising + 1)
    piece, rest = divmod(COSINE_PIECES * (step - rising) / (steps - rising), 1)
    ends = [0.1 + 0.45 * (1 + math.cos(math.pi * i / COSINE_PIECES)) for i in (piece, piece + 1)]
    return torch_gpt.PEAK_RATE * (ends[0] + rest * (ends[1] - ends[0]))


class Training(NamedTuple):
    losses: dict[int, float]  # by step, before its update; Regatta keeps only some of many
    last: float  # over all validation blocks at the end


class Data:
    def __init__(self, context: int) -> None:
        self.train = pairs(1, TRAIN_BLOCKS, context)
        self.validation = pairs(2, VALIDATION_BLOCKS, context)


def loss_of(network: torch_gpt.Gpt, blocks: Integers) -> torch.Tensor:
    return torch_gpt.loss(network(blocks[:, :-1]), blocks[:, 1:])


def theirs(network: torch_gpt.Gpt, data: Data, seed: int, steps: int, until: int) -> Training:
    """Trains by PyTorch for `until` steps of a run of `steps`."""
    optimizer = torch_gpt.adamw(network)
    losses, order = {}, []
    for step in range(until):
        epoch, place = divmod(step, TRAIN_BLOCKS // BATCH)
        if place == 0:
            order = example_order(seed, epoch)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps)
        optimizer.zero_grad()
        loss = loss_of(network, data.train[order[BATCH * place:BATCH * (place + 1)]])
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), torch_gpt.CLIP)
        optimizer.step()
        losses[step] = loss.item()
    with torch.no_grad():
        return Training(losses, loss_of(network, data.validation).item())


def ours(arguments: argparse.Namespace, seed: int) -> Training:
    sizes = [word for name in torch_gpt.SIZES
             for word in (f"--{name}", str(getattr(arguments, name)))]
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [str(arguments.build / "bin/regatta"), "run", "--workload", "gpt_thin", *sizes,
             "--dataset", "pairs", "--strategy", "single", "--evaluate", "end",
             "--steps", str(arguments.steps), "--seed", str(seed), "--out", folder],
            capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(f"torch_gpt_losses: {ran.stderr.strip()}")
        record = json.loads(Path(folder, "records.jsonl").read_text())
    return Training({each["examples"] // BATCH: each["loss"] for each in record["losses"]},
                    record["evaluations"][-1]["metric"])


def follows(seed: int, regatta: Training, f32: Training, f64: Training) -> bool:
    """Prints how far the losses in f32 are from those in f64; returns whether Regatta's are as
    near as PyTorch's."""
    rounding, worst, at, first_wrong = 0.0, 0.0, 0, None
    for step, exact in f64.losses.items():
        rounding = max(rounding, abs(f32.losses[step] - exact))
        difference = abs(regatta.losses.get(step, exact) - exact)
        if difference > worst:
            worst, at = difference, step
        if first_wrong is None and not difference <= TIMES * max(rounding, RESOLUTION):
            first_wrong = step
    compared = len(f64.losses.keys() & regatta.losses.keys())
    print(f"seed {seed}, {compared} steps: Regatta differs from f64 by at most {worst:.1e} "
          f"(step {at}), PyTorch's f32 by {rounding:.1e}; last loss: Regatta {regatta.last:.4f}, "
          f"PyTorch {f32.last:.4f}"
          + ("" if first_wrong is None else f"; too far from step {first_wrong} on"), flush=True)
    return compared > 0 and first_wrong is None


def same_ends(regatta: list[float], torch_s: list[float]) -> bool:
    """Prints mean and spread of both sides; returns whether the means agree."""
    spreads = [statistics.stdev(regatta), statistics.stdev(torch_s)]
    means = [statistics.mean(regatta), statistics.mean(torch_s)]
    for side, mean, spread in zip(("Regatta", "PyTorch"), means, spreads):
        print(f"{side}: last loss {mean:.4f} +- {spread:.4f} (standard deviation of "
              f"{len(regatta)} seeds)")
    return abs(means[0] - means[1]) <= max(spreads)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50, help="of a run; gpt_thin's are 1,000")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="PyTorch's")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    torch_gpt.add_sizes(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    data, steps = Data(arguments.context), arguments.steps
    well, last = True, ([], [])
    for seed in range(arguments.seeds):
        regatta = ours(arguments, seed)
        sides = []
        for element, until in ((torch.float32, steps), (torch.float64, min(steps, FOLLOWED))):
            network = torch_gpt.Gpt(arguments)
            draw_weights(network, seed)
            sides.append(theirs(network.to(element), data, seed, steps, until))
        well = follows(seed, regatta, *sides) and well
        for values, training in zip(last, (regatta, sides[0])):
            values.append(training.last)
    if arguments.seeds > 1:
        well = same_ends(*last) and well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
