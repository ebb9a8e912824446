"""What was found not to be wanted, and the claim it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tools.store.models import Conditions
from tools.store.search.reading.claim import About, Claim
from tools.store.search.reading.vocabulary import Named


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`text[start:end]` excludes what is `named`, readerships (`genres`) and what goes by `names`; `mild`: less of it;
    `excepts`: by a word that as well excepts a title ("besides")."""

    start: int
    end: int
    named: tuple[Named, ...] = ()
    genres: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    mild: bool = False
    excepts: bool = False

    def beside(self, asked: frozenset[str]) -> Exclusion:
        """Without tags of what is asked for: "sad but not tragic" may be a drama, "horror but not violent" is horror."""
        return replace(self, named=tuple(replace(each, aversion=each.aversion.beside(asked)) for each in self.named))

    def claim(self, text: str) -> Claim:
        """Of what is only wanted less, the tags that it names; of what is not wanted, those that may well hold it too."""
        tags = tuple(dict.fromkeys(self._tags()))
        names, about = (self.names, About.EXCLUDED) if self.names else self._called(text)
        return Claim(
            self.start,
            self.end,
            says=self._says(text),
            conditions=Conditions(without_tags=tags, without_genres=self.genres),
            names=names,
            about=about,
            obeyed=bool(tags or self.genres or self.names),
        )

    def _called(self, text: str) -> tuple[tuple[str, ...], About | None]:
        """The words of the themes, which may be a name: those of several only where an exception is stated."""
        if not self.named or self.genres:
            return (), None
        words = text[self.named[0].start : self.named[-1].end]
        if self.excepts:
            return (words,), About.EXCEPTED
        return ((words,), About.NAMESAKE) if len(self.named) == 1 else ((), None)

    def _tags(self) -> Iterator[str]:
        for each in self.named:
            yield from each.aversion.tags
            if not self.mild or not each.aversion.tags:
                yield from each.aversion.also

    def _says(self, text: str) -> str:
        """The tags of each thing. What the catalogue has no tag for is excluded by nothing, and is said to be so."""
        untagged = [text[each.start : each.end] for each in self.named if not (each.aversion.tags or each.aversion.also)]
        said = [*self._chief(), *self.genres, *self.names[:1]] or untagged
        more = " and the like" if not self.mild and any(each.aversion.also for each in self.named) else ""
        unknown = f" (no tag for {', '.join(untagged)})" if untagged and said is not untagged else ""
        return f"without {', '.join(dict.fromkeys(said))}{more}{unknown}"

    def _chief(self) -> Iterator[str]:
        for each in self.named:
            yield from each.aversion.tags or each.aversion.also[:1]
