# SPDX-License-Identifier: Apache-2.0
"""all_reduce by PyTorch: DistributedDataParallel over gloo, with its hooks that compress.

    ci/contenders/environment.py ci/contenders/torch_ddp.py [--compile]
        [--strategy all_reduce|all_reduce+bf16_compress|all_reduce+powersgd]
"""

import common

worker = common.start()

import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

import torch_training


class DataParallel(torch_training.Training):
    compression: powerSGD_hook.PowerSGDState | None = None

    def distribute(self) -> nn.Module:
        # Statistics are averaged before evaluations only, so they need no broadcast in each step.
        network = nn.parallel.DistributedDataParallel(self.model, forward_sync_buffers=False)
        if self.options.strategy.endswith("+bf16_compress"):
            network.register_comm_hook(dist.group.WORLD, default_hooks.bf16_compress_hook)
        if self.options.strategy.endswith("+powersgd"):
            self.compression = powerSGD_hook.PowerSGDState(
                dist.group.WORLD, matrix_approximation_rank=1, start_powerSGD_iter=2)
            network.register_comm_hook(self.compression, powerSGD_hook.powerSGD_hook)
        self.synchronous = "+" not in self.options.strategy
        return network

    def restore(self) -> None:
        super().restore()
        if self.compression is not None:
            self.compression.iter = 0
            self.compression.error_dict.clear()
            self.compression.p_memory_dict.clear()
            self.compression.q_memory_dict.clear()


if __name__ == "__main__":
    options = common.options(
        __doc__, ["all_reduce", "all_reduce+bf16_compress", "all_reduce+powersgd"])
    common.race(DataParallel(common.Work(worker, options.plant), options))
