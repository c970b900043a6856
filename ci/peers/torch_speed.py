# SPDX-License-Identifier: Apache-2.0
"""Code shared by the PyTorch scripts of compare_torch: options, random images, bf16, torch.compile,
timing, output. Run the scripts by ci/contenders/environment.py.

Each script builds its network and optimizer and passes them to measure(), which prints lines of
JSON: after compiling and warm-up {"torch", "onednn", "network", "dtype", "compiled", "batch",
"tokens" (of an example; 1 if it is an image or a point), "threads", "warm_up_s"}, then for each
round {"step_ms", "examples_per_s"}, of the median step.
With --wait each line on stdin starts a round, and the end of stdin ends the script.
A step is forward, backward and update of one batch in memory; no input pipeline is timed. bf16 is
PyTorch's own mixed precision for CPUs: autocast over f32 weights. --compile compiles the network
with its loss, in torch.compile's default mode.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn

# Option of optimizers: one kernel for all parameters. PyTorch has it for CPUs since 2.4.
FUSED = {"fused": True} if hasattr(torch, "compile") else {}


def parser(description: str, batch: int) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--batch", type=int, default=batch)
    result.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    result.add_argument("--compile", action="store_true", help="by torch.compile")
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--rounds", type=int, default=5)
    result.add_argument("--steps", type=int, default=10, help="in a round")
    result.add_argument("--warm-up", type=int, default=3, help="steps before the first round")
    result.add_argument("--wait", action="store_true", help="for a line before each round")
    return result


def parse(options: argparse.ArgumentParser) -> argparse.Namespace:
    """Parses the options; sets number of threads and seed. Call this before building a network."""
    arguments = options.parse_args()
    if arguments.compile and not hasattr(torch, "compile"):
        sys.exit(f"torch_speed: PyTorch {torch.__version__} has no torch.compile, which came with "
                 "2.0: leave --compile out")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    return arguments


def channels_last(network: nn.Module) -> nn.Module:
    return network.to(memory_format=torch.channels_last)


def images(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random images and labels."""
    return (torch.randn(batch, 3, 32, 32).to(memory_format=torch.channels_last),
            torch.randint(0, 10, (batch,)))


def onednn() -> str:
    """The version of oneDNN that PyTorch contains."""
    found = re.search(r"(?:MKL-DNN|oneDNN) v([\d.]+)", torch.__config__.show())
    return found[1] if found else "unknown"


def run_rounds(name: str, arguments: argparse.Namespace, tokens: int,
               step: Callable[[], None]) -> None:
    begin = time.perf_counter()
    for _ in range(arguments.warm_up):
        step()
    print(json.dumps({"torch": torch.__version__, "onednn": onednn(), "network": name,
                      "dtype": arguments.dtype, "compiled": arguments.compile,
                      "batch": arguments.batch, "tokens": tokens,
                      "threads": torch.get_num_threads(),
                      "warm_up_s": time.perf_counter() - begin}), flush=True)
    for _ in sys.stdin if arguments.wait else range(arguments.rounds):
        seconds = []
        for _ in range(arguments.steps):
            begin = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - begin)
        step_s = statistics.median(seconds)
        print(json.dumps({"step_ms": step_s * 1e3, "examples_per_s": arguments.batch / step_s}),
              flush=True)


def measure(name: str, arguments: argparse.Namespace, network: nn.Module,
            optimizer: torch.optim.Optimizer, loss: Callable[..., torch.Tensor],
            examples: tuple[torch.Tensor, torch.Tensor], clip: float | None = None,
            tokens: int = 1) -> None:
    """Times training steps. `examples`: inputs and targets; `loss`: of outputs and targets;
    `clip`: the largest norm of the gradients."""
    mixed = arguments.dtype == "bf16"

    def loss_of(inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return loss(network(inputs), targets)

    forward = loss_of
    if arguments.compile:
        forward = torch.compile(loss_of, fullgraph=True, dynamic=False)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
            value = forward(*examples)
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(network.parameters(), clip)
        optimizer.step()

    run_rounds(name, arguments, tokens, step)
