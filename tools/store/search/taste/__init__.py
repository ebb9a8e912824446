"""Which titles are to a reader's taste: one rule for every catalogue, over what each knows of its titles.

rule          likeness to what is liked, times fame, times how well a title fits what was asked for
profile       what a reader likes, as shares of tags, readerships, magazines, authors and years
candidates    what a catalogue tells of the titles that the rule puts in order
weights       the numbers of the rule, measured (infra/docs/recommendations.md)
"""
