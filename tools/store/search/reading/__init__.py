"""Reads the conditions, orderings and comparisons around a subject, in English and Japanese, in any order.

    reader      a text to its `Reading`: scanned, its names asked of the catalogue, bound, and made conditions of
    scanner     a text to tokens, by the tables (en.toml, ja.toml); amounts puts numbers and units together
    names       what may be a title or an author, spelled right or nearly
    binder      which operator each fact belongs to
    stances     what the words around a fact say of it, by a model of phrases (stances.txt.gz), weighed against its operators
    meaning     what the facts come to
    reading     what came of it: the subject that is left, what has to hold, what was understood by which words

"cooking, not over 700 yen": the scanner makes a fact (cooking), a break and an amount (at most 700; "not over" is in
en.toml) of it; the binder finds no operator before them; the model says that both are wanted; meaning makes `tags` and
`price=Range(None, 700)` of them, and the subject "cooking" is left to be searched by.

A word that states a condition is taken out of the subject, so that no title is found by it. A title's name states nothing.
"""
