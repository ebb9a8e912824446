"""The meaning of queries and the ranking of titles, for every engine. Uppermost first:

    taste          titles like one title, and titles to a reader's taste
    ranking        from evidence of recalled titles to one order: weights, fusion, series, orderings
    conditions     conditions that a title satisfies or not
    query          free text to a `ParsedQuery`: wordings, nicknames, themes
    titles         a title as keys of names and authors, index terms, and texts to embed
    text           characters to comparable keys and terms

A backend (embedded, OpenSearch) recalls titles and describes them (`ranking.candidates.Candidates`); the rules that decide
which of them are answers, and in which order, are here only.
"""
