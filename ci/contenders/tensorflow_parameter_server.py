# SPDX-License-Identifier: Apache-2.0
"""parameter_server_async by TensorFlow: ParameterServerStrategy and ClusterCoordinator, f32.

    ci/contenders/environment.py ci/contenders/tensorflow_parameter_server.py

One server, the workers, and the coordinator, which schedules a step for each share of each batch
and evaluates. Since TensorFlow 2 the strategy is asynchronous only. Updates run on the server.
"""

import os

import common

options = common.options(__doc__, ["parameter_server_async"])
worker = common.start(servers=2)  # processes: the coordinator, the workers, the server

import tensorflow as tf

import tensorflow_training


def cluster_of(worker: common.Worker) -> tf.train.ClusterSpec:
    hosts = [f"127.0.0.1:{port}" for port in os.environ["PORTS"].split(",")]
    return tf.train.ClusterSpec({"chief": hosts[:1], "worker": hosts[1:-1], "ps": hosts[-1:]})


def serve(worker: common.Worker) -> None:
    job = "worker" if worker.rank <= worker.count else "ps"
    config = tf.compat.v1.ConfigProto(  # with fewer threads between ops it hangs
        inter_op_parallelism_threads=worker.count + 2, intra_op_parallelism_threads=worker.threads)
    tf.distribute.Server(cluster_of(worker), job, worker.rank - 1 if job == "worker" else 0,
                         config=config).join()


class Coordinator(tensorflow_training.Training):
    synchronous = False

    def __init__(self, work: common.Work, shares: list[common.Work]) -> None:
        super().__init__(work, tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.SimpleClusterResolver(
                cluster_of(worker), rpc_layer="grpc", task_type="chief", task_id=0)))
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)

        def deal(context: tf.distribute.InputContext) -> tf.data.Dataset:
            share = shares[context.input_pipeline_id]
            steps = tf.data.Dataset.range(work.steps)
            inputs, targets = tf.constant(share.inputs), tf.constant(share.targets)
            rate = tf.constant(work.rate)
            return steps.map(lambda i: (i, rate[i], inputs[i], targets[i])).repeat()

        self.dataset = self.coordinator.create_per_worker_dataset(
            lambda: self.strategy.distribute_datasets_from_function(deal))
        self.iterator = iter(self.dataset)
        self.train = tf.function(self.worker_step)
        self.test = tf.function(self.metric_of, reduce_retracing=True)

    def worker_step(self, iterator) -> None:
        def replica_step(index, rate, inputs, targets) -> None:
            _, gradients = self.gradients(inputs, targets)
            if clip := self.optimizer["gradient_clip"]:
                gradients, _ = tf.clip_by_global_norm(gradients, clip)
            for w, g, slots, decay in zip(self.variables, gradients, self.slots, self.decays):
                with tf.device(w.device):
                    old = [tf.identity(each) for each in (w, *slots)]
                    new = self.updated(index, rate, decay, old[0], g, old[1:])
                    for each, was, value in zip((w, *slots), old, new):
                        each.assign_add(value - was)  # assigning would lose a worker's update

        self.strategy.run(replica_step, next(iterator))

    def step(self, index: int, proves: bool = False) -> float:
        if proves and index == 0:
            _, gradients = self.gradients(self.work.inputs[0], self.work.targets[0])
            self.gradient_norm = float(tf.linalg.global_norm(gradients))
        for _ in range(worker.count):
            self.coordinator.schedule(self.train, (self.iterator,))
        return 0.0

    def total(self, value: float) -> float:
        return value

    def restore(self) -> None:
        self.wait()
        super().restore()
        self.iterator = iter(self.dataset)

    def evaluate(self) -> float:
        self.wait()
        return sum(float(self.test(*pair)) for pair in self.work.tests) / self.work.tested

    def wait(self) -> None:
        self.coordinator.join()


if __name__ == "__main__":
    if worker.rank > 0:
        serve(worker)
    whole = common.Work(common.Worker(0, 1, worker.threads), options.plant)
    parts = [common.Work(worker._replace(rank=rank)) for rank in range(worker.count)]
    common.race(Coordinator(whole, parts))
