"""What a query means and how hits are ranked, whatever engine finds them.

    text, romaji, tokens    characters to comparable keys and terms
    people, filters         exact predicates
    aliases, themes         curated words: nicknames of titles, and what readers call a tag
    names, document         a title as its terms and name keys
    query                   free text to a `Reading`: which legs to run and with what
    fusion                  the legs' hits to one order with a relevance floor

An engine (embedded, OpenSearch) runs the legs and knows nothing of the rest.
"""
