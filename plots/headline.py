# SPDX-License-Identifier: Apache-2.0
"""The headline: which strategy reached the target first, by how much, how certainly, and why."""

from dataclasses import dataclass
from typing import Any

from palette import style_of
from wording import longer_text, plural, tied, time_text

Json = dict[str, Any]

BADGES = {"sure": "sure", "close": "a tie in practice", "open": "not told apart",
          "too_few": "too few runs to be sure", "alone": "no other to compare with",
          "not_reached": "not reached"}


@dataclass
class Headline:
    winner: str  # empty: none reached the target
    colour: str
    time: str
    against: str  # how it stands to the second
    certainty: str  # key of BADGES
    badge: str
    sure: str  # a sentence or two


def _goal(judged: Json) -> str:
    target = judged["target"]
    return f"{target['metric']} {target['value']:g}" + (" %" * (target["metric"] == "accuracy"))


def _percent(value: float) -> str:
    if value < 0.0005:
        return "0 %"
    return f"{100 * value:.1f} %" if value < 0.1 else f"{100 * value:.0f} %"


def _p(value: float) -> str:
    return "p\u00a0<\u00a00.001" if value < 0.001 else f"p\u00a0=\u00a0{value:.2g}"


def _counts(judged: Json) -> str:
    counts = [cell["count"] for cell in judged["cells"][:2]]
    if len(set(counts)) == 1:
        return f"{plural(counts[0], 'run')} each"
    return f"{counts[0]} and {counts[1]} runs"


def _more_seeds(count: int) -> str:
    if count < 5:
        return "more seeds, five at least (regatta matrix --seeds 5)."
    return "more seeds, or fewer workloads on one page, which the correction counts."


def _how_sure(judged: Json, second: str) -> str:
    first = judged["first"]
    shown = first["detectable"]
    could = f" They would have shown a difference of {_percent(shown)}." if shown else ""
    return {
        "sure": f"{_counts(judged)} tell it from {second}: {_p(first['p'])} "
                "(Mann-Whitney, corrected over the workloads of this page).",
        "close": f"{_counts(judged)} tell it from {second} ({_p(first['p'])}), but the "
                 "difference is smaller than one that matters.",
        "open": f"{_counts(judged)} do not tell it from {second}: {_p(first['p'])} "
                f"(Mann-Whitney, corrected over the workloads of this page).{could}",
        "too_few": f"With {_counts(judged)} no difference could be called sure, however large: "
                   + _more_seeds(min(cell["count"] for cell in judged["cells"][:2])),
        "alone": "No other cell of this workload is here.",
        "not_reached": "",
    }[first["certainty"]]


def _not_reached(judged: Json, names: list[str]) -> str:
    speeds = [(cell["seconds_per_example"]["median"], name)
              for name, cell in zip(names, judged["cells"])
              if cell["claims_time"] and cell["seconds_per_example"]]
    if not speeds:
        return "No run got as far as to measure its speed."
    fastest = min(speeds)
    return (f"No cell reached {_goal(judged)} in the median. The fastest of them, {fastest[1]}, "
            f"took {time_text(fastest[0])} an example, which says nothing about the target.")


def headline_of(judged: Json, names: list[str]) -> Headline:
    first = judged["first"]
    certainty = first["certainty"]
    if certainty == "not_reached":
        return Headline("", "#666666", "", tied(_not_reached(judged, names)), certainty,
                        BADGES[certainty], "")
    winner, runs = judged["cells"][0], judged["cells"][0]["count"]
    second = names[1] if len(names) > 1 else ""
    if certainty == "alone":
        against = f"median of {plural(runs, 'run')}"
    elif first["ahead"] is None:
        against = f"{second} came second: it did not get there in the median."
    else:
        against = f"{second} came second and took {longer_text(first['ahead'])}."
    how_sure = _how_sure(judged, second)
    return Headline(winner=names[0], colour=style_of(winner["cell"]["strategy"]).colour,
                    time=time_text(winner["seconds_to_target"]["median"]), against=tied(against),
                    certainty=certainty, badge=BADGES[certainty],
                    sure=tied(how_sure[:1].upper() + how_sure[1:]))


def _unoccupied(cell: Json) -> float | None:
    """The share of a worker's step spent on communication and waiting."""
    parts = cell["step_seconds"]
    whole = sum(parts.values())
    return (parts["exposed_communication"] + parts["wait"]) / whole if whole > 0 else None


def why_of(judged: Json, names: list[str]) -> str:
    """Compares the first with the second: examples, time per example, time not spent on
    computing."""
    if judged["first"]["certainty"] in ("not_reached", "alone") or judged["first"]["ahead"] is None:
        return ""
    one, two = judged["cells"][:2]
    if not (one["seconds_per_example"] and two["seconds_per_example"]):
        return ""
    if None in (one["examples_to_target"]["median"], two["examples_to_target"]["median"]):
        return ""
    examples = one["examples_to_target"]["median"] / two["examples_to_target"]["median"]
    each = one["seconds_per_example"]["median"] / two["seconds_per_example"]["median"]
    text = (f"Against {names[1]}, {names[0]} needed {examples:.2f} times the examples and "
            f"{each:.2f} times the time for each.")
    idle = [_unoccupied(one), _unoccupied(two)]
    if None not in idle:
        text += (f" Of a worker's step, exchange and waiting take {_percent(idle[0])} under "
                 f"{names[0]} and {_percent(idle[1])} under {names[1]}.")
    return tied(text)
