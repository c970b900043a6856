# SPDX-License-Identifier: Apache-2.0
"""local_sgd by PyTorch's PeriodicModelAverager, diloco by torchft, both over gloo.

    ci/contenders/environment.py ci/contenders/torch_periodic.py [--compile] [--sync-every 4]
        [--strategy local_sgd|diloco]

Workers train alone, and their mean is evaluated. torchft asks its lighthouse, in worker 0, for a
quorum before each exchange, which is part of its time.
"""

import common

worker = common.start()

import os
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.model_averaging import averagers

import torch_training


class Periodic(torch_training.Training):
    synchronous = False

    def average(self) -> None:
        """The mean of parameters over workers."""
        for each in self.model.parameters():
            dist.all_reduce(each)
            each /= dist.get_world_size()

    @torch.no_grad()
    def evaluate(self) -> float:
        own = [each.clone() for each in self.state]
        self.average()
        metric = super().evaluate()
        for each, value in zip(self.state, own):
            each.copy_(value)
        return metric


class LocalSgd(Periodic):
    def __init__(self, work: common.Work, options: Any) -> None:
        super().__init__(work, options)
        self.restore()

    def restore(self) -> None:
        super().restore()
        self.averager = averagers.PeriodicModelAverager(period=self.options.sync_every)
        self.averager.step = 1  # it would average behind the first step, too

    def step(self, index: int, proves: bool = False) -> torch.Tensor:
        loss = super().step(index, proves)
        self.averager.average_parameters(self.model.parameters())
        return loss


class DiLoCo(Periodic):
    def __init__(self, work: common.Work, options: Any) -> None:
        os.environ["RUST_LOG"] = "error"  # else each exchange prints lines
        from torchft import Manager, ProcessGroupGloo
        from torchft.coordination import LighthouseServer
        from torchft.local_sgd import DiLoCo as Synchronizer

        super().__init__(work, options)
        worker, limit = work.worker, timedelta(seconds=60)
        address = [None]
        if worker.rank == 0:
            self.lighthouse = LighthouseServer(bind="127.0.0.1:0", min_replicas=worker.count)
            address[0] = self.lighthouse.address()
        dist.broadcast_object_list(address)
        self.store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        self.manager = Manager(
            pg=ProcessGroupGloo(timeout=limit), min_replica_size=worker.count,
            load_state_dict=self.model.load_state_dict, state_dict=self.model.state_dict,
            use_async_quorum=False, init_sync=False, replica_id=f"worker{worker.rank}",
            store_addr="127.0.0.1", store_port=self.store.port, rank=0, world_size=1,
            lighthouse_addr=address[0], hostname="127.0.0.1", timeout=limit)
        self.outer = torch.optim.SGD(self.model.parameters(), lr=0.7, momentum=0.9, nesterov=True)
        self.diloco = Synchronizer(self.manager, [self.model], self.optimizer, self.outer,
                                   sync_every=self.options.sync_every, pin_memory=False)
        self.diloco.__enter__()

    def restore(self) -> None:
        super().restore()
        self.outer.state.clear()
        self.diloco._save_parameters()  # a manager has one DiLoCo, which begins anew here
        self.diloco._local_step = 0


if __name__ == "__main__":
    options = common.options(__doc__, ["local_sgd", "diloco"])
    contender = {"local_sgd": LocalSgd, "diloco": DiLoCo}[options.strategy]
    common.race(contender(common.Work(worker, options.plant), options))
