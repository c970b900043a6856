# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of resnet9 and resnet9_thin: training images per second on the CPU.

    ci/contenders/environment.py ci/peers/torch_resnet9.py [--width 16] [--dtype bf16] [--compile]

The same network, loss and optimizer as workloads/resnet9.cpp, with normalisation over the whole
batch (PyTorch's own BatchNorm2d, which does less work than groups) and random images; no input
pipeline is timed. Width 16 is resnet9_thin, 64 is resnet9.
"""

import torch
from torch import nn

import torch_speed


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


def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(0.125 * logits, labels)


def main() -> None:
    parser = torch_speed.parser(__doc__, batch=128)
    parser.add_argument("--width", type=int, default=16)
    arguments = torch_speed.parse(parser)
    model = torch_speed.channels_last(network(arguments.width))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True,
                                weight_decay=5e-4, **torch_speed.FUSED)
    torch_speed.measure(f"resnet9 width {arguments.width}", arguments, model, optimizer, loss,
                        torch_speed.images(arguments.batch))


if __name__ == "__main__":
    main()
