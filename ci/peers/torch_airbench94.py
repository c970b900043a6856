# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of airbench94: training images per second on the CPU.

    ci/contenders/environment.py ci/peers/torch_airbench94.py [--group N] [--dtype bf16] [--compile]

The network and step of airbench94 (K. Jordan, "94% on CIFAR-10 in 3.29 Seconds on a Single GPU",
2024, legacy/airbench94.py): frozen 2 x 2 filters of 24 channels, three blocks of convolution, max
pooling, normalisation, GELU, convolution, normalisation, GELU, a linear head scaled by 1/9, label
smoothing 0.2, SGD with Nesterov momentum 0.85 and other rates for the biases of normalisation.
Normalisation has its scale frozen at 1 and takes statistics over groups of `--group` examples. The
default is the whole batch, like in the source, which is also fastest: groups are views of the
batch, but their results must be concatenated. Input pipeline, whitening and lookahead are not
timed.
"""

import torch
from torch import nn

import torch_speed

RATE = 1.5
WEIGHT_DECAY = 1.33e-3
BIAS_FACTOR = 64


class GroupedBatchNorm(nn.Module):
    """Batch normalisation over groups of `group` examples; the scale is frozen at 1."""

    def __init__(self, channels: int, group: int) -> None:
        super().__init__()
        self.group = group
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("scale", torch.ones(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [nn.functional.batch_norm(part, self.mean, self.variance, self.scale, self.bias,
                                          training=self.training, momentum=0.4, eps=1e-12)
                 for part in (x.split(self.group) if self.training else (x,))]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


def convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)


def block(inputs: int, outputs: int, group: int) -> nn.Sequential:
    return nn.Sequential(convolution(inputs, outputs), nn.MaxPool2d(2),
                         GroupedBatchNorm(outputs, group), nn.GELU(),
                         convolution(outputs, outputs), GroupedBatchNorm(outputs, group),
                         nn.GELU())


def network(group: int) -> nn.Sequential:
    whiten = nn.Conv2d(3, 24, 2, bias=True)
    whiten.weight.requires_grad = False
    return nn.Sequential(whiten, nn.GELU(), block(24, 64, group), block(64, 256, group),
                         block(256, 256, group), nn.MaxPool2d(3), nn.Flatten(),
                         nn.Linear(256, 10, bias=False))


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    shifts = [m.bias for m in model.modules() if isinstance(m, GroupedBatchNorm)]
    others = [p for p in model.parameters()
              if p.requires_grad and not any(p is shift for shift in shifts)]
    return torch.optim.SGD([{"params": others, "lr": RATE, "weight_decay": WEIGHT_DECAY},
                            {"params": shifts, "lr": RATE * BIAS_FACTOR,
                             "weight_decay": WEIGHT_DECAY / BIAS_FACTOR}],
                           lr=RATE, momentum=0.85, nesterov=True, **torch_speed.FUSED)


def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(logits / 9, labels, label_smoothing=0.2)


def main() -> None:
    parser = torch_speed.parser(__doc__, batch=1024)
    parser.add_argument("--group", type=int, help="default: the batch")
    arguments = torch_speed.parse(parser)
    model = torch_speed.channels_last(network(arguments.group or arguments.batch))
    torch_speed.measure("airbench94", arguments, model, optimizer_of(model), loss,
                        torch_speed.images(arguments.batch))


if __name__ == "__main__":
    main()
