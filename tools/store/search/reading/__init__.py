"""What a shopper says around a subject: conditions, orderings, comparisons, in English and Japanese, in any order.

    reader      a text to its `Reading`: every kind of claim is looked for, names are asked of the catalogue
    reading     what came of it: the subject that is left, what has to hold, what was understood by which words
    claim       one condition that some words of the text state; a module for each kind finds its own

A word that states a condition pulls no title by it: it is taken out of the subject. What is a title's name states nothing.
"""
