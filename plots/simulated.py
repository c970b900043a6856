# SPDX-License-Identifier: Apache-2.0
"""Studies in virtual time, from the judgement. A study has ways to train, links, points (a way on a
link with a number of workers)."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from judgement import Variant, variant_of
from labels import labels
from palette import Style, styles_of
from selection import MOST_LINES
from strategies import claims_time

Json = dict[str, Any]


class Link(NamedTuple):
    bytes_per_s: float  # inf: no limit
    latency_s: float
    core_bytes_per_s: float
    cluster: str  # digest; only in older records, which lack the other fields

    @property
    def text(self) -> str:
        """`10 Gbit/s, 25 µs`"""
        if self.cluster:
            return f"cluster {self.cluster[:8]}"
        core = ("" if math.isinf(self.core_bytes_per_s)
                else f", {bits_text(self.core_bytes_per_s)} for all")
        return f"{bits_text(self.bytes_per_s)}, {delay_text(self.latency_s)}{core}"


class Way(NamedTuple):
    label: str
    variant: Variant  # without workers, batch and length, which vary within a way
    style: Style

    @property
    def strategy(self) -> str:
        return self.variant.strategy

    @property
    def is_ceiling(self) -> bool:
        """Whether its workers exchange nothing."""
        return not claims_time(self.strategy)


class Point(NamedTuple):
    way: int
    link: int
    workers: int
    global_batch: int
    count: int  # number of records
    examples_per_s: float
    step_seconds: float
    parts: dict[str, float]  # of a worker's step, seconds
    reached: int
    claims_time: bool
    seconds_to_target: float | None
    metric: float | None
    staleness: Json | None
    command: str

    def share(self, part: str) -> float:
        whole = sum(self.parts.values())
        return self.parts[part] / whole if whole else 0.0

    @property
    def waiting(self) -> float:
        """The share of a worker's step spent waiting, including bubbles of pipelines."""
        return self.share("bubble") + self.share("wait")


@dataclass(frozen=True)
class Study:
    workload: str
    dataset: str
    target: Json
    mode: str
    source: str
    hardware: Json | None
    calibrations: list[str]
    commits: list[str]
    machines: list[str]
    batch_grows: bool
    one_worker: float | None  # its speed, in examples/s
    ways: list[Way]
    links: list[Link]
    points: list[Point]

    @property
    def workers(self) -> list[int]:
        return sorted({point.workers for point in self.points})

    @property
    def learns(self) -> bool:
        """Whether any run was evaluated."""
        return any(point.metric is not None for point in self.points)

    @property
    def shown(self) -> list[int]:
        """The ways for a figure, at most MOST_LINES: the first of each strategy, then others."""
        seen: dict[str, int] = {}
        order = []
        for number, way in enumerate(self.ways):
            order.append((seen.setdefault(way.strategy, 0), number))
            seen[way.strategy] += 1
        return sorted(number for _, number in sorted(order)[:MOST_LINES])

    def shown_links(self, most: int) -> list[int]:
        """At most `most` links, evenly spaced in the list, including the first and the last."""
        last = len(self.links) - 1
        if last < most:
            return list(range(last + 1))
        return [round(step * last / (most - 1)) for step in range(most)]

    def note(self, links: int) -> str:
        """A note about ways and links omitted from a figure with `links` links; may be empty."""
        parts = [f"{shown} of {every} {word}" for shown, every, word in (
            (len(self.shown), len(self.ways), "ways"), (links, len(self.links), "links"))
                 if shown < every]
        return f"Shown: {', '.join(parts)}. The tables have all." if parts else ""

    def line(self, way: int, link: int) -> list[Point]:
        """The points of a way on a link, by number of workers."""
        return sorted((one for one in self.points if (one.way, one.link) == (way, link)),
                      key=lambda one: one.workers)


def bits_text(bytes_per_s: float) -> str:
    """`10 Gbit/s`"""
    if math.isinf(bytes_per_s):
        return "no limit"
    gigabits = bytes_per_s * 8e-9
    return f"{gigabits:.3g} Gbit/s" if gigabits >= 1 else f"{1000 * gigabits:.3g} Mbit/s"


def delay_text(seconds: float) -> str:
    """`25 µs`, `1.5 ms`"""
    return f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def _limit(value: float | None) -> float:
    return math.inf if value is None else value


def _ways(study: Json) -> list[Way]:
    """The ways of a study, with labels that do not mention workers or batch."""
    variants = []
    for way in study["ways"]:
        one = variant_of(way["cell"])
        shared = one.processes if one.processes < one.workers else 0
        variants.append(replace(one, workers=0, processes=shared, global_batch=0, length="",
                                oversubscribed=False))
    names = labels(variants)
    return [Way(names[one], one, style) for one, style in
            zip(variants, styles_of(one.strategy for one in variants))]


def _study(study: Json) -> Study:
    links = [Link(_limit(one["bytes_per_s"]), one["latency_ns"] * 1e-9,
                  _limit(one["core_bytes_per_s"]), one["cluster"]) for one in study["links"]]
    same = ("workload", "dataset", "target", "mode", "source", "hardware", "calibrations",
            "commits", "machines", "batch_grows", "one_worker")
    return Study(**{name: study[name] for name in same}, ways=_ways(study), links=links,
                 points=[Point(**one) for one in study["points"]])


def studies_of(judgement: Json) -> list[Study]:
    return [_study(one) for one in judgement["simulated"]]
