"""For whom it is to be: "for my niece who is 8", "family-friendly", 小学生の姪に, 大人向け, 成人向け.

    recipient   the finder: the audience that the words bound
    wordings    people, groups and ages, English and Japanese
    places      where children read
    another     whether it is for somebody else at all
    ages        ages and school years, and the audience that publishers would give them to

Which titles are fit for an audience is another rule: `tools.store.search.conditions.audience`.
"""
