# SPDX-License-Identifier: Apache-2.0
"""What a step's transfers take at least, when each worker and each server has a host of its own.

For M bytes of parameters, n workers, k servers, hosts that send at most B bytes a second and links
of delay d:
  all_reduce               2 (n - 1) / n M / B + 2 (n - 1) d, by a ring; MPI chooses by itself
  parameter_server         (n / k + 1) M / B + 2 d: all pull, then all push
  parameter_server_async   max(n / k, 1 / k + 1) M / B + 2 d: what a server sends to all in the
                           time of a step, or a worker's own pull and push; workers overlap
A step takes at most that and the step without a limit together, if a worker computes nothing while
it transfers. `ci/host_costs` measures such steps beside these formulas.
"""

from collections.abc import Callable
from typing import NamedTuple


class Transfers(NamedTuple):
    """Of a step: the bytes that pass its narrowest place by those of the parameters, and delays."""

    share: float
    delays: int

    def seconds(self, parameter_bytes: float, bytes_per_s: float, delay_s: float) -> float:
        return self.share * parameter_bytes / bytes_per_s + self.delays * delay_s


def _ring(n: int, _: int) -> Transfers:
    return Transfers(2 * (n - 1) / n, 2 * (n - 1))


def _servers_in_step(n: int, k: int) -> Transfers:
    return Transfers(n / k + 1, 2)


def _servers_overlapped(n: int, k: int) -> Transfers:
    return Transfers(max(n / k, 1 / k + 1), 2)


# By strategy, from workers and servers.
TRANSFERS: dict[str, Callable[[int, int], Transfers]] = {
    "all_reduce": _ring, "parameter_server": _servers_in_step,
    "parameter_server_async": _servers_overlapped}


def parameter_bytes(strategy: str, sent: float, workers: int) -> float:
    """From the bytes that all places of a measured step send; `strategy` is one of TRANSFERS."""
    return sent / (2 * (workers - 1) if strategy == "all_reduce" else 2 * workers)
