# SPDX-License-Identifier: Apache-2.0
"""Trains airbench94 in PyTorch with its complete recipe; prints seconds and accuracy of the run.

    ci/contenders/environment.py [--device cuda] ci/peers/torch_airbench94_run.py --data-dir DIR
        [--device cpu|cuda] [--dtype f32|bf16] [--compile] [--epochs 9.9] [--seed 1]
        [--group 1024] [--threads 2]

The recipe is that of legacy/airbench94.py (K. Jordan, 2024), like in workloads/airbench94.cpp:
whitening filters from 5,000 images, dirac initialisation, frozen normalisation scale, triangular
rate, a bias of the first layer that is trained for 3 epochs, lookahead every 5 steps, alternating
flip, random crops of images padded by 2, six views in evaluation. Differences: bf16 is autocast
over f32 parameters (the source trains in f16 throughout), losses are means, and --group is the
number of examples that are normalised together (the source: the whole batch).

Before the clock starts, the data set is moved to the device, the network is compiled (--compile:
torch.compile of PyTorch 2), and three steps on the first batch are made and undone. The clock
covers whitening and training, like in the source; evaluation has its own. Prints one JSON line:
{"torch", "device", "dtype", "compiled", "seed", "epochs", "group", "train_s", "evaluate_s",
"accuracy", "loss"}, accuracy in percent, loss that of the last step.
"""

import argparse
import copy
import json
import math
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import torch_airbench94 as airbench94

BATCH = 1024
MEAN = (0.4914, 0.4822, 0.4465)
DEVIATION = (0.2470, 0.2435, 0.2616)
PAD = 2
FIRST_RATE, LAST_RATE, PEAK_AT = 0.2, 0.07, 0.23
WHITEN_BIAS_EPOCHS = 3
LOOKAHEAD_EVERY = 5


class Images:
    """Normalised images [N, 3, 32, 32], channels last, and labels [N], on the device."""

    def __init__(self, folder: Path, names: list[str], device: torch.device) -> None:
        records = torch.cat([torch.frombuffer(bytearray((folder / name).read_bytes()),
                                              dtype=torch.uint8) for name in names])
        records = records.view(-1, 1 + 3 * 32 * 32).to(device)
        self.labels = records[:, 0].long()
        pixels = records[:, 1:].view(-1, 3, 32, 32).float() / 255
        mean, deviation = (torch.tensor(v, device=device).view(1, 3, 1, 1)
                           for v in (MEAN, DEVIATION))
        self.images = ((pixels - mean) / deviation).contiguous(memory_format=torch.channels_last)


def cropped(padded: torch.Tensor, shifts: torch.Tensor) -> torch.Tensor:
    """The 32 x 32 part of each padded image that begins at its (row, column) in `shifts` [N, 2]."""
    result = torch.empty(len(padded), 3, 32, 32, device=padded.device).to(
        memory_format=torch.channels_last)
    for row in range(2 * PAD + 1):
        for column in range(2 * PAD + 1):
            chosen = (shifts[:, 0] == row) & (shifts[:, 1] == column)
            result[chosen] = padded[chosen, :, row:row + 32, column:column + 32]
    return result


class Epochs:
    """Batches of the training images, epoch by epoch; incomplete ones are dropped."""

    def __init__(self, train: Images) -> None:
        self.labels = train.labels
        flipped = torch.rand(len(train.labels), device=train.labels.device) < 0.5
        images = torch.where(flipped.view(-1, 1, 1, 1), train.images.flip(-1), train.images)
        self.padded = functional.pad(images, (PAD,) * 4, mode="reflect")
        self.epoch = 0

    def __iter__(self):
        while True:
            count, device = len(self.labels), self.labels.device
            shifts = torch.randint(0, 2 * PAD + 1, (count, 2), device=device)
            images = cropped(self.padded, shifts)
            if self.epoch % 2 == 1:
                images = images.flip(-1)
            order = torch.randperm(count, device=device)
            for begin in range(0, count - BATCH + 1, BATCH):
                chosen = order[begin:begin + BATCH]
                yield images[chosen], self.labels[chosen]
            self.epoch += 1


def whitening_filters(images: torch.Tensor) -> torch.Tensor:
    """[24, 3, 2, 2]: eigenvectors of the patches' second moments, and their negatives."""
    patches = functional.unfold(images, 2).transpose(1, 2).reshape(-1, 3 * 2 * 2).double()
    values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
    filters = (vectors / torch.sqrt(values + 5e-4)).T.view(-1, 3, 2, 2).float()
    return torch.cat((filters, -filters))


def prepare(model: nn.Module, images: torch.Tensor) -> None:
    model[0].weight.data.copy_(whitening_filters(images[:5000]))
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and module is not model[0]:
            nn.init.dirac_(module.weight.data[:module.in_channels])


def rate_at(step: int, total: int) -> float:
    peak = max(1, int(PEAK_AT * total))
    if step < peak:
        return FIRST_RATE + (1 - FIRST_RATE) * step / peak
    return 1 + (LAST_RATE - 1) * (step - peak) / (total - peak)


class Lookahead:
    """Keeps slow copies of weights and statistics; update() moves them towards the fast ones, and
    then copies them back."""

    def __init__(self, model: nn.Module) -> None:
        self.fast = [v for v in model.state_dict().values() if v.is_floating_point()]
        self.slow = [v.clone() for v in self.fast]

    @torch.no_grad()
    def update(self, decay: float) -> None:
        for slow, fast in zip(self.slow, self.fast):
            slow.lerp_(fast, 1 - decay)
            fast.copy_(slow)


class Trainer:
    def __init__(self, arguments: argparse.Namespace, train: Images) -> None:
        self.arguments = arguments
        self.train_images = train
        self.device = train.images.device
        self.steps_per_epoch = len(train.labels) // BATCH
        self.total = math.ceil(arguments.epochs * self.steps_per_epoch)
        self.model = airbench94.network(arguments.group).to(
            self.device, memory_format=torch.channels_last)
        self.forward = self.model
        if arguments.compile:
            self.forward = torch.compile(self.model, mode="max-autotune")

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=torch.bfloat16,
                              enabled=self.arguments.dtype == "bf16")

    def step(self, optimizer: torch.optim.Optimizer, images: torch.Tensor,
             labels: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with self.autocast():
            loss = airbench94.loss(self.forward(images).float(), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def warm_up(self) -> None:
        """Makes three steps and restores weights and statistics."""
        before = copy.deepcopy(self.model.state_dict())
        optimizer = airbench94.optimizer_of(self.model)
        for _ in range(3):
            self.step(optimizer, self.train_images.images[:BATCH], self.train_images.labels[:BATCH])
        self.model.load_state_dict(before)
        self.wait()

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def set_rates(self, optimizer: torch.optim.Optimizer, step: int) -> None:
        for group, peak in zip(optimizer.param_groups, self.peaks):
            group["lr"] = peak * rate_at(step, self.total)

    def train(self) -> float:
        """Trains; returns the loss of the last step."""
        prepare(self.model, self.train_images.images)
        optimizer = airbench94.optimizer_of(self.model)
        self.peaks = [group["lr"] for group in optimizer.param_groups]
        lookahead = Lookahead(self.model)
        loss = torch.tensor(math.nan)
        for step, (images, labels) in zip(range(self.total), Epochs(self.train_images)):
            if step == WHITEN_BIAS_EPOCHS * self.steps_per_epoch:
                optimizer.param_groups[0]["params"].remove(self.model[0].bias)
            self.set_rates(optimizer, step)
            loss = self.step(optimizer, images, labels)
            if (step + 1) % LOOKAHEAD_EVERY == 0:
                lookahead.update(0.95 ** 5 * ((step + 1) / self.total) ** 3)
        lookahead.update(1.0)
        self.wait()
        return loss.item()

    @torch.no_grad()
    def accuracy(self, test: Images) -> float:
        """Accuracy in percent, with six views of each image."""
        self.model.eval()
        right = 0
        for begin in range(0, len(test.labels), 2000):
            images = test.images[begin:begin + 2000]
            padded = functional.pad(images, (1,) * 4, mode="reflect")
            with self.autocast():
                logits = 0.5 * self.mirrored(images)
                for corner in (0, 2):
                    moved = padded[:, :, corner:corner + 32, corner:corner + 32]
                    logits = logits + 0.25 * self.mirrored(moved)
            right += (logits.argmax(1) == test.labels[begin:begin + 2000]).sum().item()
        return 100 * right / len(test.labels)

    def mirrored(self, images: torch.Tensor) -> torch.Tensor:
        return 0.5 * (self.model(images) + self.model(images.flip(-1)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--epochs", type=float, default=9.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--group", type=int, default=BATCH)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.compile and not hasattr(torch, "compile"):
        sys.exit(f"torch_airbench94_run: PyTorch {torch.__version__} has no torch.compile, which "
                 "came with 2.0: leave --compile out, or run with the python of a newer one")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_airbench94_run: PyTorch finds no GPU here, or was built without CUDA")
    return arguments


def main() -> None:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    device = torch.device(arguments.device)
    train = Images(arguments.data_dir, [f"data_batch_{i}.bin" for i in range(1, 6)], device)
    test = Images(arguments.data_dir, ["test_batch.bin"], device)
    trainer = Trainer(arguments, train)
    trainer.warm_up()
    begin = time.perf_counter()
    loss = trainer.train()
    trained = time.perf_counter()
    accuracy = trainer.accuracy(test)
    end = time.perf_counter()
    print(json.dumps({"torch": torch.__version__, "device": arguments.device,
                      "dtype": arguments.dtype, "compiled": arguments.compile,
                      "seed": arguments.seed, "epochs": arguments.epochs, "group": arguments.group,
                      "train_s": trained - begin, "evaluate_s": end - trained,
                      "accuracy": accuracy, "loss": loss}))


if __name__ == "__main__":
    main()
