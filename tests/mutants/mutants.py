"""Mutants: every small change that Cosmic Ray knows to make to a module, but those that nothing runs."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """The `occurrence`-th place in the module where `operator` can change something, which is in this line."""

    path: Path
    operator: str
    occurrence: int
    line: int

    def code(self, original: str) -> str | None:
        """The module with the change; None where it changes nothing."""
        changed: str | None = mutate_code(original, cosmic_ray.plugins.get_operator(self.operator)(), self.occurrence)
        return None if changed == original else changed


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    source = path.read_text(encoding="utf-8")
    never_run = _annotations(source)
    tree = get_ast(source)
    for name in sorted(cosmic_ray.plugins.operator_names()):
        operator = cosmic_ray.plugins.get_operator(name)
        if name == "core/NoOp" or operator.arguments():
            continue
        places = (place for node in ast_nodes(tree) for place in operator().mutation_positions(node))
        for occurrence, (start, _) in enumerate(places):
            if not any(first <= start < last for first, last in never_run):
                yield Mutant(path.relative_to(root), name, occurrence, start[0])


def sample(mutants: list[Mutant], size: int, draw: random.Random) -> list[Mutant]:
    """At most `size` of them, and no line twice as long as there are others: ten ways to break one comparison say little."""
    order = draw.sample(mutants, len(mutants))
    first: dict[tuple[Path, int], Mutant] = {}
    for mutant in order:
        first.setdefault((mutant.path, mutant.line), mutant)
    chosen = list(first.values())[:size]
    return chosen + [mutant for mutant in order if mutant not in chosen][: size - len(chosen)]


def _annotations(source: str) -> list[Span]:
    """Types are not evaluated (PEP 563), so that nothing can notice a change of one."""
    nodes = ast.walk(ast.parse(source))
    types = (each for node in nodes for each in (getattr(node, "annotation", None), getattr(node, "returns", None)))
    return [
        ((each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset))
        for each in types
        if isinstance(each, ast.expr) and each.end_lineno is not None and each.end_col_offset is not None
    ]
