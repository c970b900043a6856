# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's operations for functional_models.py, and the parts of training that its strategies
share."""

from typing import Any

import tensorflow as tf
import tensorflow.experimental.numpy as tnp

import common
import functional_models

tnp.experimental_enable_numpy_behavior(prefer_float32=True)


class Nn:
    softmax = staticmethod(tf.nn.softmax)

    @staticmethod
    def conv(x, weight):
        return tf.nn.conv2d(x, weight, 1, "SAME")

    @staticmethod
    def max_pool(x, side):
        return tf.nn.max_pool2d(x, side, side, "VALID")

    @staticmethod
    def gelu(x):
        return tf.nn.gelu(x, approximate=False)

    @staticmethod
    def cross_entropy(outputs, targets):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, outputs)


class Training(common.Contender):
    framework = "tensorflow"

    def __init__(self, work: common.Work, strategy: tf.distribute.Strategy,
                 **statistics: Any) -> None:
        """`statistics`: how the variables of running statistics are shared."""
        self.work, self.strategy, manifest = work, strategy, work.manifest
        self.versions, self.notes = {"tensorflow": tf.__version__}, {"mode": "tf.function"}
        self.optimizer = manifest["optimizer"]
        self.model = functional_models.Model(manifest, functional_models.Framework(tnp, Nn))
        self.names = [each["name"] for each in manifest["parameters"]]
        self.decays = [float(each["weight_decay"]) for each in manifest["parameters"]]
        slots = range(functional_models.slots_of(self.optimizer))
        with strategy.scope():
            self.variables = [tf.Variable(work.weights[name]) for name in self.names]
            self.slots = [[tf.Variable(tf.zeros(each.shape), trainable=False) for _ in slots]
                          for each in self.variables]
            self.statistics = {
                name: tf.Variable(tf.fill(shape, float(name.endswith("variance"))),
                                  trainable=False, **statistics)
                for name, shape in functional_models.statistics_of(manifest).items()}

    def values(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        return ({name: tf.identity(each) for name, each in zip(self.names, self.variables)},
                {name: tf.identity(each) for name, each in self.statistics.items()})

    def gradients(self, inputs: tf.Tensor, targets: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The worker's part of the loss, and its gradients; updates the running statistics."""
        with tf.GradientTape() as tape:
            outputs, statistics = self.model.forward(*self.values(), inputs, True)
            loss = tf.reduce_sum(self.model.losses(outputs, targets)) / self.work.batch
        for name, value in statistics.items():
            self.statistics[name].assign(value)
        return loss, [tf.convert_to_tensor(each) for each in tape.gradient(loss, self.variables)]

    def updated(self, index: tf.Tensor, rate: tf.Tensor, decay: float, w: tf.Tensor, g: tf.Tensor,
                slots: list[tf.Tensor]) -> list[tf.Tensor]:
        """The new values of a weight and its slots."""
        value, new = functional_models.updated(
            self.optimizer, decay, rate, tf.cast(index + 1, tf.float32), w, g, slots, tnp)
        return [value, *new]

    def metric_of(self, inputs: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
        return self.model.metric(self.model.forward(*self.values(), inputs, False)[0], targets)

    def weights(self) -> common.Arrays:
        return {name: each.numpy() for name, each in zip(self.names, self.variables)}

    def restore(self) -> None:
        for name, variable, slots in zip(self.names, self.variables, self.slots):
            variable.assign(self.work.weights[name])
            for slot in slots:
                slot.assign(tf.zeros(slot.shape))
        for name, statistic in self.statistics.items():
            statistic.assign(tf.fill(statistic.shape, float(name.endswith("variance"))))
