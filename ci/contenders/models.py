# SPDX-License-Identifier: Apache-2.0
"""The workloads parabola, resnet9, resnet9_thin and gpt_* in PyTorch, as workloads/*.cpp has them.

A model is a sequence of blocks. Its weights have the names and layouts of a dump's manifest outside
(`load`, `weights_of`), and PyTorch's inside: filters [O, I, H, W] instead of [O, H, W, I], and the
rows of an attention's projection by head, then q, k, v, so that a shard of them holds whole heads.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional


def named(module: nn.Module, **names: str) -> Any:
    """The module, whose parameters have these names in the manifest."""
    module.names = names
    return module


class Model(nn.Sequential):
    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean over the examples."""
        raise NotImplementedError

    def metric(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The sum over the examples."""
        return self.loss(outputs, targets) * len(targets)


class Parabola(Model):
    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.mse_loss(outputs.float(), targets)


def parabola() -> Model:
    return Parabola(named(nn.Linear(1, 5), weight="hidden.weight", bias="hidden.bias"), nn.Tanh(),
                    named(nn.Linear(5, 1), weight="output.weight", bias="output.bias"))


class GroupedBatchNorm(nn.Module):
    """Normalises groups of examples; the running statistics follow the mean over the groups."""

    def __init__(self, channels: int, group: int) -> None:
        super().__init__()
        self.group = group
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return functional.batch_norm(x, self.mean, self.variance, self.weight, self.bias)
        mean, variance = torch.zeros_like(self.mean), torch.zeros_like(self.variance)
        parts = [functional.batch_norm(part, mean, variance, self.weight, self.bias, True,
                                       1 / (i + 1)) for i, part in enumerate(x.split(self.group))]
        with torch.no_grad():
            self.mean.lerp_(mean, 0.1)
            self.variance.lerp_(variance, 0.1)
        return torch.cat(parts)


def convolve(layer: str, inputs: int, outputs: int, group: int) -> nn.Sequential:
    return nn.Sequential(
        named(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), weight=f"{layer}.weight"),
        named(GroupedBatchNorm(outputs, group), weight=f"{layer}.scale", bias=f"{layer}.shift"),
        nn.ReLU(inplace=True))


class Residual(nn.Module):
    def __init__(self, layer: str, channels: int, group: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(convolve(f"{layer}.res1", channels, channels, group),
                                    convolve(f"{layer}.res2", channels, channels, group))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.branch(x)


class ChannelsLast(nn.Module):
    """Shapes: [B, H, W, C] to [B, C, H, W], the same memory."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(0, 3, 1, 2)


class Resnet9(Model):
    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(0.125 * outputs.float(), targets.long())

    def metric(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return 100 * (outputs.argmax(1) == targets).sum()


def resnet9(w: int, group: int) -> Model:
    return Resnet9(
        ChannelsLast(), convolve("prep", 3, w, group),
        nn.Sequential(convolve("layer1", w, 2 * w, group), nn.MaxPool2d(2)),
        Residual("layer1", 2 * w, group),
        nn.Sequential(convolve("layer2", 2 * w, 4 * w, group), nn.MaxPool2d(2)),
        nn.Sequential(convolve("layer3", 4 * w, 8 * w, group), nn.MaxPool2d(2)),
        Residual("layer3", 8 * w, group), nn.MaxPool2d(4), nn.Flatten(),
        named(nn.Linear(8 * w, 10, bias=False), weight="head.weight"))


def linear(name: str, inputs: int, outputs: int) -> nn.Linear:
    return named(nn.Linear(inputs, outputs, bias=False), weight=name)


def norm(layer: str, width: int) -> nn.LayerNorm:
    return named(nn.LayerNorm(width, bias=False), weight=f"{layer}.gain")


class Layer(nn.Module):
    def __init__(self, layer: str, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = norm(f"{layer}.norm1", width), norm(f"{layer}.norm2", width)
        self.qkv = linear(f"{layer}.attention.qkv", width, 3 * width)
        self.qkv.channels = width // heads  # of a head
        self.proj = linear(f"{layer}.attention.proj", width, width)
        self.up = linear(f"{layer}.mlp.up", width, 4 * width)
        self.down = linear(f"{layer}.mlp.down", 4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.qkv(self.norm1(x)).unflatten(-1, (-1, 3, self.qkv.channels))
                   .permute(3, 0, 2, 1, 4))  # from [batch, token, head, 3, channel]
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Embedding(nn.Module):
    def __init__(self, table: nn.Embedding, positions: nn.Embedding) -> None:
        super().__init__()
        self.table, self.positions = table, positions

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.table(tokens) + self.positions.weight


class Head(nn.Module):
    """The logits, by the table of the embedding."""

    def __init__(self, table: nn.Embedding, width: int) -> None:
        super().__init__()
        self.norm, self.table = norm("head.norm", width), table

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.linear(self.norm(x), self.table.weight)


class Gpt(Model):
    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(outputs.float().flatten(0, 1), targets.long().flatten())


def gpt(options: dict[str, Any]) -> Model:
    if options.get("block", "gpt2") != "gpt2":
        raise SystemExit(f"models: there is no block {options['block']} here; fix: --block gpt2")
    width = options["width"]
    table = named(nn.Embedding(options["vocabulary"], width), weight="wte.weight")
    positions = named(nn.Embedding(options["context"], width), weight="wpe.weight")
    layers = [Layer(f"layer{i}", width, options["heads"]) for i in range(options["layers"])]
    return Gpt(Embedding(table, positions), *layers, Head(table, width))


def build(manifest: dict[str, Any]) -> Model:
    workload, options = manifest["workload"], manifest["options"]
    if workload == "parabola":
        return parabola()
    if workload.startswith("resnet9"):
        return resnet9(options["width"], manifest["normalization_group"]).to(
            memory_format=torch.channels_last)
    if workload.startswith("gpt_"):
        return gpt(options)
    raise SystemExit(f"models: there is no {workload}; fix: parabola, resnet9, resnet9_thin, gpt_*")


def parameters_of(model: nn.Module) -> Iterator[tuple[str, nn.Module, nn.Parameter]]:
    """Each parameter once, with its name in the manifest and its module."""
    seen = set()
    for module in model.modules():
        for attribute, name in getattr(module, "names", {}).items():
            if name not in seen:
                seen.add(name)
                yield name, module, getattr(module, attribute)


@torch.no_grad()
def load(model: nn.Module, weights: dict[str, np.ndarray]) -> None:
    for name, module, parameter in parameters_of(model):
        value = torch.from_numpy(np.array(weights[name]))
        if isinstance(module, nn.Conv2d):
            value = value.permute(0, 3, 1, 2)
        elif hasattr(module, "channels"):
            value = value.unflatten(1, (-1, module.channels)).transpose(0, 1).reshape(
                parameter.shape)
        parameter.copy_(value)


@torch.no_grad()
def weights_of(model: nn.Module) -> dict[str, np.ndarray]:
    result = {}
    for name, module, parameter in parameters_of(model):
        value = parameter
        if isinstance(module, nn.Conv2d):
            value = value.permute(0, 2, 3, 1)
        elif hasattr(module, "channels"):
            value = value.unflatten(0, (-1, 3, module.channels)).transpose(0, 1).reshape(
                3, -1, value.shape[1])
        result[name] = value.contiguous().numpy()
    return result
