# SPDX-License-Identifier: Apache-2.0
"""tensor_parallel by PyTorch: parallelize_module, by columns and then by rows, over gloo.

    ci/contenders/environment.py ci/contenders/torch_tensor_parallel.py [--compile]

Heads of attention and hidden units are dealt to the workers; norms, the embedding and the logits
are computed by each of them. There is no ParallelStyle for convolutions.
"""

import common

worker = common.start()

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, parallelize_module)

import models
import torch_training


class TensorParallel(torch_training.Training):
    fused = False  # there is none for DTensors

    def distribute(self) -> nn.Module:
        mesh = init_device_mesh("cpu", (self.work.worker.count,))
        if self.work.manifest["workload"] == "parabola":
            # Five units are dealt unevenly, so the shards keep their global shape.
            return parallelize_module(self.model, mesh, {
                "hidden": ColwiseParallel(use_local_output=False), "output": RowwiseParallel()})
        layers = [each for each in self.model.children() if isinstance(each, models.Layer)]
        if not layers:
            raise SystemExit("torch_tensor_parallel: PyTorch has no ParallelStyle for "
                             "convolutions; fix: --workload parabola, gpt_tiny, gpt_thin")
        for layer in layers:
            parallelize_module(layer, mesh, {
                "attention.qkv": ColwiseParallel(), "attention.proj": RowwiseParallel(),
                "mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel()})
        return self.model

    def gradients(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Those of which a worker has a shard, and those that it has whole."""
        all_of = [each.grad for each in self.network.parameters()]
        return ([each.to_local() for each in all_of if is_shard(each)],
                [each.to_local() if isinstance(each, DTensor) else each for each in all_of
                 if not is_shard(each)])

    def norm(self) -> torch.Tensor:
        shards, whole = self.gradients()
        square = nn.utils.get_total_norm(shards) ** 2
        dist.all_reduce(square)
        return (square + nn.utils.get_total_norm(whole) ** 2).sqrt()

    def clip_gradients(self) -> None:
        factor = (self.clip / (self.norm() + 1e-6)).clamp(max=1.0)
        for gradients in self.gradients():
            torch._foreach_mul_(gradients, factor)

    @torch.no_grad()
    def weights(self) -> common.Arrays:
        whole = models.build(self.work.manifest)
        for each, part in zip(whole.parameters(), self.model.parameters()):
            each.copy_(part.full_tensor() if isinstance(part, DTensor) else part)
        return models.weights_of(whole)


def is_shard(gradient: torch.Tensor) -> bool:
    return isinstance(gradient, DTensor) and gradient.placements[0].is_shard()


if __name__ == "__main__":
    options = common.options(__doc__, ["tensor_parallel"])
    common.race(TensorParallel(common.Work(worker, options.plant, whole=True), options))
