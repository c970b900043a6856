# SPDX-License-Identifier: Apache-2.0
"""The workloads parabola, resnet9, resnet9_thin and gpt_* and their updates for TensorFlow and JAX.

`np` is the framework's NumPy, `nn` has its conv, max_pool, gelu and cross_entropy. Weights are a
dictionary with the names and shapes of a dump's manifest. Statistics of normalisation are a second
one; a forward pass in training returns the new ones.
"""

from types import ModuleType
from typing import Any, NamedTuple

Tensor = Any
Tensors = dict[str, Tensor]


class Framework(NamedTuple):
    np: ModuleType
    nn: Any


def statistics_of(manifest: dict[str, Any]) -> dict[str, list[int]]:
    """The running means and variances, by name, with their shapes."""
    layers = [(each["name"].removesuffix(".scale"), each["shape"])
              for each in manifest["parameters"] if each["name"].endswith(".scale")]
    return {f"{layer}.{kind}": shape for layer, shape in layers for kind in ("mean", "variance")}


class Model:
    def __init__(self, manifest: dict[str, Any], framework: Framework) -> None:
        self.np, self.nn = framework
        self.options, self.group = manifest["options"], manifest["normalization_group"]
        name = manifest["workload"]
        self.forward = (self.parabola if name == "parabola" else
                        self.gpt if name.startswith("gpt_") else self.resnet9)
        if not (name == "parabola" or name.startswith(("gpt_", "resnet9"))):
            raise SystemExit(f"functional_models: there is no {name}; fix: parabola, resnet9_thin, "
                             "gpt_tiny, gpt_thin")
        self.counts = self.forward == self.resnet9  # whether the metric is an accuracy

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of each example."""
        if self.forward == self.parabola:
            return self.np.mean((outputs - targets) ** 2, axis=1)
        losses = self.nn.cross_entropy(outputs, targets)
        return self.np.mean(losses, axis=1) if self.forward == self.gpt else losses

    def metric(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The sum over the examples."""
        if not self.counts:
            return self.np.sum(self.losses(outputs, targets))
        right = self.np.argmax(outputs, axis=1).astype("int32") == targets
        return 100.0 * self.np.sum(right.astype("float32"))

    def parabola(self, w: Tensors, s: Tensors, x: Tensor, _: bool) -> tuple[Tensor, Tensors]:
        hidden = self.np.tanh(x @ w["hidden.weight"].T + w["hidden.bias"])
        return hidden @ w["output.weight"].T + w["output.bias"], s

    def norm(self, x: Tensor, gain: Tensor) -> Tensor:
        mean = self.np.mean(x, axis=-1, keepdims=True)
        variance = self.np.mean((x - mean) ** 2, axis=-1, keepdims=True)
        return (x - mean) * gain / self.np.sqrt(variance + 1e-5)

    def gpt(self, w: Tensors, s: Tensors, tokens: Tensor, _: bool) -> tuple[Tensor, Tensors]:
        np, heads = self.np, self.options["heads"]
        length, width = self.options["context"], self.options["width"]
        shape = (-1, length, heads, width // heads)
        hidden = np.where(np.tril(np.ones((length, length))) > 0, 0.0, -1e30).astype("float32")
        x = np.take(w["wte.weight"], tokens, axis=0) + w["wpe.weight"]
        for i in range(self.options["layers"]):
            layer = f"layer{i}"
            y = self.norm(x, w[f"{layer}.norm1.gain"])
            qkv = y @ w[f"{layer}.attention.qkv"].reshape((3 * width, width)).T
            q, k, v = (part.reshape(shape) for part in np.split(qkv, 3, axis=-1))
            scores = np.einsum("bqhc,bkhc->bhqk", q, k) / (width // heads) ** 0.5 + hidden
            y = np.einsum("bhqk,bkhc->bqhc", self.nn.softmax(scores), v)
            x = x + y.reshape((-1, length, width)) @ w[f"{layer}.attention.proj"].T
            y = self.nn.gelu(self.norm(x, w[f"{layer}.norm2.gain"]) @ w[f"{layer}.mlp.up"].T)
            x = x + y @ w[f"{layer}.mlp.down"].T
        return self.norm(x, w["head.norm.gain"]) @ w["wte.weight"].T, s

    def block(self, w: Tensors, s: Tensors, layer: str, x: Tensor, training: bool) -> Tensor:
        np = self.np
        x = self.nn.conv(x, np.transpose(w[f"{layer}.weight"], (1, 2, 3, 0)))
        shape, mean, variance = x.shape, s[f"{layer}.mean"], s[f"{layer}.variance"]
        if training:
            count = self.group * shape[1] * shape[2]
            x = x.reshape((-1, count, shape[3]))
            mean = np.mean(x, axis=1, keepdims=True)
            variance = np.mean((x - mean) ** 2, axis=1, keepdims=True)
            for kind, value in (("mean", mean), ("variance", variance * count / (count - 1))):
                s[f"{layer}.{kind}"] = (0.9 * s[f"{layer}.{kind}"]
                                        + 0.1 * np.mean(value, axis=(0, 1)))
        x = (x - mean) * w[f"{layer}.scale"] / np.sqrt(variance + 1e-5) + w[f"{layer}.shift"]
        return np.maximum(x.reshape((-1, *shape[1:])), 0.0)

    def resnet9(self, w: Tensors, s: Tensors, x: Tensor, training: bool) -> tuple[Tensor, Tensors]:
        s, pool = dict(s), self.nn.max_pool

        def block(layer: str, x: Tensor) -> Tensor:
            return self.block(w, s, layer, x, training)

        x = pool(block("layer1", block("prep", x)), 2)
        x = x + block("layer1.res2", block("layer1.res1", x))
        x = pool(block("layer3", pool(block("layer2", x), 2)), 2)
        x = x + block("layer3.res2", block("layer3.res1", x))
        x = pool(x, 4).reshape((-1, w["head.weight"].shape[1]))
        return 0.125 * (x @ w["head.weight"].T), s


def slots_of(optimizer: dict[str, Any]) -> int:
    return 1 if optimizer["name"] == "sgd" else 2


def updated(optimizer: dict[str, Any], decay: float, rate: Tensor, step: Tensor, w: Tensor,
            g: Tensor, slots: list[Tensor], np: ModuleType) -> tuple[Tensor, list[Tensor]]:
    """The weight and its slots behind a step (f32, counted from 1), with PyTorch's formulas: Keras
    scales momentum by the rate of the step in which it was added."""
    if optimizer["name"] == "sgd":
        g = g + decay * w
        velocity = optimizer["momentum"] * slots[0] + g
        direction = g + optimizer["momentum"] * velocity if optimizer["nesterov"] else velocity
        return w - rate * direction, [velocity]
    if optimizer["name"] not in ("adam", "adamw"):
        raise SystemExit(f"functional_models: there is no {optimizer['name']}; fix: --optimizer "
                         "adamw or sgd")
    b1, b2 = optimizer["beta1"], optimizer["beta2"]
    first, second = b1 * slots[0] + (1 - b1) * g, b2 * slots[1] + (1 - b2) * g * g
    change = first / (1 - b1 ** step) / (np.sqrt(second / (1 - b2 ** step)) + optimizer["epsilon"])
    return w * (1 - rate * decay) - rate * change, [first, second]
