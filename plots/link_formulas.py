# SPDX-License-Identifier: Apache-2.0
"""What a step's transfers take at least, when each worker and each server has a host of its own.

For M bytes of parameters, n workers, k servers, hosts that send at most B bytes a second and links
of delay d:
  ring                 2 (n - 1) / n M / B + 2 (n - 1) d; MPI chooses by itself
  servers in a step    (n / k + 1) M / B + 2 d: all pull, then all push
  servers, overlapped  max(n / k, 1 / k + 1) M / B + 2 d: what a server sends to all in the time of
                       a step, or a worker's own pull and push, where workers wait for none
  a home               n M / B + 2 d: one worker sends to all others, then all send to it. With two
                       workers the input that it sends beside counts into M, by halves
  stages               A / B + 2 (n - 1) d, for A bytes across all cuts, there and back
A step takes at most that and the step without a limit together, if a worker computes nothing while
it transfers. `ci/host_costs` measures such steps beside these formulas.
"""

from collections.abc import Callable
from typing import NamedTuple

from strategies import Strategy


class Transfers(NamedTuple):
    """Of a step: the bytes that pass its narrowest place and those that all places send, by those
    of the parameters, and delays."""

    share: float
    sent: float
    delays: int

    def seconds(self, parameter_bytes: float, bytes_per_s: float, delay_s: float) -> float:
        return self.share * parameter_bytes / bytes_per_s + self.delays * delay_s


Formula = Callable[[int, int], Transfers]  # from workers and servers


def ring(n: int, _: int) -> Transfers:
    return Transfers(2 * (n - 1) / n, 2 * (n - 1), 2 * (n - 1))


def servers_in_step(n: int, k: int) -> Transfers:
    return Transfers(n / k + 1, 2 * n, 2)


def servers_overlapped(n: int, k: int) -> Transfers:
    return Transfers(max(n / k, 1 / k + 1), 2 * n, 2)


def home(n: int, _: int) -> Transfers:
    return Transfers(n, 2 * (n - 1), 2)


def stages(n: int, _: int) -> Transfers:
    """In terms of what crosses the cuts, instead of the parameters."""
    return Transfers(1, 1, 2 * (n - 1))


def formula_of(strategy: Strategy) -> Formula | None:
    """None where workers do not exchange, cannot be on several hosts, or send other values than
    parameters and gradients."""
    return {("synchronous", "workers"): ring,
            ("synchronous", "workers and servers"): servers_in_step,
            ("asynchronous", "workers and servers"): servers_overlapped,
            }.get((strategy.exchange, strategy.processes))
