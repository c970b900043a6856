# SPDX-License-Identifier: Apache-2.0
"""Lower bounds for the time of a step's transfers if each worker and server has its own host.

For M bytes of parameters, n workers, k servers, hosts that send at most B bytes a second and links
of delay d:
  ring                 2 (n - 1) / n M / B + 2 (n - 1) d; MPI chooses its own algorithm
  servers in a step    (n / k + 1) M / B + 2 d: all pull, then all push
  servers, overlapped  max(n / k, 1 / k + 1) M / B + 2 d, for workers that wait for no other: a
                       server's sends to all workers, or a worker's own pull and push
  a home               n M / B + 2 d: one worker sends to all others, then all send to it. With two
                       workers, half of the input that it also sends is added to M
  stages               A / B + 2 (n - 1) d, for A bytes across all cuts, forward and back
If a worker does not compute while it transfers, a step takes at most the sum of that bound and the
step's time on unlimited links. `make` compares measured steps with
these formulas.
"""

from collections.abc import Callable
from typing import NamedTuple


class Transfers(NamedTuple):
    """The transfers of a step: bytes at the busiest link and bytes sent by all places, both as
    multiples of the parameters' bytes, and the number of delays."""

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
    """Multiples of the bytes that cross the cuts, instead of the parameters' bytes."""
    return Transfers(1, 1, 2 * (n - 1))
