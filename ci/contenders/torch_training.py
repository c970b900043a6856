# SPDX-License-Identifier: Apache-2.0
"""PyTorch's training step for one worker, without any exchange; adapters add theirs.

bf16 is PyTorch's own mixed precision for CPUs: autocast over f32 weights. `--compile` compiles the
model with its loss. Models are in models.py.
"""

import argparse
import math
import os
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor

import common
import models


def optimizer_of(manifest: dict[str, Any], model: nn.Module, fused: bool) -> torch.optim.Optimizer:
    settings = manifest["optimizer"]
    decays = {each["name"]: float(each["weight_decay"]) for each in manifest["parameters"]}
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        groups.setdefault(decays[models.name_in(model.names, name)], []).append(parameter)
    dealt = [{"params": each, "weight_decay": decay} for decay, each in groups.items()]
    if settings["name"] == "sgd":
        return torch.optim.SGD(dealt, lr=0.0, momentum=settings["momentum"],
                               nesterov=bool(settings["nesterov"]), fused=fused)
    if settings["name"] not in ("adam", "adamw"):
        raise SystemExit(f"torch: there is no {settings['name']} for this CPU; fix: --optimizer "
                         "adamw or sgd")
    return torch.optim.AdamW(dealt, lr=0.0, betas=(settings["beta1"], settings["beta2"]),
                             eps=settings["epsilon"], fused=fused)


def connect(worker: common.Worker) -> None:
    """Joins the group of all workers and servers; sets the number of threads."""
    torch.set_num_threads(worker.threads)
    dist.init_process_group("gloo", rank=worker.rank,
                            world_size=int(os.environ["WORLD_SIZE"]))


class Training(common.Contender):
    """Trains the whole model on the worker's share of the batch."""

    framework = "pytorch"
    fused = True  # whether the optimizer has one kernel for all parameters

    def __init__(self, work: common.Work, options: argparse.Namespace) -> None:
        connect(work.worker)
        self.work, self.options = work, options
        self.versions = {"torch": torch.__version__}
        self.notes = {"mode": "compiled" if options.compile else "eager"}
        self.mixed = work.manifest["dtype"] == "bf16"
        self.clip = work.manifest["optimizer"].get("gradient_clip") or 0.0
        self.steps = [torch.from_numpy(each) for each in (work.inputs, work.targets)]
        self.tests = [[torch.from_numpy(each) for each in pair] for pair in work.tests]
        self.model = models.build(work.manifest)
        models.load(self.model, work.weights)
        self.network = self.distribute()
        self.optimizer = optimizer_of(work.manifest, self.model, self.fused)
        self.state = [*self.network.parameters(), *self.network.buffers()]
        self.first = [each.detach().clone() for each in self.state]
        self.forward = torch.compile(self.loss_of) if options.compile else self.loss_of
        # Exchanges take the mean over workers: a worker's loss counts by its share of the batch.
        self.weight = work.share * work.worker.count * (2 if options.plant == "sum" else 1)

    def distribute(self) -> nn.Module:
        """The model as this strategy runs it."""
        return self.model

    def loss_of(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return models.loss(self.network(inputs), targets)

    def backward(self, index: int) -> torch.Tensor:
        """Computes the gradients of a step; returns the worker's part of the loss."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            loss = self.forward(*(each[index] for each in self.steps))
        (loss * self.weight).backward()
        return loss.detach() * self.work.share

    def exchange(self) -> None:
        """Gives every worker the mean of the gradients, if backward has not."""

    def norm(self) -> torch.Tensor:
        """The norm of all gradients."""
        result = nn.utils.get_total_norm([each.grad for each in self.network.parameters()])
        return result.full_tensor() if isinstance(result, DTensor) else result

    def norm_before_compression(self) -> float:
        """The norm of the mean gradient of the first step, if backward() yields another one."""
        network, self.network, forward = self.network, self.model, self.forward
        self.forward = self.loss_of
        self.optimizer.zero_grad()
        self.backward(0)
        for each in self.model.parameters():
            dist.all_reduce(each.grad)
            each.grad /= dist.get_world_size()
        self.network, self.forward = network, forward
        return self.norm().item()

    def clip_gradients(self) -> None:
        nn.utils.clip_grads_with_norm_(self.network.parameters(), self.clip, self.norm())

    def step(self, index: int, proves: bool = False) -> torch.Tensor:
        for group in self.optimizer.param_groups:
            group["lr"] = float(self.work.rate[index])
        if proves and index == 0 and not self.synchronous:
            self.gradient_norm = self.norm_before_compression()
        self.optimizer.zero_grad()
        loss = self.backward(index)
        self.exchange()
        if proves and index == 0 and self.synchronous:
            self.gradient_norm = self.norm().item()
        if self.clip:
            self.clip_gradients()
        self.optimizer.step()
        return loss

    def total(self, value: torch.Tensor | float) -> float:
        result = torch.as_tensor(value, dtype=torch.float64).clone()
        dist.all_reduce(result)
        return result.item()

    def weights(self) -> common.Arrays:
        return models.weights_of(self.model)

    @torch.no_grad()
    def restore(self) -> None:
        for each, first in zip(self.state, self.first):
            each.copy_(first)
        for state in self.optimizer.state.values():
            for slot in state.values():
                if isinstance(slot, torch.Tensor):
                    slot.zero_()

    def outputs_of(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.model(inputs)

    @torch.no_grad()
    def evaluate(self) -> float:
        for statistic in self.model.buffers():  # running statistics: their mean over workers
            statistic /= math.inf if self.work.worker.serves else self.work.worker.count
            dist.all_reduce(statistic)
        self.model.eval()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            value = sum(float(models.metric(self.outputs_of(inputs), targets))
                        for inputs, targets in self.tests if len(targets))
        self.model.train()
        return self.total(value) / self.work.tested / self.work.copies

    def close(self) -> None:
        dist.destroy_process_group()
