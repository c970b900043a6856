# SPDX-License-Identifier: Apache-2.0
"""The headline: which strategy reached the target first, by how much, and how certainly; and why.

Factors are times to the target: `2.0 times as long` is slower, as on the axes of figure_forest.py.
"""

from dataclasses import dataclass, field
from typing import Any

from wording import LEAST_TOLD, digits_text, least_text, listed, out_text, plural, tied, time_text

Json = dict[str, Any]

BADGES = {"sure": "sure", "level": "less than 3 % apart",
          "open": "too few runs to say which", "alone": "no other to compare with",
          "not_reached": "not reached"}
MOST_NAMED = 6  # cells named in a group
MOST_SLOWER = 3  # slower cells listed by name
WIDEST = 100.0  # an interval with at least this ratio of its ends is useless and not shown


@dataclass
class Headline:
    lead: str  # the answer in one sentence, without its full stop
    short: str  # the answer without numbers
    certainty: str  # key of BADGES
    badge: str
    sure: str = ""  # about certainty
    to_go_on: list[tuple[str, str]] = field(default_factory=list)  # runs; their command


def _goal(judged: Json) -> str:
    target = judged["target"]
    return f"{target['metric']} {target['value']:g}" + (" %" * (target["metric"] == "accuracy"))


def _percent(value: float) -> str:
    if value < 0.0005:
        return "0 %"
    return f"{100 * value:.1f} %" if value < 0.1 else f"{100 * value:.0f} %"


def _span(against: Json) -> str:
    """` (1.70 to 1.97)`; empty without an interval, or if it is too wide."""
    low, high = against.get("low"), against.get("high")
    return (f" ({digits_text(low)} to {digits_text(high)})"
            if low and high and high < WIDEST * low else "")


def _names(judged: Json, names: list[str], *standings: str) -> list[tuple[str, Json]]:
    return [(name, cell) for name, cell in zip(names, judged["cells"])
            if cell["against_first"]["standing"] in standings]


def _to_go_on(judged: Json, decided: bool, may_decide: bool = True) -> list[tuple[str, str]]:
    """The commands that race on, each with the runs that it has left."""
    if decided and not _not_raced(judged):
        return []
    return [("with the others" if decided else "until it is decided"
             if "--decide" in one["command"] else
             plural(one["missing"], "run") + f", about {time_text(one['seconds'])}"
             * (one["seconds"] > 0), one["command"])
            for one in judged["matrices"]
            if one["missing"] > 0 or may_decide and "--decide" in one["command"]]


def _not_raced(judged: Json) -> str:
    """`not raced: 14 others`: cells that a race for a decision has not begun; may be empty."""
    others = sum(one["missing"] for one in judged["matrices"]) if judged["decision"] else 0
    return f"not raced: {plural(others, 'other')}" if others else ""


def _how_sure(judged: Json) -> str:
    counts = [cell["count"] for cell in judged["cells"]]
    each = " to ".join(dict.fromkeys(f"{count:,}" for count in (min(counts), max(counts))))
    return (f"{each} run{'s' * (max(counts) > 1)} each, compared seed by seed"
            + " and tested again after every round" * bool(judged["decision"])
            + ". With 95 % certainty no answer on this page is wrong.")


def _not_reached(judged: Json, names: list[str]) -> str:
    speeds = [(cell["seconds_per_example"]["median"], name)
              for name, cell in zip(names, judged["cells"])
              if cell["claims_time"] and cell["seconds_per_example"]]
    if not speeds:
        return "No run got as far as to measure its speed"
    seconds, fastest = min(speeds)
    if not any(cell["metric"] for cell in judged["cells"]):
        return (f"Only speeds were measured: the fastest, {fastest}, took {time_text(seconds)} an "
                "example")
    return (f"No cell reached {_goal(judged)} in the median; the fastest of them, {fastest}, took "
            f"{time_text(seconds)} an example, which says nothing about the target")


def _ahead(judged: Json, names: list[str], rival: tuple[str, Json]) -> str:
    """`, taking 0.77 (0.70 to 0.85) times as long as single`; if the first is `single`, or there is
    none, the factor of the rival."""
    versus = [cell["against_single"] for cell in judged["cells"]]
    single = next((name for name, one in zip(names, versus) if one and one["time"] == 1), names[0])
    if (first := versus[0]) and single != names[0]:
        return f", taking {digits_text(first['time'])}{_span(first)} times as long as {single}"
    name, against = rival[0], rival[1]["against_first"]
    return (f"; {name}, the next, takes {digits_text(against['time'])}{_span(against)} times "
            f"as long as {names[0]}" if "time" in against else "")


def _surely_slower(judged: Json, names: list[str]) -> str:
    """`9 strategies certainly take at least 1.1 times as long as a`; empty if none is slower."""
    slower = _names(judged, names, "slower")
    if not slower:
        return ""
    bounds = [(cell["left_out"] or {}).get("at_least") or cell["against_first"].get("low")
              for _, cell in slower]
    several = len({cell["cell"]["strategy"] for _, cell in slower}) == len(slower)
    who = (listed([name for name, _ in slower]) if len(slower) <= MOST_SLOWER
           else f"{len(slower)} {'strategies' if several else 'cells'}")
    takes, is_ = ("takes", "is") if len(slower) == 1 else ("take", "are")
    if not all(bounds) or min(bounds) < LEAST_TOLD:
        return f"{who} {is_} certainly slower"
    return f"{who} certainly {takes} at least {least_text(min(bounds))} times as long as {names[0]}"


def _answer(judged: Json, names: list[str], decided: bool) -> tuple[str, str]:
    """Returns `short` and `lead` of the headline."""
    group = [(name, cell) for name, cell in _names(judged, names, "first", "level", "open")
             if (cell["left_out"] or {}).get("why", "precise") == "precise"]
    shown = [name for name, _ in group]
    if len(shown) > MOST_NAMED:
        shown[MOST_NAMED - 1:] = [f"{len(shown) - MOST_NAMED + 1} more"]
    ahead = _ahead(judged, names, [*group, (names[1], judged["cells"][1])][1])
    if not decided:
        raced = sum(cell["claims_time"] for cell in judged["cells"])
        narrowed = 1 < len(group) < raced
        who = (f"the fastest of {raced} is one of {len(group)}: {listed(shown)}" if narrowed
               else f"{shown[0]} leads, but that is not certain")
        ahead = f"; {shown[0]} leads" * narrowed + ahead
    elif len(group) > 1:
        who = f"{listed(shown)} share first place"
        ends = [cell["against_first"].get("high") for _, cell in group[1:]]
        ahead = (f", none taking more than {digits_text(max(ends))} times as long as {shown[0]}"
                 if all(ends) else "")
    else:
        who = f"{shown[0]} is first"
    said = who + ahead, _surely_slower(judged, names), _not_raced(judged)
    return who, "; ".join(filter(None, said))


def headline_of(judged: Json, names: list[str]) -> Headline:
    certainty, rounds = judged["certainty"], judged["decision"]
    badge, is_told = BADGES[certainty], certainty in ("sure", "level")
    decided = rounds["decided"] and certainty != "alone" if rounds else is_told
    to_go_on = _to_go_on(judged, decided, certainty not in ("not_reached", "alone"))
    if certainty in ("not_reached", "alone"):
        said = tied(_not_reached(judged, names) if certainty == "not_reached" else
                    f"{names[0]} reached {_goal(judged)} in "
                    f"{time_text(judged['cells'][0]['typical_seconds'])}")
        return Headline(said, said, certainty, badge, to_go_on=to_go_on)
    if rounds:
        certainty = "sure" if decided else "open"
        badge = f"{'not ' * (not decided)}decided after {plural(rounds['rounds'], 'round')}"
    short, lead = _answer(judged, names, decided)
    return Headline(lead=tied(lead), short=short, certainty=certainty, badge=badge,
                    sure=tied(_how_sure(judged)), to_go_on=to_go_on)


def _unoccupied(cell: Json) -> float | None:
    """The share of a worker's step spent on communication and waiting."""
    parts = cell["step_seconds"]
    whole = sum(parts.values())
    idle = parts["exposed_communication"] + parts["bubble"] + parts["wait"]
    return idle / whole if whole > 0 else None


def why_of(judged: Json, names: list[str]) -> str:
    """Explains why the fastest of the surely slower cells is slower: its factors, and the time not
    spent on computing. Empty if no cell is surely slower."""
    slower = [(name, cell) for name, cell in _names(judged, names, "slower")
              if "time" in cell["against_first"]]
    if not slower:
        return ""
    name, cell = slower[0]
    against = cell["against_first"]
    text = (f"Against {names[0]}, {name} needed {against['examples']:.2f} times the examples and "
            f"{against['each']:.2f} times the time for each, so {digits_text(against['time'])} "
            "times the time.")
    idle = [_unoccupied(cell), _unoccupied(judged["cells"][0])]
    if None not in idle:
        text += (f" Exchange and waiting take {_percent(idle[0])} of a worker's step under "
                 f"{name}, {_percent(idle[1])} under {names[0]}.")
    return tied(text)


def factors_text(cell: Json) -> str:
    """`1.83 = 1.00 × 1.83`: time to target, examples, time per example, relative to the first."""
    against = cell["against_first"]
    if against["standing"] == "first":
        return "1"
    if "time" not in against:
        return "–"
    return f"{against['time']:.2f} = {against['examples']:.2f} × {against['each']:.2f}"


def out_of(cell: Json, first: str) -> str:
    """out_text() against the cell named `first`; empty if the cell was not left out."""
    out = cell["left_out"]
    return out_text(out["round"], out["why"], out["at_least"], first) if out else ""


def standing_text(cell: Json, first: str) -> str:
    """`slower (1.70 to 1.97)`: compared with the cell named `first`."""
    against = cell["against_first"]
    if cell["left_out"]:
        return out_of(cell, first)
    word = {"first": "first", "slower": "slower", "level": "less than 3 % apart",
            "open": "not decided", "missed": "missed the target",
            "no_claim": "–"}[against["standing"]]
    return word + _span(against)
