# SPDX-License-Identifier: Apache-2.0
"""pipeline by PyTorch: torch.distributed.pipelining over gloo.

    ci/contenders/environment.py ci/contenders/torch_pipeline.py [--compile] [--microbatches 4]
        [--schedule 1f1b|gpipe|interleaved|zero_bubble]

interleaved has two stages for each worker, zero_bubble is ZBV: two in the form of a V. A parameter
that stages of several workers use (a GPT's table) belongs to the first; they add its gradients.
"""

import common

worker = common.start()

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import pipelining

import models
import torch_training

SCHEDULES = {"1f1b": pipelining.Schedule1F1B, "gpipe": pipelining.ScheduleGPipe,
             "interleaved": pipelining.ScheduleInterleaved1F1B,
             "zero_bubble": pipelining.ScheduleZBVZeroBubble}
DOUBLE = ("interleaved", "zero_bubble")  # two stages for each worker


class Border(nn.Module):
    """Makes images that cross stages, and their gradients, contiguous, which gloo wants."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 4 and x.requires_grad:
            x.register_hook(lambda gradient: gradient.contiguous())
        return x.contiguous()


class Pipeline(torch_training.Training):
    def distribute(self) -> nn.Module:
        """Returns the worker's stages."""
        rank, count = self.work.worker.rank, self.work.worker.count
        chosen = self.options.schedule
        stages = count * (2 if chosen in DOUBLE else 1)
        for each in self.model.parameters():  # for gather(): filters are channels last
            each.data = each.data.contiguous()
        children = models.blocks(self.model)
        if len(children) < stages or self.work.batch % self.options.microbatches:
            raise SystemExit(f"torch_pipeline: {len(children)} blocks for {stages} stages, "
                             f"{self.work.batch} examples in {self.options.microbatches} "
                             "microbatches; fix: --schedule gpipe, --microbatches N that divides")
        blocks = [nn.Sequential(Border(), *(children[i] for i in each), Border())
                  for each in np.array_split(np.arange(len(children)), stages)]
        owners = [i % count for i in range(stages)]
        if chosen == "zero_bubble":
            owners = [min(i, stages - 1 - i) for i in range(stages)]
        mine = [i for i in range(stages) if owners[i] == rank]
        self.first, self.last = owners[0] == rank, owners[-1] == rank
        self.owned = list(zip(blocks, owners))
        ranks = [sorted({owner for block, owner in self.owned
                         if any(each is parameter for each in block.parameters())})
                 for parameter in self.model.parameters()]
        self.shared = [(parameter, dist.new_group(each)) for parameter, each
                       in zip(self.model.parameters(), ranks) if len(each) > 1]
        self.counted = [parameter for parameter, each in zip(self.model.parameters(), ranks)
                        if each[0] == rank]
        parts = [pipelining.PipelineStage(
            torch.compile(blocks[i]) if self.options.compile else blocks[i], i, stages,
            torch.device("cpu")) for i in mine]
        self.schedule = SCHEDULES[chosen](
            parts if chosen in DOUBLE else parts[0], self.options.microbatches,
            loss_fn=self.share_of_loss, scale_grads=False)
        return nn.ModuleList(blocks[i] for i in mine)

    def share_of_loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        # scale_grads=True would scale a parameter that two stages of a worker use twice.
        return models.loss(outputs, targets) / self.options.microbatches

    def backward(self, index: int) -> torch.Tensor:
        inputs, targets = (each[index] for each in self.steps)
        losses: list[torch.Tensor] = []
        with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
            self.schedule.step(*([inputs] if self.first else []),
                               **({"target": targets, "losses": losses} if self.last else {}))
        return torch.stack(losses).sum().detach() if self.last else torch.zeros(())

    def exchange(self) -> None:
        for parameter, group in self.shared:
            if parameter.grad is not None:
                dist.all_reduce(parameter.grad, group=group)

    def norm(self) -> torch.Tensor:
        square = nn.utils.get_total_norm([each.grad for each in self.counted]) ** 2
        dist.all_reduce(square)
        return square.sqrt()

    def gather(self) -> None:
        """Gives every worker the whole model."""
        with torch.no_grad():
            for block, owner in self.owned:
                for each in (*block.parameters(), *block.buffers()):
                    dist.broadcast(each, owner)

    def weights(self) -> common.Arrays:
        self.gather()
        return super().weights()

    def evaluate(self) -> float:
        """Deals out the test's batches, which the whole model computes."""
        self.gather()
        tests, self.tests = self.tests, self.tests[self.work.worker.rank::self.work.worker.count]
        metric = super().evaluate() * self.work.copies
        self.tests = tests
        return metric


if __name__ == "__main__":
    options = common.options(__doc__, ["pipeline"])
    common.race(Pipeline(common.Work(worker, options.plant, whole=True), options))
