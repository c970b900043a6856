# SPDX-License-Identifier: Apache-2.0
"""The claims of a report page: textbook statements tested by the records. From judgement.json."""

from dataclasses import dataclass
from typing import Any

from inline_svg import Graphic

Json = dict[str, Any]

VERDICTS = {"holds": "holds here", "does not hold here": "does not hold here", "mixed": "mixed",
            "undecided": "not decided"}


@dataclass
class Claim:
    name: str
    title: str
    taught: str
    verdict: str
    verdict_text: str
    because: str
    decided: str  # number of comparisons for it, against it, and undecided
    numbers: list[str]  # a line for each comparison
    figure: str
    missing: str  # the command that would decide it; empty: it is decided, or no command would
    graphic: Graphic | None = None
    see: str = ""  # an earlier claim that shows the same figure


def decided_text(claim: Json) -> str:
    """`3 for, 1 against, 2 not decided`"""
    counts = [(claim["yes"], "for"), (claim["no"], "against"), (claim["unclear"], "not decided")]
    return ", ".join(f"{count} {word}" for count, word in counts if count) or "no comparison"


def claims_of(judgement: Json) -> list[Claim]:
    return [Claim(one["name"], one["name"].replace("_", " "), one["taught"],
                  one["verdict"].replace(" ", "_"), VERDICTS[one["verdict"]],
                  one["because"], decided_text(one), one["numbers"], one["figure"], one["missing"])
            for one in judgement["claims"]]


def command_that_decides(judgement: Json) -> str:
    """The command with the most seeds that undecided claims need; empty if all are decided."""
    undecided = [one for one in judgement["claims"] if one["missing"]]
    return max(undecided, key=lambda one: one["seeds"])["missing"] if undecided else ""
