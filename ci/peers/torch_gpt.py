# SPDX-License-Identifier: Apache-2.0
"""PyTorch's side of gpt_thin: sequences and tokens per second in training on the CPU.

    ci/contenders/environment.py ci/peers/torch_gpt.py [--dtype bf16] [--compile]
        [--layers 4] [--width 128] [--heads 4] [--context 64] [--vocabulary 256] [--batch 12]

The network and loss of ci/contenders/models.py, which compute the same as workloads/gpt.cpp; AdamW
with decay of all but the gains, by PyTorch's fused kernel; gradients clipped at norm 1. Tokens are
random; no input pipeline is timed.
"""

import sys
from pathlib import Path

import torch
from torch import nn

import torch_speed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contenders"))
import models

SIZES = {"layers": 4, "width": 128, "heads": 4, "context": 64, "vocabulary": 256}  # gpt_thin
PEAK_RATE = 3e-3
CLIP = 1.0


def adamw(network: nn.Module) -> torch.optim.AdamW:
    matrices = [each for each in network.parameters() if each.dim() > 1]
    gains = [each for each in network.parameters() if each.dim() == 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                              {"params": gains, "weight_decay": 0.0}],
                             lr=PEAK_RATE, betas=(0.9, 0.99), eps=1e-8, **torch_speed.FUSED)


def main() -> None:
    parser = torch_speed.parser(__doc__, batch=12)
    for name, value in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = torch_speed.parse(parser)
    network = models.build({"workload": "gpt_thin", "parameters": [],
                            "options": {**vars(arguments), "block": "gpt"}})
    for matrix in network.parameters():
        if matrix.dim() > 1:
            nn.init.normal_(matrix, std=0.02)
    tokens = torch.randint(arguments.vocabulary, (arguments.batch, arguments.context + 1))
    torch_speed.measure(f"gpt width {arguments.width}", arguments, network, adamw(network),
                        models.loss, (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()),
                        clip=CLIP, tokens=arguments.context)


if __name__ == "__main__":
    main()
