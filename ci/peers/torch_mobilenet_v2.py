# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of mobilenet_v2: training images per second on the CPU.

    ci/contenders/environment.py ci/peers/torch_mobilenet_v2.py [--dtype bf16] [--compile]

MobileNetV2 for 32 x 32 images, as in kuangliu/pytorch-cifar (models/mobilenetv2.py): first
convolution and second stage with stride 1, ReLU, a convolution in shortcuts that change the
channels, average pooling of 4. Adam, rate 0.001. Images are random; no input pipeline is timed.
"""

import torch
from torch import nn

import torch_speed

# For each stage: expansion, output channels, number of blocks, stride of the first block.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
          (6, 160, 3, 2), (6, 320, 1, 1))


def normalized(convolution: nn.Conv2d) -> list[nn.Module]:
    return [convolution, nn.BatchNorm2d(convolution.out_channels)]


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, expansion: int, stride: int) -> None:
        super().__init__()
        wide = expansion * inputs
        self.branch = nn.Sequential(
            *normalized(nn.Conv2d(inputs, wide, 1, bias=False)), nn.ReLU(inplace=True),
            *normalized(nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)),
            nn.ReLU(inplace=True), *normalized(nn.Conv2d(wide, outputs, 1, bias=False)))
        self.has_shortcut = stride == 1
        self.shortcut = nn.Sequential()
        if inputs != outputs:
            self.shortcut = nn.Sequential(*normalized(nn.Conv2d(inputs, outputs, 1, bias=False)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.branch(x)
        return y + self.shortcut(x) if self.has_shortcut else y


def network() -> nn.Sequential:
    layers = [*normalized(nn.Conv2d(3, 32, 3, padding=1, bias=False)), nn.ReLU(inplace=True)]
    inputs = 32
    for expansion, outputs, blocks, first_stride in STAGES:
        for index in range(blocks):
            layers.append(Block(inputs, outputs, expansion, first_stride if index == 0 else 1))
            inputs = outputs
    layers += [*normalized(nn.Conv2d(inputs, 1280, 1, bias=False)), nn.ReLU(inplace=True),
               nn.AvgPool2d(4), nn.Flatten(), nn.Linear(1280, 10)]
    return nn.Sequential(*layers)


def main() -> None:
    arguments = torch_speed.parse(torch_speed.parser(__doc__, batch=64))
    model = torch_speed.channels_last(network())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, **torch_speed.FUSED)
    torch_speed.measure("mobilenet_v2", arguments, model, optimizer,
                        nn.functional.cross_entropy, torch_speed.images(arguments.batch))


if __name__ == "__main__":
    main()
