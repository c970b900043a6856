# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of gpt_thin: sequences and tokens per second in training on the CPU.

    ci/contenders/environment.py ci/peers/torch_gpt.py [--dtype bf16] [--compile]
        [--layers 4] [--width 128] [--heads 4] [--context 64] [--vocabulary 256] [--batch 12]

The same network, loss and update as workloads/gpt.cpp: no biases, gains alone in the layer
normalisations, one matrix for embedding and logits, exact GELU; AdamW with decay of all but the
gains, by PyTorch's fused kernel; gradients clipped at norm 1. Attention is PyTorch's own
scaled_dot_product_attention. Tokens are random; no input pipeline is timed.
"""

import argparse
import math

import torch
from torch import nn
from torch.nn import functional

import torch_speed

SIZES = {"layers": 4, "width": 128, "heads": 4, "context": 64, "vocabulary": 256}  # gpt_thin
PEAK_RATE = 3e-3
CLIP = 1.0


def matrix(outputs: int, inputs: int, deviation: float = 0.02) -> nn.Parameter:
    return nn.Parameter(deviation * torch.randn(outputs, inputs))


class Embedding(nn.Module):
    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.weight = matrix(rows, width)


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, self.gain.shape, self.gain)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, deviation: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = matrix(3 * width, width)
        self.proj = matrix(width, width, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        qkv = functional.linear(x, self.qkv).unflatten(-1, (3, self.heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # from [batch, token, 3, head, channel]
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return functional.linear(y.transpose(1, 2).flatten(2), self.proj)


class Mlp(nn.Module):
    def __init__(self, width: int, deviation: float) -> None:
        super().__init__()
        self.up = matrix(4 * width, width)
        self.down = matrix(width, 4 * width, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(functional.gelu(functional.linear(x, self.up)), self.down)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, deviation: float) -> None:
        super().__init__()
        self.norm1 = Norm(width)
        self.attention = Attention(width, heads, deviation)
        self.norm2 = Norm(width)
        self.mlp = Mlp(width, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """The parameters have the names of Regatta's variables. Shapes: tokens [B, S] to logits
    [B, S, V]."""

    def __init__(self, size: argparse.Namespace) -> None:
        super().__init__()
        self.deviation_into_residual = 0.02 / math.sqrt(2 * size.layers)
        self.wte = Embedding(size.vocabulary, size.width)
        self.wpe = Embedding(size.context, size.width)
        self.layers = size.layers
        for i in range(size.layers):
            self.add_module(f"layer{i}",
                            Layer(size.width, size.heads, self.deviation_into_residual))
        self.head = nn.ModuleDict({"norm": Norm(size.width)})

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = functional.embedding(tokens, self.wte.weight) + self.wpe.weight
        for i in range(self.layers):
            x = self.get_submodule(f"layer{i}")(x)
        return functional.linear(self.head["norm"](x), self.wte.weight)


def adamw(network: Gpt) -> torch.optim.AdamW:
    matrices = [each for each in network.parameters() if each.dim() > 1]
    gains = [each for each in network.parameters() if each.dim() == 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                              {"params": gains, "weight_decay": 0.0}],
                             lr=PEAK_RATE, betas=(0.9, 0.99), eps=1e-8, **torch_speed.FUSED)


def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The mean over all tokens, in nats."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def add_sizes(parser: argparse.ArgumentParser) -> None:
    for name, value in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=value)


def main() -> None:
    parser = torch_speed.parser(__doc__, batch=12)
    add_sizes(parser)
    arguments = torch_speed.parse(parser)
    network = Gpt(arguments)
    tokens = torch.randint(arguments.vocabulary, (arguments.batch, arguments.context + 1))
    torch_speed.measure(f"gpt width {arguments.width}", arguments, network, adamw(network), loss,
                        (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()),
                        clip=CLIP, tokens=arguments.context)


if __name__ == "__main__":
    main()
