"""What a query means and how hits are ranked, whatever engine finds them.

    text, romaji, tokens    characters to comparable keys and terms
    people, filters         exact predicates
    aliases, themes         curated words: nicknames of titles, and what readers call a tag
    names, loans, document  a title as name keys, index terms and texts to embed
    query, phrases          free text to a `Reading`: what the legs are to look for
    naming, candidates      the evidence of single titles, for engines that answer with hits
    evidence, fusion        the legs' evidence to one order with a relevance floor

An engine (embedded, OpenSearch) runs the legs and knows nothing of the rest.
"""
