# SPDX-License-Identifier: Apache-2.0
"""The headline: which strategy reached the target first, by how much, how certainly, and why."""

from dataclasses import dataclass
from typing import Any

from palette import style_of
from wording import (least_text, listed, longer_text, out_text, plural, span_text, tied,
                     time_text)

Json = dict[str, Any]

BADGES = {"sure": "sure", "close": "sure, but a small difference",
          "level": "less than 3 % apart", "open": "too few runs to be sure",
          "too_few": "too few runs to compare", "alone": "no other to compare with",
          "not_reached": "not reached"}
TWO_RUNS = "two runs of each cell at least (regatta matrix --seeds 2)"
MOST_NAMED = 6  # cells named in a group
MOST_SLOWER = 3  # slower cells listed with their factor
WIDEST = 100.0  # an interval with at least this ratio of its ends is useless and not shown
IN_TIMES = 1.5  # an interval with at least this upper end is worded in times, not in percent
GROUPS = ("level", "open", "too_few")


@dataclass
class Headline:
    winners: list[tuple[str, str]]  # names, colours; several: indistinguishable; none: missed
    more: int  # cells of the group beyond those in `winners`
    time: str
    against: str  # sentence that compares the winners with the others
    certainty: str  # key of BADGES
    badge: str
    sure: str  # one or two sentences about certainty
    lead: str = ""  # the whole answer, if the matrix raced for a decision


def _goal(judged: Json) -> str:
    target = judged["target"]
    return f"{target['metric']} {target['value']:g}" + (" %" * (target["metric"] == "accuracy"))


def _percent(value: float) -> str:
    if value < 0.0005:
        return "0 %"
    return f"{100 * value:.1f} %" if value < 0.1 else f"{100 * value:.0f} %"


def _ends(against: Json) -> tuple[float | None, float | None]:
    """The ends of the interval relative to the first cell; None twice if it is too wide."""
    low, high = against.get("low"), against.get("high")
    return (low, high) if low and high and high < WIDEST * low else (None, None)


def _interval(against: Json) -> str:
    """` (70 to 97 %)`: how much longer than the first; empty if there is no interval."""
    low, high = _ends(against)
    if not low or not high:
        return ""
    if high >= IN_TIMES:
        return f" ({low:.2f} to {high:.2f} times)"
    return f" ({100 * (low - 1):.1f} to {100 * (high - 1):.1f} %)"


def _counts(judged: Json) -> str:
    counts = {cell["count"] for cell in _group(judged)} or {cell["count"]
                                                             for cell in judged["cells"][:2]}
    return f"{plural(counts.pop(), 'run')} each" if len(counts) == 1 else (
        f"{min(counts)} to {max(counts)} runs each")


def _group(judged: Json) -> list[Json]:
    """The first cell and those that cannot be distinguished from it."""
    return [cell for cell in judged["cells"]
            if cell["against_first"]["standing"] in ("first", "level", "open")]


def _names(judged: Json, names: list[str], *standings: str) -> list[tuple[str, Json]]:
    return [(name, cell) for name, cell in zip(names, judged["cells"])
            if cell["against_first"]["standing"] in standings]


def _factor(against: Json) -> str:
    """`5.6 % longer (2.1 to 9.2 %)`, `2.00 times as long (1.90 to 2.10 times)`"""
    high = against.get("high")
    text = (f"{against['time']:.2f} times as long" if high and high >= IN_TIMES > against["time"]
            else longer_text(against["time"]))
    return text + _interval(against)


def _longer(name: str, cell: Json) -> str:
    against = cell["against_first"]
    if "time" not in against:
        missed = cell["count"] - cell["reached"]
        return f"{name} missed the target in {missed} of {cell['count']} runs"
    return f"{name} took {_factor(against)}"


def _slower(judged: Json, names: list[str]) -> str:
    """Text about the cells that are surely slower than the fastest, with their factors."""
    slower = _names(judged, names, "slower")
    if not slower:
        return ""
    told = [f"{name} {_factor(cell['against_first'])}" if "time" in cell["against_first"]
            else _longer(name, cell) for name, cell in slower[:MOST_SLOWER]]
    more = [f"{len(slower) - MOST_SLOWER} more"] if len(slower) > MOST_SLOWER else []
    return f"Slower than {names[0]}: {'; '.join([*told, *more])}."


def _open(judged: Json, names: list[str]) -> str:
    """Text that compares the fastest of a group with the next; the difference may be chance."""
    others = [(name, cell["against_first"]) for name, cell in zip(names, judged["cells"])
              if cell["against_first"]["standing"] in ("level", "open")]
    if not others or "time" not in others[0][1] or _ends(others[0][1]) == (None, None):
        return ""
    name, against = others[0]
    return (f"{names[0]} was the fastest; {name} took {against['time']:.2f} times as long, but "
            f"chance leaves {against['low']:.2f} to {against['high']:.2f} times open. ")


def _against(judged: Json, names: list[str]) -> str:
    """Text that compares the first with the second, or a group with the cells outside it."""
    if judged["first"]["certainty"] == "too_few":
        return ""
    if judged["first"]["certainty"] in GROUPS:
        return _open(judged, names) + _slower(judged, names)
    name, cell = list(zip(names, judged["cells"]))[1]
    return (f"{_longer(name, cell)}." if judged["first"]["ahead"] is not None else
            f"{name} came second: it did not reach the target in the median.")


def _missing(judged: Json) -> str:
    """The commands that run the runs that matrices lack; empty if they are complete."""
    return "; ".join(f"{one['command']} runs the {one['missing']} that are missing" + (
        f", in about {time_text(one['seconds'])}" if one["seconds"] > 0 else "")
        for one in judged["matrices"] if one["missing"] > 0)


def _how_sure(judged: Json) -> str:
    first = judged["first"]
    least = min(cell["count"] for cell in judged["cells"][:2])
    shown = first["detectable"]
    detectable = f"Smallest detectable difference with them: {_percent(shown)}. " if shown else ""
    if first["coarse"]:
        decide = ("More seeds would not decide it: a run reaches the target somewhere between two "
                  "evaluations, and these are too far apart.")
    elif first["seeds"]:
        command = _missing(judged) or f"regatta matrix --seeds {first['seeds']}"
        decide = f"About {first['seeds']} seeds would decide it: {command}."
    else:
        decide = ""
    intervals = (f"{_counts(judged)}, paired by seed; all comparisons of this page together are "
                 "95 % sure.")
    return {
        "sure": intervals, "close": intervals,
        "level": f"Less than 3 % apart: {intervals}",
        "open": f"{_counts(judged)}, compared seed by seed. {detectable}{decide}",
        "too_few": f"With {plural(least, 'run')} of a cell nothing can be told apart. "
                   f"fix: {_missing(judged) or TWO_RUNS}.",
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
    if not any(cell["metric"] for cell in judged["cells"]):
        return (f"Only speeds were measured: the fastest, {fastest[1]}, took "
                f"{time_text(fastest[0])} an example.")
    return (f"No cell reached {_goal(judged)} in the median. The fastest of them, {fastest[1]}, "
            f"took {time_text(fastest[0])} an example, which says nothing about the target.")


def _winner(name: str, cell: Json) -> str:
    reached, count = cell["reached"], cell["count"]
    return name if reached == count else f"{name} ({reached} of {count} runs)"


def _ahead(judged: Json, names: list[str]) -> str:
    """`1.31 (1.22 to 1.41) times as fast as single`; if the first is `single`, or there is none,
    how much longer the next takes."""
    def span(low: float | None, high: float | None) -> str:
        return f" ({low:.2f} to {high:.2f})" if low and high else ""

    versus = [cell["against_single"] for cell in judged["cells"]]
    single = next((name for name, one in zip(names, versus)
                   if one and one["low"] == one["high"] == 1), names[0])
    if versus[0] and single != names[0]:
        low, high = (1 / end if end else None for end in (versus[0]["high"], versus[0]["low"]))
        return f"{1 / versus[0]['time']:.2f}{span(low, high)} times as fast as {single}"
    against = judged["cells"][1]["against_first"] if len(names) > 1 else {}
    return (f"{names[1]}, the next, takes {against['time']:.2f}"
            f"{span(against['low'], against['high'])} times as long" if "time" in against else "")


def _surely_slower(judged: Json, names: list[str]) -> str:
    """`9 strategies are certainly slower, by at least 1.1 times`; empty if none is."""
    slower = _names(judged, names, "slower")
    if not slower:
        return ""
    bounds = [(cell["left_out"] or {}).get("at_least") or cell["against_first"].get("low")
              for _, cell in slower]
    several = len({cell["cell"]["strategy"] for _, cell in slower}) == len(slower)
    who = (listed([name for name, _ in slower]) if len(slower) <= MOST_SLOWER
           else f"{len(slower)} {'strategies' if several else 'cells'}")
    least = f", by at least {least_text(min(bounds))} times" if all(bounds) else ""
    return f"{who} {'is' if len(slower) == 1 else 'are'} certainly slower{least}"


def _lead(judged: Json, names: list[str]) -> str:
    """The answer of a race for a decision in one sentence."""
    decision = judged["decision"]
    group = [(name, cell) for name, cell in _names(judged, names, "first", "level", "open")
             if (cell["left_out"] or {}).get("why", "precise") == "precise"]
    shown = [name for name, _ in group]
    if len(shown) > MOST_NAMED:
        shown[MOST_NAMED - 1:] = [f"{len(shown) - MOST_NAMED + 1} more"]
    after = f"after {plural(decision['rounds'], 'round')}"
    ahead = _ahead(judged, names)
    ends = [cell["against_first"].get("high") for _, cell in group[1:]]
    if not decision["decided"]:
        others = f"{listed(shown[1:])} may be as fast" if shown[1:] else "the lead is not certain"
        said = (f"{shown[0]} leads{f', {ahead}' * bool(ahead)}, but {others}: "
                f"the time was up {after}")
    elif len(group) > 1:
        apart = f", at most {max(ends):.2f} times apart" if all(ends) else ""
        said = f"{listed(shown)} share first place{apart}, decided {after}"
    else:
        said = f"{shown[0]} is first{f': {ahead}' * bool(ahead)}, decided {after}"
    return "; ".join(filter(None, [said, _surely_slower(judged, names)])) + "."


def headline_of(judged: Json, names: list[str]) -> Headline:
    certainty = judged["first"]["certainty"]
    if certainty == "not_reached":
        return Headline([], 0, "", tied(_not_reached(judged, names)), certainty,
                        BADGES[certainty], "")
    group = (_names(judged, names, "first", "level", "open") if certainty in GROUPS
             else _names(judged, names, "first"))
    times = [cell["typical_seconds"] for _, cell in group]
    winners = [(_winner(name, cell), style_of(cell["cell"]["strategy"]).colour)
               for name, cell in group]
    shown = winners if len(winners) <= MOST_NAMED else winners[:MOST_NAMED - 1]
    against = (f"of {plural(judged['cells'][0]['count'], 'run')}" if certainty == "alone"
               else _against(judged, names))
    badge, lead, sure = BADGES[certainty], "", _how_sure(judged)
    if judged["decision"] and certainty != "alone":
        certainty = "sure" if judged["decision"]["decided"] else "open"
        badge = "decided" if judged["decision"]["decided"] else "not decided"
        lead, against = _lead(judged, names), ""
        sure = (f"Runs paired by seed; the test allows a look after each round, and all answers of "
                f"this page together are 95 % sure. {_missing(judged)}")
    if certainty == "level":
        badge += f": these {len(winners)}"
    return Headline(winners=shown, more=len(winners) - len(shown),
                    time=span_text(min(times), max(times), time_text), against=tied(against),
                    certainty=certainty, badge=badge, sure=tied(sure), lead=tied(lead))


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
            f"{against['each']:.2f} times the time for each, so {against['time']:.2f} times the "
            "time.")
    idle = [_unoccupied(cell), _unoccupied(judged["cells"][0])]
    if None not in idle:
        text += (f" Of a worker's step, exchange and waiting take {_percent(idle[0])} under "
                 f"{name} and {_percent(idle[1])} under {names[0]}.")
    return tied(text)


def factors_text(cell: Json) -> str:
    """`1.83 = 1.00 × 1.83`: time to target, examples, time per example, relative to the first."""
    against = cell["against_first"]
    if against["standing"] == "first":
        return "1"
    if "time" not in against:
        return "–"
    return f"{against['time']:.2f} = {against['examples']:.2f} × {against['each']:.2f}"


def out_of(cell: Json) -> str:
    """`out after round 2: at least 3.1 times as slow`; empty if the cell was not left out."""
    out = cell["left_out"]
    return out_text(out["round"], out["why"], out["at_least"]) if out else ""


def standing_text(cell: Json) -> str:
    """`slower (1.70 to 1.97)`"""
    against = cell["against_first"]
    if cell["left_out"]:
        return out_of(cell)
    word = {"first": "first", "slower": "slower", "level": "less than 3 % apart",
            "open": "not decided", "missed": "missed the target",
            "no_claim": "–"}[against["standing"]]
    low, high = _ends(against)
    return word if low is None or high is None else f"{word} ({low:.2f} to {high:.2f})"
