"""Reads a shopper's search conditions from query text and tool arguments, and applies the conditions to results.

    arguments    conditions as tool arguments: schema, accepted spellings, conversion
    wanted       merges query text and arguments into one search request, the `Want`
    remembered   adds the customer's remembered preferences to the conditions of a call
    finding      finds the titles for a `Want`; drops conditions or offers similar titles if nothing matches
    offers       checks conditions on price, format and stock against live stock
    releases     detects questions about release dates

`tools.store.search.conditions` decides whether a title satisfies a condition."""
