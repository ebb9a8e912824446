"""Parses search queries and ranks titles, for every search engine. A title is one manga series of the catalogue.

    reading        a shopper's sentence to conditions, an ordering and a subject to search for
    taste          similarity to one title, and scores by a reader's taste
    ranking        scores for the titles that an engine found: evidence, weights, series, orderings
    conditions     conditions that a title meets or fails
    query          a subject to a `ParsedQuery`: names, nicknames, themes, moods
    titles         a title's index terms, texts to embed, and keys of its names and authors
    text           characters to normalised text, sound keys and index terms
    columns        arrays of titles' facts

Each of these imports only those below it. An engine (embedded, OpenSearch) finds titles and describes them as
`ranking.candidates.Candidates`. The rules that decide which of them answer the query, and in which order, are only here.
"""
