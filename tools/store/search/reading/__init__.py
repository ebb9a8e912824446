"""Parses a shopper's sentence, in English or Japanese, to conditions, an ordering and a subject to search for.

    reader      runs the steps below, and looks up names in the catalogue
    scanner     splits a text into tokens, by the tables of words (en.toml, ja.toml); `amounts` joins numbers with units
    names       finds names of titles and authors among the tokens, spelled right or nearly
    binder      finds the operator that each fact, amount or name belongs to
    stances     finds the stance towards each of these by a trained model, and compares it with the operator's
    meaning     makes conditions of facts, amounts and names by their stances
    reading     the result: subject, conditions, and the words that state each condition

A fact is something that a title may be, such as "finished" or "cooking". Facts, amounts and names are the items of a text.
An operator is a word that tells the stance towards items, which is wanted, refused, required and the like: "not", "need".
Words that state a condition other than a wanted theme are taken out of the subject, so that no title is found by them.
"""
