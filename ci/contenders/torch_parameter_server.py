# SPDX-License-Identifier: Apache-2.0
"""parameter_server by PyTorch's send and recv over gloo, synchronous and asynchronous.

    ci/contenders/environment.py ci/contenders/torch_parameter_server.py [--compile]
        [--strategy parameter_server|parameter_server_async]

One server holds parameters and slots. Synchronous: it adds all gradients, updates, and returns the
parameters. Asynchronous: it does so for each gradient, in the order of arrival.
"""

import common

worker = common.start(servers=1)

from typing import Any

import torch
import torch.distributed as dist

import torch_training


class ParameterServer(torch_training.Training):
    def __init__(self, work: common.Work, options: Any) -> None:
        self.synchronous = options.strategy == "parameter_server"
        super().__init__(work, options)
        self.server = work.worker.count
        self.applied = 0.0  # the norm of the first gradient, in the server
        self.parameters = list(self.model.parameters())
        self.weight = work.share  # gradients are added
        for each in self.parameters:
            each.grad = torch.zeros_like(each)

    def flat(self, tensors: list[torch.Tensor]) -> torch.Tensor:
        return torch.cat([each.detach().flatten() for each in tensors])

    @torch.no_grad()
    def fill(self, tensors: list[torch.Tensor], values: torch.Tensor) -> None:
        parts = values.split([each.numel() for each in tensors])
        torch._foreach_copy_(tensors, [part.view_as(each) for part, each in zip(parts, tensors)])

    def step(self, index: int, proves: bool = False) -> torch.Tensor:
        if proves and index == 0 and not self.synchronous:
            self.gradient_norm = self.norm_of_sum()
        loss = self.serve(index) if self.work.worker.serves else self.ask(index)
        if proves and index == 0 and self.synchronous:
            self.gradient_norm = self.total(self.applied)
        return loss

    def ask(self, index: int) -> torch.Tensor:
        self.model.zero_grad(set_to_none=False)
        loss = self.backward(index)
        dist.send(self.flat([each.grad for each in self.parameters]), self.server)
        values = self.flat(self.parameters)
        dist.recv(values, self.server)
        self.fill(self.parameters, values)
        return loss

    def serve(self, index: int) -> torch.Tensor:
        arrived = self.flat(self.parameters)
        total = torch.zeros_like(arrived)
        for _ in range(self.work.worker.count):
            sender = dist.recv(arrived)
            total += arrived
            if not self.synchronous:
                self.update(arrived, index)
                dist.send(self.flat(self.parameters), sender)
        if self.synchronous:
            self.update(total, index)
            for rank in range(self.work.worker.count):
                dist.send(self.flat(self.parameters), rank)
        return torch.zeros(())

    def update(self, gradient: torch.Tensor, index: int) -> None:
        self.fill([each.grad for each in self.parameters], gradient)
        if index == 0:
            self.applied = self.norm().item()
        for group in self.optimizer.param_groups:
            group["lr"] = float(self.work.rate[index])
        if self.clip:
            self.clip_gradients()
        self.optimizer.step()

    def norm_of_sum(self) -> float:
        if not self.work.worker.serves:
            self.model.zero_grad(set_to_none=False)
            self.backward(0)
        for each in self.parameters:
            dist.all_reduce(each.grad)
        return self.norm().item()


if __name__ == "__main__":
    options = common.options(__doc__, ["parameter_server", "parameter_server_async"])
    common.race(ParameterServer(common.Work(worker, options.plant), options))
