# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's tf.distribute: the strategies that gave the terms, in a custom loop, f32.

    ci/contenders/environment.py ci/contenders/tensorflow_strategies.py --strategy
        all_reduce+reduce_to_one       MirroredStrategy with ReductionToOneDevice
        all_reduce+hierarchical_copy   MirroredStrategy with HierarchicalCopyAllReduce
        central_storage                CentralStorageStrategy
        all_reduce                     MultiWorkerMirroredStrategy, RING, a process for each worker

The first three have one process with a logical CPU for each worker. tf.function compiles the step.
"""

import json
import os

import common

IN_PROCESS = ["all_reduce+reduce_to_one", "all_reduce+hierarchical_copy", "central_storage"]
options = common.options(__doc__, ["all_reduce", *IN_PROCESS])
worker = common.start(processes=1 if options.strategy in IN_PROCESS else None)

import tensorflow as tf

import tensorflow_training


def strategy_of(name: str, worker: common.Worker, workers: int) -> tf.distribute.Strategy:
    tf.config.threading.set_intra_op_parallelism_threads(worker.threads)
    tf.config.threading.set_inter_op_parallelism_threads(workers)
    if name == "all_reduce":
        os.environ["TF_CONFIG"] = json.dumps({
            "cluster": {"worker": [f"127.0.0.1:{port}" for port in os.environ["PORTS"].split(",")]},
            "task": {"type": "worker", "index": worker.rank}})
        ring = tf.distribute.experimental.CommunicationImplementation.RING
        return tf.distribute.MultiWorkerMirroredStrategy(
            communication_options=tf.distribute.experimental.CommunicationOptions(
                implementation=ring))
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(workers)])
    devices = [f"/cpu:{index}" for index in range(workers)]
    if name == "central_storage":
        return tf.distribute.experimental.CentralStorageStrategy(devices, "/cpu:0")
    return tf.distribute.MirroredStrategy(
        devices, {"all_reduce+reduce_to_one": tf.distribute.ReductionToOneDevice(),
                  "all_reduce+hierarchical_copy":
                      tf.distribute.HierarchicalCopyAllReduce()}[name])


class Training(tensorflow_training.Training):
    def __init__(self, work: common.Work, strategy: tf.distribute.Strategy) -> None:
        super().__init__(work, strategy, synchronization=tf.VariableSynchronization.ON_READ,
                         aggregation=tf.VariableAggregation.MEAN)
        with strategy.scope():
            self.scale = tf.Variable(1.0, trainable=False)  # by which gradients are clipped
            self.norm = tf.Variable(0.0, trainable=False)
        self.data = [self.dealt(array, 1) for array in (work.inputs, work.targets)]
        self.tests = [[self.dealt(array, 0) for array in pair] for pair in work.tests]
        self.train = tf.function(self.train_step)
        self.test = tf.function(lambda x, t: strategy.reduce(
            "SUM", strategy.run(self.metric_of, (x, t)), None), reduce_retracing=True)

    def dealt(self, array: common.np.ndarray, axis: int) -> tf.distribute.DistributedValues:
        """The array in parts, one for each replica of this process."""
        count = self.strategy.num_replicas_in_sync if self.work.worker.count == 1 else 1
        if axis == 0:
            array = array[None]
        group = self.work.group if axis == 1 else 1
        parts = [common.share_of(array, common.Worker(rank, count, 1), group)
                 for rank in range(count)]
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(
                parts[context.replica_id_in_sync_group % count][0 if axis == 0 else slice(None)]))

    def train_step(self, proves: bool, index: tf.Tensor, rate: tf.Tensor, inputs, targets):
        """Returns the parts of the loss by replica; `proves`: measures the gradient's norm."""
        return self.strategy.run(self.replica_step, (proves, index, rate, inputs, targets))

    def replica_step(self, proves: bool, index: tf.Tensor, rate: tf.Tensor, inputs, targets):
        loss, gradients = self.gradients(inputs[index], targets[index])
        tf.distribute.get_replica_context().merge_call(
            self.update, [gradients, rate, index], {"proves": proves})
        return loss

    def update(self, strategy: tf.distribute.Strategy, gradients, rate, index, proves) -> None:
        """Adds the gradients of all replicas by the strategy's own means, and updates."""
        extended, clip = strategy.extended, self.optimizer["gradient_clip"]
        sums = extended.batch_reduce_to("SUM", list(zip(gradients, self.variables)))
        rate, index = (strategy.experimental_local_results(each)[0] for each in (rate, index))
        if clip or proves:
            extended.update(self.norm, lambda v, *each: v.assign(tf.linalg.global_norm(each)),
                            sums)

        def scale(variable, norm):
            return variable.assign(tf.minimum(1.0, clip / (norm + 1e-6)))

        if clip:
            extended.update(self.scale, scale, [self.norm])
        for variable, total, slots, decay in zip(self.variables, sums, self.slots, self.decays):
            def apply(w, g, scale, *slots, decay=decay):
                new = self.updated(index, rate, decay, w, g * scale if clip else g, slots)
                return [each.assign(value) for each, value in zip((w, *slots), new)]

            extended.update(variable, apply, [total, self.scale, *slots])

    def step(self, index: int, proves: bool = False) -> tf.distribute.DistributedValues:
        self.loss = self.train(proves and index == 0, tf.constant(index),
                               tf.constant(self.work.rate[index]), *self.data)
        if proves and index == 0:
            self.gradient_norm = float(self.norm.numpy())
        return self.loss

    def total(self, value: tf.distribute.DistributedValues | float) -> float:
        is_number = isinstance(value, (int, float))
        return float(value if is_number else self.strategy.reduce("SUM", value, None))

    def evaluate(self) -> float:
        return sum(float(self.test(*pair)) for pair in self.tests) / self.work.tested

    def wait(self) -> None:
        for each in self.strategy.experimental_local_results(self.loss):
            each.numpy()


if __name__ == "__main__":
    count = int(os.environ["REGATTA_WORKERS"])
    strategy = strategy_of(options.strategy, worker, count)
    common.race(Training(common.Work(worker, options.plant), strategy))
