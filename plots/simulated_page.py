# SPDX-License-Identifier: Apache-2.0
"""The contents of the page of runs in virtual time: studies as tables and sentences.

Every number comes from judgement.json; units and wording are added here.
"""

from dataclasses import dataclass, field

from inline_svg import Graphic
from simulated import Point, Study
from wording import count_text, counts_text, metric_text, plural, time_text

MOST_NAMES = 4


@dataclass
class Name:
    label: str
    colour: str


@dataclass
class Entry:
    """A speed of the what-if table."""

    speed: str  # empty: there is no such point
    times: str  # speed relative to one worker
    target: str
    is_best: bool  # the fastest of its column, except ceilings
    is_soonest: bool  # the first of its column to the target


@dataclass
class IfLink:
    link: str
    rows: list[tuple[Name, list[Entry]]]


@dataclass
class PointRow:
    name: Name
    link: str
    values: list[str]  # in the order of NUMBERS
    command: str


@dataclass
class StudyView:
    title: str
    slug: str
    conditions: str
    made: list[tuple[str, str]]  # the origin of the costs
    command: str
    workers: list[int]
    what_if: list[IfLink]
    has_target: bool
    points: list[PointRow]
    speed: list[Graphic] = field(default_factory=list)
    split: list[Graphic] = field(default_factory=list)


NUMBERS = ("workers", "examples/s", "step", "compute", "update", "input", "communication",
           "waiting", "staleness", "time to target", "metric at the end")


def _name(study: Study, way: int) -> Name:
    label = study.ways[way].label + (" (ceiling)" if study.ways[way].is_ceiling else "")
    return Name(label, study.ways[way].style.colour)


def _entry(study: Study, point: Point | None, column: list[Point]) -> Entry:
    """The entry of a point. `column`: all points of its column."""
    if point is None:
        return Entry("", "", "", False, False)
    best = max((one.examples_per_s for one in column if not study.ways[one.way].is_ceiling),
               default=None)
    soonest = min((one.seconds_to_target for one in column if one.seconds_to_target),
                  default=None)
    times = point.examples_per_s / study.one_worker if study.one_worker else None
    return Entry(count_text(point.examples_per_s), f"× {times:.3g}" if times else "",
                 _target(study, point), point.examples_per_s == best,
                 soonest is not None and point.seconds_to_target == soonest)


def _target(study: Study, point: Point) -> str:
    if not study.learns or not point.claims_time:
        return ""
    return time_text(point.seconds_to_target) if point.seconds_to_target else "missed"


def _what_if(study: Study) -> list[IfLink]:
    at = {(point.way, point.link, point.workers): point for point in study.points}
    tables = []
    for link, one in enumerate(study.links):
        columns = {workers: [point for point in study.points
                             if (point.link, point.workers) == (link, workers)]
                   for workers in study.workers}
        rows = [(_name(study, way), [_entry(study, at.get((way, link, workers)), columns[workers])
                                     for workers in study.workers])
                for way in range(len(study.ways)) if study.line(way, link)]
        tables.append(IfLink(one.text, rows))
    return tables


def _few(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _point_row(study: Study, point: Point) -> PointRow:
    def percent(share: float) -> str:
        return f"{100 * share:.0f} %"

    stale = point.staleness
    metric = ("–" if point.metric is None
              else metric_text(point.metric, study.target["metric"]))
    values = [str(point.workers), count_text(point.examples_per_s),
              time_text(point.step_seconds),
              *map(percent, map(point.share, (
                  "compute", "update", "input", "exposed_communication"))), percent(point.waiting),
              f"{stale['mean']:.2f}, at most {stale['max']}" if stale else "–",
              _target(study, point) or "–", metric]
    return PointRow(_name(study, point.way), study.links[point.link].text, values, point.command)


def _conditions(study: Study) -> str:
    batches = {point.global_batch for point in study.points}
    shares = {point.global_batch / point.workers for point in study.points}
    batch = (f"{shares.pop():g} examples a step for each worker"
             if study.batch_grows else f"global batch {counts_text(batches)}")
    parts = [study.dataset, batch]
    if study.learns:
        unit = " %" if study.target["metric"] == "accuracy" else ""
        parts.append(f"target {study.target['metric']} {study.target['value']:g}{unit}")
    if study.hardware:
        times = study.hardware["compute_times"].replace("_", " ")
        spread = study.hardware["spread"]
        parts.append("compute times " + ("as calibrated steps differed" if times == "samples"
                                         else times + (f", spread {spread:g}" if spread else "")))
        parts.append(f"servers of {plural(study.hardware['server_cores'], 'core')}")
        if study.hardware["machine_cores"]:
            parts.append(f"hosts share {plural(study.hardware['machine_cores'], 'core')}")
        if study.hardware["queue_bytes"]:
            queue = f"{study.hardware['queue_bytes'] / 1e3:g} kB"
            parts.append(f"a flow keeps {queue} waiting in front of a full link")
    return " · ".join(parts)


def _made(study: Study) -> list[tuple[str, str]]:
    counts = [one.count for one in study.points]
    mode = {"time": "time: nothing was computed",
            "train": "train: kernels did their work in virtual order"}.get(study.mode, study.mode)
    rows = [("costs by", study.source),
            ("their machine", study.hardware["cpu"] if study.hardware else "not recorded"),
            ("calibrations", _few(study.calibrations)), ("mode", mode),
            ("simulated on", ", ".join(study.machines)),
            ("commit", _few([commit[:10] for commit in study.commits])),
            ("records", f"{sum(counts)}, at {plural(len(counts), 'point')}")]
    return [(name, text) for name, text in rows if text]


def _view(index: int, study: Study) -> StudyView:
    largest = max(study.points, key=lambda point: point.workers)
    return StudyView(
        title=study.workload, slug=f"simulated-{index + 1}", conditions=_conditions(study),
        made=_made(study), command=largest.command, workers=study.workers,
        what_if=_what_if(study), has_target=study.learns,
        points=[_point_row(study, point) for point in study.points])


def views_of(studies: list[Study]) -> list[StudyView]:
    views = [_view(index, study) for index, study in enumerate(studies)]
    for number, view in enumerate(views, start=1):
        if len(views) > 1:
            view.title += f" ({number})"
    return views
