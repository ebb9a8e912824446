"""What a shopper says of what it has to be, for the tools that obey it: by the words of a query and by arguments alike.

    arguments    the conditions as optional arguments, and what is made of them
    spelling     how these may be written besides
    without      what must not be in it, by the catalogue's own names
    ruled_out    what is asked for and ruled out in one call
    wanted       words and arguments to one `Want`: what is looked for, what has to hold, what was understood
    differing    what is to be otherwise than in a title that is compared with
    finding      a want to what the catalogue has of it
    by_name      titles for adults, which come where the text is the name of one
    relaxing     where nothing is left: which condition to let go, and which never
    nearly       what to offer where nothing matches
    offers       what live stock alone can tell: what was sold out since, what costs more now
    understood   what an answer says of the conditions
    wording      a condition in a few English words

What satisfies a condition is decided below, in `tools.store.search.conditions`.
"""
