"""What is not wanted: "no gore", "anything but isekai", ホラー以外, 恋愛要素なし.

    unwanted             the finder: both languages, and phrases that exclude by themselves
    english              words of negation before and after what they exclude, lists, and where a negation ends
    japanese             what stands after what it excludes, and the lists before it
    english_wordings,
    japanese_wordings    the words of negation, and the ones that look like it and negate nothing
    head                 what ends a description before a list, and is wanted
    exclusion            what was found, as a claim

The things themselves are the vocabulary's (`tools.store.search.reading.vocabulary`), which knows them in both languages.
"""
