# SPDX-License-Identifier: Apache-2.0
"""Finds changes of level in a series with one value for each commit: E-divisive with means.

A split of n values into X (the first m) and Y has the energy statistic

    Q = m (n - m) / n (2 mean|x - y| - mean|x - x'| - mean|y - y'|),

with means over pairs; pairs within X and within Y are of different values. The split with the
largest Q is a change if few random orders of the values have as large a Q: p is their share. Both
sides of a change are then searched in the same way. The only assumption is that all orders are
equally likely if there is no change. Each value is a commit, not a run, because runs of one commit
share a session of the machine and are not independent samples of its noise. A level has at least
two commits. At p < 0.01, a change in the middle needs eleven commits, one before the last two 23.

Source: Matteson and James, "A nonparametric approach for multiple change point analysis of
multivariate data", JASA 109 (2014), in the variant (whole segments, no windows) of Daly et al.,
"The use of change point detection to identify software performance regressions in a continuous
integration system", ICPE 2020.
"""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.01
ORDERS = 999
LEAST = 2  # commits in a level
AT_ONCE = 2_000_000  # distances computed at a time, to limit memory


class ChangePoint(NamedTuple):
    at: int  # the first commit of the new level
    p: float
    before: float  # median of the old level; after: of the new
    after: float


def _energies(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Q of every split with LEAST values on both sides. Shapes: [orders, n] to [orders, splits]"""
    n = values.shape[1]
    distances = np.abs(values[:, :, None] - values[:, None, :])
    sums = distances.cumsum(axis=1).cumsum(axis=2)  # [i, j]: over pairs up to i and j
    m = np.arange(LEAST, n - LEAST + 1)
    before = sums[:, m - 1, m - 1]
    across = sums[:, m - 1, n - 1] - before
    after = sums[:, n - 1, n - 1][:, None] - before - 2 * across
    rest = n - m
    return m * rest / n * (2 * across / (m * rest) - before / (m * (m - 1))
                           - after / (rest * (rest - 1)))


def _best_split(values: NDArray[np.float64]) -> tuple[int, float]:
    """The first commit after the split with the largest Q, and the split's p value."""
    observed = _energies(values[None, :])[0]
    chance = np.random.default_rng(0)  # fixed: equal records give equal results
    orders = chance.permuted(np.tile(values, (ORDERS, 1)), axis=1)
    parts = np.array_split(orders, 1 + orders.size * len(values) // AT_ONCE)
    largest = np.concatenate([_energies(part).max(axis=1) for part in parts])
    as_large = int((largest >= observed.max() * (1 - 1e-9)).sum())
    return int(observed.argmax()) + LEAST, (1 + as_large) / (1 + ORDERS)


def change_points(series: Sequence[float], level: float = LEVEL) -> list[ChangePoint]:
    """The change points in order. `series`: finite values, one for each commit."""
    found: list[tuple[int, float]] = []
    segments = [(0, len(series))]
    while segments:
        begin, end = segments.pop()
        if end - begin < 2 * LEAST:
            continue
        split, p = _best_split(np.asarray(series[begin:end], float))
        if p < level:
            found.append((begin + split, p))
            segments += [(begin, begin + split), (begin + split, end)]
    found.sort()
    borders = [0, *(at for at, _ in found), len(series)]
    levels = [statistics.median(series[begin:end]) for begin, end in zip(borders, borders[1:])
              if end > begin]
    return [ChangePoint(at, p, before, after)
            for (at, p), before, after in zip(found, levels, levels[1:])]
