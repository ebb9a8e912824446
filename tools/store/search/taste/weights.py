"""The numbers of the rule. Those of likeness, `fame` and `reach` were measured by leaving out, one at a time, titles that
readers like; `fit` with readers' own tags; the others were judged by eye (infra/docs/recommendations.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TasteWeights:
    """`tags` … `years`: what a title's likeness in each is worth. `disliked`: what likeness in tags to what is disliked
    takes away. `unfamiliar`: what a title is worth that is like nothing.

    Exponents are `fame` and, among hits of a search, `fame_of_hits`, of how well known a title is; `mood`, of how much of a
    mood it is; `fit` and `fit_new`, of how much of the wanted themes it has, for a theme that is `usual` among what a reader
    likes (the share of their titles that have it), and for one that is new to them, or whose taste is not known.
    `least_fit`: the share of the most that any title has of them, below which one is no answer.

    `reach`: how fast a title is worth less that is better or less known than what is liked. `unwanted`: what is left of one
    of the wrong tone."""

    tags: float = 1.0
    readership: float = 0.2
    magazine: float = 0.4
    author: float = 0.4
    years: float = 0.8
    disliked: float = 0.1
    fame: float = 2.0
    reach: float = 2.0
    fit: float = 0.3
    least_fit: float = 0.5
    fit_new: float = 3.0
    usual: float = 0.3
    mood: float = 2.0
    fame_of_hits: float = 0.3
    unfamiliar: float = 0.05
    unwanted: float = 0.1
    rarity: float = 0.75
    """Exponent of a tag's inverse document frequency."""
    span: float = 6.0
    """Years after which likeness in time has fallen to 1/e."""
