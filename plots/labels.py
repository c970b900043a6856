# SPDX-License-Identifier: Apache-2.0
"""Labels of lines in figures and tables: the strategy, and the settings that distinguish it."""

from collections.abc import Iterable
from typing import Any

from judgement import MEMBERS, Cell, Variant
from strategies import cell_fields, table
from wording import counts_text, plural

MOST_GROUPS = 3  # groups of cells with equal workers and threads that workers_text() names

# Fields whose values a label shows in a way of their own.
APART = {"strategy", "workers", "options", "global_batch", "oversubscribed", "shared_gpu"}


def _difference(words: tuple[str, ...], value: Any) -> str:
    """`2 processes`, `staleness bound 4`, `no straggler`, `ring`"""
    text = "" if value is None else str(value)
    if not words:
        return text or "none"
    if not text:
        return f"no {words[0]}"
    return f"{words[0]} {text}" if len(words) == 1 else f"{text} {words[value != 1]}"


def _options(variant: Variant, same: list[Variant]) -> list[str]:
    """`ring`, `servers 2`, `recompute full`: options in which variants of a strategy differ. One
    that is not given has no words; an option named like a strategy, an algorithm, needs no name."""
    names = sorted({name for other in same for name, _ in other.options})
    parts = []
    for name in names:
        if len({other.option(name) for other in same}) == 1:
            continue
        if (value := variant.option(name)) is not None:
            words = "" if name in table() else name.replace("_", " ") + " "
            parts.append(f"{words}{value}")
    return parts


def _follows_workers(variants: list[Variant]) -> bool:
    """Whether the number of workers determines the number of processes, as with servers."""
    pairs = {(variant.workers, variant.processes) for variant in variants}
    return len(pairs) == len({variant.workers for variant in variants})


def workers_text(cells: Iterable[tuple[str, int, int]]) -> str:
    """`2 workers × 1 thread; single: 1 worker × 2 threads`: the most frequent first; only ranges
    if there are many. `cells`: strategy, workers, threads per worker."""
    groups: dict[tuple[int, int], dict[str, None]] = {}
    for strategy, workers, threads in cells:
        groups.setdefault((workers, threads), {})[strategy] = None
    if len(groups) > MOST_GROUPS:
        return (f"{counts_text(workers for workers, _ in groups)} workers × "
                f"{counts_text(threads for _, threads in groups)} threads")
    (most, _), *others = sorted(groups.items(), key=lambda group: -len(group[1]))
    return "; ".join(["{} × {}".format(plural(most[0], "worker"), plural(most[1], "thread")), *(
        f"{', '.join(names)}: {plural(workers, 'worker')} × {plural(threads, 'thread')}"
        for (workers, threads), names in others)])


def cell_labels(cells: Iterable[Cell]) -> dict[Cell, str]:
    """The labels() of cells, with the machine if there are several."""
    cells = list(cells)
    names = labels(dict.fromkeys(cell.variant for cell in cells))
    several = len({cell.machine for cell in cells}) > 1
    return {cell: names[cell.variant] + (f", {cell.machine.cores} cores of {cell.machine.cpu}"
                                         if several else "") for cell in cells}


def labels(variants: Iterable[Variant]) -> dict[Variant, str]:
    """The label of each variant: its strategy, and settings that differ among its variants."""
    variants = list(variants)
    result: dict[Variant, str] = {}
    for variant in variants:
        same = [other for other in variants if other.strategy == variant.strategy]
        parts = [variant.strategy]
        if len({other.workers for other in same}) > 1:
            parts.append(f"{variant.workers} worker" + "s" * (variant.workers != 1))
        parts += _options(variant, same)
        for name, field in cell_fields().items():
            if name in APART or name not in MEMBERS:
                continue
            found = {getattr(other, name) for other in same}
            if len(found) > 1 and not (name == "processes" and _follows_workers(same)):
                parts.append(_difference(field.label, getattr(variant, name)))
        if len({other.length for other in same}) > 1:
            parts.append(variant.length or "usual length")
        for name, value in variant.others:
            if len({dict(other.others).get(name) for other in same}) > 1:
                words = cell_fields()[name].label if name in cell_fields() else ()
                parts.append(_difference(words or (name.replace("_", " "),), value))
        if len({other.global_batch for other in same}) > 1:
            parts.append(f"batch {variant.global_batch}")
        if variant.oversubscribed and not all(other.oversubscribed for other in same):
            parts.append("oversubscribed")
        shared = {other.shared_gpus or other.shared_gpu for other in same}
        if variant.shared_gpu and len(shared) > 1:
            gpus = variant.shared_gpus or 1
            parts.append("shared GPU" if gpus == 1 else f"{gpus} shared GPUs")
        result[variant] = ", ".join(parts)
    return result
