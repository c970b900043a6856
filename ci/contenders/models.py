# SPDX-License-Identifier: Apache-2.0
"""The models of parabola, gpt and resnet9 in PyTorch, by the manifest of `regatta dump`.

A model is the composition of its children, in order, so that adapters cut it into stages or shard
it block by block. Sources: workloads/parabola.cpp, gpt.cpp, resnet9.cpp.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

Manifest = dict[str, Any]


class Composition(nn.Module):
    def __init__(self, manifest: Manifest, blocks: dict[str, nn.Module]) -> None:
        super().__init__()
        self.names = [each["name"] for each in manifest["parameters"]]
        self.heads = manifest["options"].get("heads", 1)
        for name, block in blocks.items():
            self.add_module(name, block)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.children():
            x = block(x)
        return x


class Hidden(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).tanh()


class Embedding(nn.Module):
    def __init__(self, vocabulary: int, context: int, width: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(context, width)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.wte(tokens) + self.wpe.weight


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.gain.shape, self.gain)


class Attention(nn.Module):
    """The rows of qkv are [head, query | key | value, channel]: a slice of them is whole heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.channels = width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).unflatten(-1, (-1, 3, self.channels)).transpose(1, 2).unbind(-2)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(x)))


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attention = Norm(width), Attention(width, heads)
        self.norm2, self.mlp = Norm(width), Mlp(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Head(nn.Module):
    """Logits by the embedding's own table."""

    def __init__(self, table: nn.Embedding, width: int) -> None:
        super().__init__()
        self.norm, self.table = Norm(width), table

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(self.norm(x), self.table.weight)


class Block(nn.Module):
    """Convolution, normalisation over groups of examples, ReLU. Images are channels_last."""

    def __init__(self, inputs: int, outputs: int, group: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, 3, 3, inputs).permute(0, 3, 1, 2))
        self.scale, self.shift = (nn.Parameter(torch.empty(outputs)) for _ in range(2))
        self.group = group
        self.register_buffer("mean", torch.zeros(outputs))
        self.register_buffer("variance", torch.ones(outputs))

    def forward(self, x: Tensor) -> Tensor:
        x = functional.conv2d(x, self.weight, padding=1)
        if not self.training:
            return functional.batch_norm(x, self.mean, self.variance, self.scale, self.shift).relu()
        parts = [torch.native_batch_norm(each, self.scale, self.shift, None, None, True, 0, 1e-5)
                 for each in x.split(self.group)]
        with torch.no_grad():
            count = self.group * x[0, 0].numel()
            variance = torch.stack([part[2] for part in parts]).float().pow(-2).mean(0) - 1e-5
            self.mean.lerp_(torch.stack([part[1] for part in parts]).mean(0).float(), 0.1)
            self.variance.lerp_(variance * count / (count - 1), 0.1)
        return torch.cat([part[0] for part in parts]).relu()


class Prep(Block):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 3, 1, 2))


class Pooled(Block):
    def forward(self, x: Tensor) -> Tensor:
        return functional.max_pool2d(super().forward(x), 2)


class Residual(Pooled):
    def __init__(self, inputs: int, outputs: int, group: int) -> None:
        super().__init__(inputs, outputs, group)
        self.res1, self.res2 = (Block(outputs, outputs, group) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = super().forward(x)
        return x + self.res2(self.res1(x))


class Classes(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 0.125 * super().forward(functional.max_pool2d(x, 4).flatten(1)).float()


def build(manifest: Manifest) -> Composition:
    size, name = manifest["options"], manifest["workload"]
    if name == "parabola":
        return Composition(manifest, {"hidden": Hidden(1, 5), "output": nn.Linear(5, 1)})
    if name.startswith("gpt") and size["block"] == "gpt":
        width = size["width"]
        first = Embedding(size["vocabulary"], size["context"], width)
        layers = {f"layer{i}": Layer(width, size["heads"]) for i in range(size["layers"])}
        return Composition(manifest, {"embedding": first, **layers, "head": Head(first.wte, width)})
    if name.startswith("resnet9"):
        w, group = size["width"], manifest["normalization_group"]
        return Composition(manifest, {
            "prep": Prep(3, w, group), "layer1": Residual(w, 2 * w, group),
            "layer2": Pooled(2 * w, 4 * w, group), "layer3": Residual(4 * w, 8 * w, group),
            "head": Classes(8 * w, 10, bias=False)})
    raise SystemExit(f"models.py has no {name} with these options")


def blocks(model: Composition) -> list[nn.Module]:
    return list(model.children())


def name_in(names: list[str], parameter: str) -> str:
    """Regatta's name of a parameter of the model."""
    name = parameter.removeprefix("embedding.")
    return name if name in names else name.removesuffix(".weight")


@torch.no_grad()
def load(model: Composition, weights: dict[str, np.ndarray]) -> None:
    for name, parameter in model.named_parameters():
        values = torch.from_numpy(weights[name_in(model.names, name)])
        if values.dim() == 3:  # queries, keys and values
            values = values.unflatten(1, (model.heads, -1)).transpose(0, 1)
        if parameter.dim() == 4:
            values = values.permute(0, 3, 1, 2)
        parameter.copy_(values.reshape(parameter.shape))
    for name, statistic in model.named_buffers():
        statistic.fill_(float(name.endswith("variance")))


def weights_of(model: Composition) -> dict[str, np.ndarray]:
    """The parameters in Regatta's order and layout."""
    found = {}
    for name, parameter in model.named_parameters():
        values = parameter.detach()
        if name.endswith("qkv.weight"):
            values = values.unflatten(0, (model.heads, 3, -1)).transpose(0, 1).flatten(1, 2)
        if values.dim() == 4:
            values = values.permute(0, 2, 3, 1)
        found[name_in(model.names, name)] = values.contiguous().numpy()
    return {name: found[name] for name in model.names}


def inputs_of(manifest: Manifest) -> tuple[str, str]:
    if manifest["workload"] == "parabola":
        return "x", "y"
    return ("tokens", "targets") if manifest["workload"].startswith("gpt") else ("images", "labels")


def loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean over the examples, in f32."""
    if targets.is_floating_point():
        return functional.mse_loss(outputs.float(), targets)
    return functional.cross_entropy(outputs.float().flatten(0, -2), targets.flatten().long())


def metric(outputs: Tensor, targets: Tensor) -> Tensor:
    """The sum over the examples: of the loss, or for images of 100 for each that is right."""
    if targets.dim() == 1:
        return 100 * (outputs.argmax(-1) == targets).sum()
    return loss(outputs, targets) * len(targets)
