# SPDX-License-Identifier: Apache-2.0
"""all_reduce by JAX: jit over a mesh of processes (gloo), the batch sharded, parameters replicated.
The sum of gradients is one psum of a vector: XLA adds each tensor by a collective of its own, which
took four times as long on gpt_tiny. XLA sizes its thread pool by the worker's cores.

    ci/contenders/environment.py ci/contenders/jax_all_reduce.py
"""

import os

import common

options = common.options(__doc__, ["all_reduce", "single"])
worker = common.start()

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import functional_models


class Nn:
    softmax = staticmethod(jax.nn.softmax)

    @staticmethod
    def conv(x, weight):
        return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME",
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))

    @staticmethod
    def max_pool(x, side):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, side, side, 1),
                                     (1, side, side, 1), "VALID")

    @staticmethod
    def gelu(x):
        return jax.nn.gelu(x, approximate=False)

    @staticmethod
    def cross_entropy(outputs, targets):
        return -jnp.take_along_axis(jax.nn.log_softmax(outputs), targets[..., None], -1)[..., 0]


class Training(common.Contender):
    framework = "jax"

    def __init__(self, work: common.Work) -> None:
        worker, manifest = work.worker, work.manifest
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{os.environ['MASTER_PORT']}", worker.count,
                                   worker.rank)
        self.work, self.optimizer = work, manifest["optimizer"]
        self.versions, self.notes = {"jax": jax.__version__}, {"mode": "jit"}
        self.model = functional_models.Model(manifest, functional_models.Framework(jnp, Nn))
        self.decays = {each["name"]: float(each["weight_decay"]) for each in manifest["parameters"]}
        mesh = self.mesh = Mesh(np.array(jax.devices()), ("batch",))
        self.whole = NamedSharding(mesh, PartitionSpec())
        self.dealt = NamedSharding(mesh, PartitionSpec(None, "batch"))
        self.data = [self.sharded(each, work.batch) for each in (work.inputs, work.targets)]
        self.tests = [[self.sharded(each[None], min(common.TESTED, work.tested - i * common.TESTED))
                       for each in pair] for i, pair in enumerate(work.tests)]
        self.train = jax.jit(self.train_step, static_argnums=0, donate_argnums=1,
                             out_shardings=self.whole)
        self.test = jax.jit(self.metric_of, out_shardings=self.whole)
        self.restore()

    def sharded(self, array: np.ndarray, examples: int) -> jax.Array:
        """The global array, whose second dimension is dealt to the workers."""
        return jax.make_array_from_process_local_data(
            self.dealt, array, (array.shape[0], examples, *array.shape[2:]))

    def replicated(self, values: common.Arrays) -> dict[str, jax.Array]:
        return {name: jax.make_array_from_process_local_data(self.whole, np.array(value))
                for name, value in values.items()}

    def restore(self) -> None:
        weights = self.work.weights
        zeros = {name: np.zeros_like(value) for name, value in weights.items()}
        statistics = functional_models.statistics_of(self.work.manifest)
        self.state = (
            self.replicated(weights),
            [self.replicated(zeros) for _ in range(functional_models.slots_of(self.optimizer))],
            self.replicated({name: np.full(shape, float(name.endswith("variance")), np.float32)
                             for name, shape in statistics.items()}))

    def train_step(self, proves: bool, state, index, rate, inputs, targets):
        """Returns the new state, the loss and, if it proves or clips, the gradient's norm."""
        weights, slots, statistics = state

        def summed(weights, statistics, inputs, targets):
            def loss_of(weights):
                outputs, new = self.model.forward(weights, statistics, inputs[index], True)
                losses = self.model.losses(outputs, targets[index])
                return jnp.sum(losses) / self.work.batch, new

            (loss, new), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
            new = {name: each / self.work.worker.count for name, each in new.items()}
            flat, tensors = ravel_pytree((loss, new, gradients))
            return tensors(jax.lax.psum(flat, "batch"))

        dealt = PartitionSpec(None, "batch")
        loss, statistics, gradients = jax.shard_map(
            summed, mesh=self.mesh, in_specs=(PartitionSpec(), PartitionSpec(), dealt, dealt),
            out_specs=PartitionSpec(), check_vma=False)(weights, statistics, inputs, targets)
        clip, norm = self.optimizer["gradient_clip"], 0.0
        if clip or proves:
            norm = jnp.sqrt(sum(jnp.sum(each ** 2) for each in gradients.values()))
        if clip:
            scale = jnp.minimum(1.0, clip / (norm + 1e-6))
            gradients = {name: each * scale for name, each in gradients.items()}
        new = {name: functional_models.updated(
            self.optimizer, self.decays[name], rate, jnp.float32(index + 1), weights[name],
            gradients[name], [each[name] for each in slots], jnp) for name in weights}
        return (({name: each[0] for name, each in new.items()},
                 [{name: each[1][i] for name, each in new.items()} for i in range(len(slots))],
                 statistics), loss, norm)

    def metric_of(self, weights, statistics, inputs, targets):
        outputs, _ = self.model.forward(weights, statistics, inputs[0], False)
        return self.model.metric(outputs, targets[0])

    def step(self, index: int, proves: bool = False) -> jax.Array:
        self.state, self.loss, norm = self.train(
            proves and index == 0, self.state, np.int32(index), self.work.rate[index], *self.data)
        if proves and index == 0:
            self.gradient_norm = float(norm)
        return self.loss

    total = float  # psum has added it

    def weights(self) -> common.Arrays:
        return {name: np.asarray(value) for name, value in self.state[0].items()}

    def evaluate(self) -> float:
        weights, _, statistics = self.state
        return sum(float(self.test(weights, statistics, *pair))
                   for pair in self.tests) / self.work.tested

    def wait(self) -> None:
        jax.block_until_ready(self.state)

    def close(self) -> None:
        jax.distributed.shutdown()


if __name__ == "__main__":
    common.race(Training(common.Work(worker, options.plant)))
