"""Parses search queries and ranks titles, for every search engine. A title is one manga series of the catalogue.

    reading        turns a shopper's sentence into conditions, an ordering and a subject to search for
    taste          similarity to one title, and scores by a reader's taste
    ranking        scores for the titles that an engine found: evidence, weights, series, orderings
    conditions     conditions that a title meets or fails
    query          turns a subject into a `ParsedQuery`: names, nicknames, themes, moods
    titles         a title's index terms, texts to embed, and keys of its names and authors
    text           turns characters into normalised text, sound keys and index terms
    columns        arrays of titles' facts

Each of these imports only those below it. An engine (embedded, OpenSearch) finds titles and describes them as
`ranking.candidates.Candidates`. The rules that decide which of them answer the query, and in which order, are only here.
"""
