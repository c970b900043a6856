#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the sentences with verdicts in READMEs, from committed records.

usage: plots/verdicts.py [--check]

Replaces the text between `<!-- made by plots/verdicts.py: NAME -->` and `<!-- end -->`: the race
picture with its caption, the count of claims and their table, and tables of other programs. --check
writes no file; if a README differs from the program's verdicts on the records, it prints the
difference and exits with 1.
"""

import difflib
import re
import sys
import textwrap
from collections import Counter

from headline import headline_of
from page import cell_labels
from page_claims import VERDICTS, decided_text
from page_programs import programs_of
from program import ROOT, Json, judge
from strategies import PlotsError
from wording import listed, plural

RACE = "results/epyc-zen4-2-cores/quick"  # has race.png
# Folders by machine and model. The first folder that has evidence for a claim decides it.
CLAIMS = {"two Xeon cores": ("results/xeon-2-cores/claims",
                             "results/xeon-2-cores/exchanges_two_workers"),
          "two Zen 3 cores": ("results/epyc-zen3-2-cores/claims",
                              "results/epyc-zen3-2-cores/exchanges"),
          "a GPT on two Zen 4 cores": ("results/epyc-zen4-2-cores/claims",)}
TAUGHT = "results/claims.md"
PROGRAMS = "results/epyc-zen4-2-cores/contenders"
PROGRAMS_BF16 = PROGRAMS + "_bf16"
PROGRAMS_MORE = "results/epyc-zen3-2-cores/contenders"
# The rows for the README. Their steps are no shorter than those that people train.
PROGRAMS_SHOWN = [(workload, f"{framework} all_reduce") for workload in ("gpt_tiny", "resnet9_thin")
                  for framework in ("pytorch", "tensorflow")]

WIDTH = 118
SHORT_STEP = 1e-3  # seconds; in shorter steps exchanges cost more than computing
OUTCOME = re.compile(r"^([a-z ]+): .* seeds\)")


def _filled(text: str) -> str:
    return textwrap.fill(text.replace("\u00a0", " "), WIDTH, break_long_words=False,
                         break_on_hyphens=False) + "\n"


def _machine(judgement: Json) -> str:
    machine = judgement["workloads"][0]["machine"]
    return f"{machine['cpu']}, {machine['cores_used']} cores"


def _threads(cells: list[Json]) -> str:
    """``2 workers with 1 thread each, `single` 1 worker with 2``"""
    of = {f"`{cell['strategy']}`": (cell["workers"], cell["threads_per_worker"]) for cell in cells}
    (usual, _), *others = Counter(of.values()).most_common()
    return ", ".join([
        f"{plural(usual[0], 'worker')} with {plural(usual[1], 'thread')} each",
        *(f"{listed([name for name in of if of[name] == share])} {plural(share[0], 'worker')} "
          f"with {share[1]}" for share, _ in others)])


def _is_short(judged: Json) -> bool:
    return sum(judged["cells"][0]["step_seconds"].values()) < SHORT_STEP


def _verdict(judged: Json) -> str:
    """Text: the first strategies on a workload, the certainty, and how many missed the target."""
    names, target = cell_labels(judged), judged["target"]
    headline = headline_of(judged, names)
    text = f"**{judged['workload']}** to {target['metric']} {target['value']:g}"
    text += " %" * (target["metric"] == "accuracy")
    if _is_short(judged):
        text += " (a step takes microseconds, so this shows the overhead of strategies)"
    text += f": {headline.lead} ({headline.badge})."
    missed = sum(cell["claims_time"] and cell["reached"] < cell["count"]
                 for cell in judged["cells"])
    some = "1 strategy" if missed == 1 else f"{missed} strategies"
    return text + f" {some} missed the target in some runs." * bool(missed)


def race_text(judgement: Json) -> str:
    """The picture of a race and its caption: the parabola, which shows the cost of a step, is
    last."""
    workloads = sorted(judgement["workloads"], key=_is_short)
    cells = [cell["cell"] for one in workloads for cell in one["cells"]]
    raced = {cell["strategy"] for cell in cells}
    names = listed([one["workload"] for one in workloads])
    return f"![Who reaches the target first on {names}]({RACE}/race.png)\n\n" + _filled(
        f"{len(raced)} strategies raced on {_machine(judgement)} ([records]({RACE})): "
        f"{_threads(cells)}. "
        + " ".join(map(_verdict, workloads)))


def _evidence(judgements: list[Json]) -> list[Json]:
    """Each claim, from the first judgement with a comparison for it."""
    return [next((one for one in same if one["yes"] + one["no"] + one["unclear"]), same[0])
            for same in zip(*(judgement["claims"] for judgement in judgements))]


def _decider(same: tuple[Json, ...]) -> Json:
    """The claim as the first machine judges it that decides it; undecided, as the first does."""
    return next((one for one in same if one["verdict"] != "undecided"), same[0])


def count_text(machines: list[list[Json]]) -> str:
    """Text: the number of claims by verdict, and the claims that do not hold. A claim has the
    verdict of the first machine that decides it."""
    claims = list(map(_decider, zip(*map(_evidence, machines))))
    counts = Counter(claim["verdict"] for claim in claims)
    refuted = [f"\"{claim['taught'].split(':')[0].rstrip('.')}\"" for claim in claims
               if claim["verdict"] == "does not hold here"]
    told = [f"{word.removesuffix(' here').capitalize()}: {counts[verdict]}"
            for verdict, word in VERDICTS.items() if verdict != "does not hold here"]
    return _filled(f"[{len(claims)} common claims]({TAUGHT}) were tested on "
                   f"{listed(list(CLAIMS))}. {'. '.join(told)}. "
                   f"Does not hold: {len(refuted)}"
                   f"{f' ({listed(refuted)})' * bool(refuted)}.")


def _numbers(claim: Json) -> str:
    """The first comparison with each outcome; all of them for a claim that follows from graphs."""
    outcomes: dict[str, str] = {}
    for number in claim["numbers"]:
        if found := OUTCOME.match(number):
            outcomes.setdefault(found[1], number)
    return "; ".join(one.rstrip(".") for one in outcomes.values() or claim["numbers"])


def claims_text(machines: list[list[Json]]) -> str:
    """The table of claims: a column for each machine, and numbers of the first that decides."""
    heads = [f"{name} ({', '.join(f'[records](../{folder})' for folder in folders)})"
             for name, folders in CLAIMS.items()]
    rows = [["what is taught", *heads, "such as"], ["---"] * (len(heads) + 2)]
    for same in zip(*map(_evidence, machines)):
        cells = [f"{VERDICTS[one['verdict']]} ({decided_text(one)})" for one in same]
        rows.append([same[0]["taught"], *cells, _numbers(_decider(same))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def programs_text(judgement: Json, shown: list[tuple[str, str]] | None = None) -> str:
    """The table of other programs: all, or those of `shown`, by workload and label."""
    rows = [row for row in programs_of(judgement, cell_labels)
            if shown is None or (row.workload, row.label) in shown]
    heads = ["workload", "program", "time to target", "Regatta, same strategy", "times as long",
             "examples", "bytes for each", "set-up", "proof: greatest difference of a loss"]
    table = [heads, ["---"] * len(heads)]
    table += [[row.workload, row.label, row.time, row.own, row.times, row.speed, row.sent,
               row.setup, row.proof] for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in table)


def with_block(text: str, name: str, made: str) -> str:
    """The README `text` with `made` as its block `name`. Throws: PlotsError if it has no such
    block."""
    begin = f"<!-- made by plots/verdicts.py: {name} -->\n"
    block = re.compile(f"(?<={re.escape(begin)}).*?(?=<!-- end -->)", re.DOTALL)
    if not block.search(text):
        raise PlotsError(f"no {begin.strip()} with an <!-- end --> behind it")
    return block.sub(lambda _: made, text)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__.strip(), file=sys.stderr)
        return int(arguments not in (["--help"], ["-h"]))
    machines = [[judge([ROOT / one]) for one in folders] for folders in CLAIMS.values()]
    race, programs, programs_bf16, programs_more = (
        judge([ROOT / one]) for one in (RACE, PROGRAMS, PROGRAMS_BF16, PROGRAMS_MORE))
    differs = False
    for readme, name, made in (("README.md", "race", race_text(race)),
                               ("README.md", "claims", count_text(machines)),
                               ("README.md", "programs", programs_text(programs, PROGRAMS_SHOWN)),
                               ("results/claims.md", "claims", claims_text(machines)),
                               ("results/contenders.md", "programs", programs_text(programs)),
                               ("results/contenders.md", "programs in bf16",
                                programs_text(programs_bf16)),
                               ("results/contenders.md", "programs on a Zen 3",
                                programs_text(programs_more))):
        before = (ROOT / readme).read_text()
        after = with_block(before, name, made)
        differs |= before != after
        sys.stdout.writelines(difflib.unified_diff(
            before.splitlines(True), after.splitlines(True), readme, "by plots/verdicts.py"))
        if not arguments:
            (ROOT / readme).write_text(after)
    return int(differs and bool(arguments))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (PlotsError, OSError) as error:
        sys.exit(f"verdicts.py: {error}")
