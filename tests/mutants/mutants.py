"""Mutants: every small change that Cosmic Ray knows to make to a module, but those that nothing could notice."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

Span = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """The `occurrence`-th place in the module where `operator` can change something, which is in this line. Whatever test
    runs one of the `lines` may notice."""

    path: Path
    operator: str
    occurrence: int
    line: int
    lines: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line} {self.operator} {self.occurrence}"

    def code(self, original: str) -> str | None:
        """The module with the change; None where it changes nothing."""
        changed: str | None = mutate_code(original, cosmic_ray.plugins.get_operator(self.operator)(), self.occurrence)
        return None if changed == original else changed


def mutants_of(root: Path, path: Path) -> Iterator[Mutant]:
    source = path.read_text(encoding="utf-8")
    module = ast.parse(source)
    never_noticed = _never_noticed(module)
    tree = get_ast(source)
    statement = cache(partial(_statement, module))
    for name in sorted(cosmic_ray.plugins.operator_names()):
        operator = cosmic_ray.plugins.get_operator(name)
        if name == "core/NoOp" or operator.arguments():
            continue
        places = (place for node in ast_nodes(tree) for place in operator().mutation_positions(node))
        for occurrence, (start, _) in enumerate(places):
            if not any(first <= start < last for first, last in never_noticed):
                yield Mutant(path.relative_to(root), name, occurrence, start[0], (start[0], *statement(start[0])))


def sample(root: Path, mutants: list[Mutant], size: int, draw: random.Random) -> list[Mutant]:
    """At most `size` of them, and no line twice as long as there are others: ten ways to break one comparison say little."""
    order = draw.sample(mutants, len(mutants))
    lines: set[tuple[Path, int]] = set()
    firsts: list[Mutant] = []
    others: list[Mutant] = []
    for mutant in order:
        (others if (mutant.path, mutant.line) in lines else firsts).append(mutant)
        lines.add((mutant.path, mutant.line))
    return list(islice((mutant for mutant in firsts + others if _is_code(root, mutant)), size))


def _is_code(root: Path, mutant: Mutant) -> bool:
    """Some of what Cosmic Ray makes is no Python, which nobody needs a test to notice, and some is no change."""
    changed = mutant.code((root / mutant.path).read_text(encoding="utf-8"))
    try:
        return changed is not None and bool(ast.parse(changed))
    except SyntaxError:
        return False


def _never_noticed(module: ast.Module) -> list[Span]:
    """Types are not evaluated (PEP 563), and what a dataclass says of itself (frozen, slots) is for mypy and for memory."""
    parts: list[ast.AST | None] = []
    for node in ast.walk(module):
        parts += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.ClassDef):
            parts += [word for each in node.decorator_list if isinstance(each, ast.Call) for word in each.keywords]
    return [
        ((each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset))
        for each in parts
        if isinstance(each, ast.expr | ast.keyword) and each.end_lineno is not None and each.end_col_offset is not None
    ]


def _statement(module: ast.Module, line: int) -> range:
    """Those of the statement: it may be measured at another of its lines. What stands at a function or a class (a decorator,
    a default) is noticed by whoever runs anything in it."""
    around = [
        (first, node)
        for node in ast.walk(module)
        if isinstance(node, ast.stmt)
        for first in [min(part.lineno for part in [node, *getattr(node, "decorator_list", [])])]
        if first <= line <= (node.end_lineno or first)
    ]
    first, inner = max(around, key=lambda found: found[0])
    body = getattr(inner, "body", None)
    if body is None or isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return range(first, (inner.end_lineno or first) + 1)
    return range(first, max(first + 1, body[0].lineno))
