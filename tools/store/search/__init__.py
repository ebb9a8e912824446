"""The meaning of queries and the ranking of titles, for every engine. Uppermost first:

    likeness       titles like what a reader likes, and titles like one title
    ranking        evidence of what a backend recalled to one order: weights, fusion, series, orderings
    taste          which titles are to a reader's taste
    conditions     what a title has to satisfy exactly, whatever it is about: the one definition for every backend
    query          free text to a `ParsedQuery`: wordings, nicknames, themes
    titles         a title as keys of names and authors, index terms, and texts to embed
    text           characters to comparable keys and terms

A backend (embedded, OpenSearch) recalls titles and says what it knows of them (`ranking.candidates.Candidates`); everything
that decides which of them answer, and in which order, stands here once.
"""
