"""The rule: how much a title is to a reader's taste.

    worth = (likeness to what is liked, less that to what is disliked) × fame^a × e^(-c |fame - usual fame|) × fit

The product, as in a log-linear model, lets fame choose among what is equally like, and never bring in what is not.
"""

from __future__ import annotations

import numpy as np

from tools.store.models import ReaderQuery
from tools.store.search.arrays import Floats
from tools.store.search.taste.candidates import TasteCandidates
from tools.store.search.taste.profile import Profile, Rarity
from tools.store.search.taste.weights import TasteWeights

_LEAST_FAME = np.float32(0.02)
"""What nothing is known of can still be chosen where nothing else fits."""


def worth(query: ReaderQuery, profile: Profile, titles: TasteCandidates, rarity: Rarity, weights: TasteWeights) -> Floats:
    """For each candidate, 0 for those that have nothing of what was asked for."""
    found = fit(query, profile, titles, rarity, weights) * fame(query, profile, titles, weights)
    if profile:
        found = found * likeness(profile, titles, weights)
    if query.unwanted:
        found = np.where(titles.tagged(query.unwanted), found * np.float32(weights.unwanted), found)
    return np.asarray(found, np.float32)


def fame(query: ReaderQuery, profile: Profile, titles: TasteCandidates, weights: TasteWeights) -> Floats:
    """What being well known is worth. A search has weighed it already, so that among its hits it counts little."""
    known = np.maximum(titles.prior, _LEAST_FAME)
    if query.fits is not None:
        return np.asarray(known ** np.float32(weights.fame_of_hits), np.float32)
    found = known ** np.float32(weights.fame)
    if profile.fame is not None:
        found = found * np.exp(np.float32(-weights.reach) * np.abs(titles.prior - np.float32(profile.fame)))
    return np.asarray(found, np.float32)


def likeness(profile: Profile, titles: TasteCandidates, weights: TasteWeights) -> Floats:
    """To what is liked; never below what an unfamiliar title is worth."""
    score = np.float32(weights.tags) * titles.sharing(profile.tags)
    score = score + np.float32(weights.readership) * titles.of_readerships(profile.readerships)
    score = score + np.float32(weights.magazine) * np.sqrt(titles.of_magazines(profile.magazines))
    score = score + np.float32(weights.author) * titles.of_authors(profile.authors)
    score = score + np.float32(weights.years) * titles.near_years(profile.years, weights.span)
    if profile.disliked:
        score = score - np.float32(weights.disliked) * titles.sharing(profile.disliked)
    return np.asarray(np.maximum(score, np.float32(weights.unfamiliar)), np.float32)


def fit(query: ReaderQuery, profile: Profile, titles: TasteCandidates, rarity: Rarity, weights: TasteWeights) -> Floats:
    """0 to 1: what a search found of a title, times the share of the wanted themes that it has, times how much it is of the
    mood. 1 for all where nothing is asked for."""
    found: Floats = np.ones(len(titles.prior), np.float32)
    if query.fits is not None:
        found = found * titles.worth(query.fits)
    if query.wanted:
        found = found * _themes(query, profile, titles, rarity, weights)
    if query.mood:
        found = found * titles.sharing(rarity.unit(query.mood)) ** np.float32(weights.mood)
    return np.asarray(found, np.float32)


def _themes(query: ReaderQuery, profile: Profile, titles: TasteCandidates, rarity: Rarity, weights: TasteWeights) -> Floats:
    """Each theme counts by how rare it is; one that no title has is passed over as long as another is known. What a reader
    likes anyway is little news; a theme that their shelf lacks is what they are after, and what lacks it too fits ill."""
    masses = [max(map(rarity, group), default=0.0) for group in query.wanted]
    most = max(1e-6, sum(masses))
    found: Floats = np.ones(len(titles.prior), np.float32)
    share: Floats = np.zeros(len(titles.prior), np.float32)
    for group, mass in zip(query.wanted, masses, strict=True):
        had, part = _had(group, mass, titles, rarity), np.float32(mass / most)
        exponent = weights.fit + (weights.fit_new - weights.fit) * _novelty(group, query, profile, weights)
        share = share + part * had
        found = found * (1 - part * (1 - had)) ** np.float32(exponent)
    enough = share >= np.float32(weights.least_fit) * share.max(initial=0.0)
    return np.asarray(np.where(enough, found, np.float32(0.0)), np.float32)


def _had(group: tuple[str, ...], mass: float, titles: TasteCandidates, rarity: Rarity) -> Floats:
    """How much of a theme each title has: of its tags the rarest says most, "Football" more than "Team Sports"."""
    had: Floats = np.zeros(len(titles.prior), np.float32)
    for tag in group:
        had = np.maximum(had, np.float32(rarity(tag) / max(1e-6, mass)) * titles.tagged((tag,)))
    return had


def _novelty(group: tuple[str, ...], query: ReaderQuery, profile: Profile, weights: TasteWeights) -> float:
    """0 for a theme that is usual among what the reader likes, 1 for one that is not, or where nothing is known of them."""
    told = sum(each.weight for each in query.liked)
    carried = sum(each.weight for each in query.liked if not set(group).isdisjoint(each.title.tags))
    usual = min(1.0, carried / (weights.usual * told)) if told else 0.0
    return 1.0 - usual * profile.mass
