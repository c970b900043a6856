# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch sides share: arguments, random batches in memory, bf16, timing, output.

Each script builds its network and optimizer and hands them to measure(), which prints one line of
JSON: {"torch", "network", "dtype", "batch", "threads", "images_per_s", "lowest", "highest"}, the
median, lowest and highest of the rounds. A step is forward, backward and update; no input pipeline
is timed. bf16 is PyTorch's own mixed precision for CPUs: autocast over f32 weights.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn


def parser(description: str, batch: int) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--batch", type=int, default=batch)
    result.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--rounds", type=int, default=5)
    result.add_argument("--steps", type=int, default=10, help="in a round")
    result.add_argument("--warm-up", type=int, default=3, help="steps before the first round")
    return result


def parse(options: argparse.ArgumentParser) -> argparse.Namespace:
    """Before the network is built: sets the threads, too."""
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    return arguments


def channels_last(network: nn.Module) -> nn.Module:
    return network.to(memory_format=torch.channels_last)


def measure(name: str, arguments: argparse.Namespace, network: nn.Module,
            optimizer: torch.optim.Optimizer, loss: Callable[..., torch.Tensor]) -> None:
    """`loss` takes logits and labels."""
    images = torch.randn(arguments.batch, 3, 32, 32).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (arguments.batch,))
    mixed = arguments.dtype == "bf16"

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            value = loss(network(images), labels)
        value.backward()
        optimizer.step()

    for _ in range(arguments.warm_up):
        step()
    speeds = []
    for _ in range(arguments.rounds):
        begin = time.perf_counter()
        for _ in range(arguments.steps):
            step()
        speeds.append(arguments.batch * arguments.steps / (time.perf_counter() - begin))
    print(json.dumps({"torch": torch.__version__, "network": name, "dtype": arguments.dtype,
                      "batch": arguments.batch, "threads": arguments.threads,
                      "images_per_s": statistics.median(speeds), "lowest": min(speeds),
                      "highest": max(speeds)}))
