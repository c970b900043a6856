# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of the parabola: one step of 50 points, one thread.

    ci/contenders/environment.py ci/peers/torch_parabola.py [--compile]
"""

import torch
from torch import nn

import torch_speed


def main() -> None:
    parser = torch_speed.parser(__doc__, batch=50)
    parser.set_defaults(threads=1, steps=2000)
    arguments = torch_speed.parse(parser)
    x = torch.linspace(-2, 2, arguments.batch).unsqueeze(1)
    model = nn.Sequential(nn.Linear(1, 5), nn.Tanh(), nn.Linear(5, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, **torch_speed.FUSED)
    torch_speed.measure("parabola", arguments, model, optimizer, nn.functional.mse_loss,
                        (x, x * x))


if __name__ == "__main__":
    main()
