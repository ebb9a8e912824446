"""A shopper's conditions, from the words of a query and from arguments alike, for the tools that obey them.

    arguments    the conditions as optional arguments, how these may be written besides, and what is made of them
    wanted       words and arguments to one `Want`: what is looked for, what has to hold, what is ruled out and compared with
    remembered   what the customer asked to be remembered, beside the conditions of one call
    finding      a want to what the catalogue has of it; what is let go, and what is offered, where nothing is left
    offers       what live stock alone can tell: what was sold out since, what costs more now
    releases     questions of what comes out and when
    understood   what an answer says of the conditions

What satisfies a condition is decided below, in `tools.store.search.conditions`.
"""
