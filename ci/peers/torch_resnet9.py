#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of resnet9 and resnet9_thin: training images per second, f32, on the CPU.

    ci/peers/torch_resnet9.py [--width 16] [--batch 128] [--threads 2] [--rounds 5]

The same network, loss and optimizer as workloads/resnet9.cpp, with normalisation over the whole
batch (PyTorch's own BatchNorm2d, which does less work than groups) and random images: no input
pipeline is timed here. Width 16 is resnet9_thin, 64 is resnet9.
"""

import argparse
import statistics
import time

import torch
from torch import nn


def block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(block(channels, channels), block(channels, channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.branch(x)


def network(w: int) -> nn.Sequential:
    return nn.Sequential(block(3, w), block(w, 2 * w), nn.MaxPool2d(2), Residual(2 * w),
                         block(2 * w, 4 * w), nn.MaxPool2d(2), block(4 * w, 8 * w),
                         nn.MaxPool2d(2), Residual(8 * w), nn.MaxPool2d(4), nn.Flatten(),
                         nn.Linear(8 * w, 10, bias=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = network(arguments.width).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True,
                                weight_decay=5e-4)
    images = torch.randn(arguments.batch, 3, 32, 32).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (arguments.batch,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(0.125 * model(images), labels).backward()
        optimizer.step()

    for _ in range(3):
        step()
    speeds = []
    for _ in range(arguments.rounds):
        begin = time.perf_counter()
        for _ in range(arguments.steps):
            step()
        speeds.append(arguments.batch * arguments.steps / (time.perf_counter() - begin))
    print(f"torch {torch.__version__} width {arguments.width} batch {arguments.batch} "
          f"threads {arguments.threads}: {statistics.median(speeds):.0f} images/s "
          f"(median of {arguments.rounds}, {min(speeds):.0f} to {max(speeds):.0f})")


if __name__ == "__main__":
    main()
