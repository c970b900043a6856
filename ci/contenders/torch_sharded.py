# SPDX-License-Identifier: Apache-2.0
"""sharded by PyTorch: fully_shard (FSDP 2) over gloo, block by block.

    ci/contenders/environment.py ci/contenders/torch_sharded.py [--compile]

On gloo, fully_shard's mean of gradients is their sum (pytorch#162338), so it is asked for the sum,
divided by itself. gloo's reduce_scatter is an all-reduce for each worker (pytorch#149869), which
is slow and no fault of fully_shard.
"""

import common

worker = common.start()

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import models
import torch_training


class Sharded(torch_training.Training):
    fused = False  # there is none for DTensors

    def distribute(self) -> nn.Module:
        mesh = init_device_mesh("cpu", (self.work.worker.count,))
        for each in self.model.parameters():  # filters are channels last, which it does not support
            each.data = each.data.contiguous()
        for block in self.model.children():
            if isinstance(block, (models.Layer, models.Pooled)):
                fully_shard(block, mesh=mesh)
        network = fully_shard(self.model, mesh=mesh)
        network.set_force_sum_reduction_for_comms(True)
        return network

    @torch.no_grad()
    def weights(self) -> common.Arrays:
        whole = models.build(self.work.manifest)
        for each, shard in zip(whole.parameters(), self.model.parameters()):
            each.copy_(shard.full_tensor())
        return models.weights_of(whole)

    def evaluate(self) -> float:
        metric = super().evaluate()
        self.network.reshard()  # else restore() does not reach the whole parameters of the root
        return metric


if __name__ == "__main__":
    options = common.options(__doc__, ["sharded"])
    common.race(Sharded(common.Work(worker, options.plant), options))
