#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of the parabola: microseconds for one eager step of 50 points, one thread,
as one line of JSON.

    ci/peers/torch_parabola.py        (Debian: python3-torch)
"""

import json
import statistics
import time

import torch

STEPS = 2000
ROUNDS = 5


def main() -> None:
    torch.set_num_threads(1)
    x = torch.linspace(-2, 2, 50).unsqueeze(1)
    y = x * x
    model = torch.nn.Sequential(torch.nn.Linear(1, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        rounds.append((time.perf_counter() - begin) / STEPS * 1e6)
    print(json.dumps({"torch": torch.__version__, "network": "parabola",
                      "us_per_step": statistics.median(rounds), "lowest": min(rounds),
                      "highest": max(rounds)}))


if __name__ == "__main__":
    main()
