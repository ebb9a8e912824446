"""A shopper's search conditions, read from query text and tool arguments, for the tools that apply them.

    arguments    conditions as optional tool arguments: their schema, accepted spellings and conversion
    wanted       merges text and arguments into one `Want`, and describes to the model how they were understood
    remembered   applies the customer's remembered preferences beside the conditions of one call
    finding      finds the titles of a `Want`; drops conditions or offers similar titles if nothing matches
    offers       checks live stock: titles sold out, or dearer, since the catalogue was loaded
    releases     detects questions about release dates

`tools.store.search.conditions` decides whether a title satisfies a condition.
"""
