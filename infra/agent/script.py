"""The scripted conversation: what the customer asks, what the model does, and its answers, made of what the tools found."""

from __future__ import annotations

from infra.agent.scripted import Json, Say, Use

# Each question with the rounds of tools that its answer is likely to need.
QUESTIONS = (
    ("I'm in the mood for dark fantasy with swords and demons. What do you have on the shelf?", 2),
    ("And for my niece, who is ten? It should be finished, under ten volumes, and nothing gory.", 1),
    ("Good. And where is my order MNG-DEMO1002?", 1),
    ("Recommend me a dozen like those, but nothing I already own.", 2),
)


def shelf(results: list[Json]) -> str:
    found, stock = results
    names = {card["title_id"]: card["title"] for card in found["results"]}
    here = [f"{names[each['title_id']]} ({_terms(each)})" for each in stock["items"] if each["in_stock"]]
    return f"You can have {', '.join(here)}." if here else "Nothing of that kind is in stock right now."


def _terms(item: Json) -> str:
    missing = ", ".join(str(each) for each in item["missing_volumes"])
    return f"¥{item['price_jpy']} a volume{f', all but {missing}' if missing else ''}"


def gift(results: list[Json]) -> str:
    found = results[-1]
    titles = [card["title"] for card in found["results"]]
    heard = [each["condition"] for each in found.get("understood", [])]
    return f"For her there {'are' if len(titles) > 1 else 'is'} {', '.join(titles)}: {', '.join(heard)}."


def order(results: list[Json]) -> str:
    found = results[-1]
    parcels = [f"{each['carrier']} says {each['status'].replace('_', ' ')}" for each in found["shipments"]]
    return f"Order {found['order_id']} is {found['status'].replace('_', ' ')}{': ' if parcels else ''}{'; '.join(parcels)}."


def advice(results: list[Json]) -> str:
    titles = [card["title"] for card in results[-1]["recommendations"]]
    return f"I can name ten at a time; start with {', '.join(titles[:3])}."


SCRIPT: tuple[Use | Say, ...] = (
    Use("search_manga_catalog", {"query": "dark fantasy with swords and demons", "max_results": 3}),
    Use("check_inventory"),  # without ids: those of the search
    shelf,
    Use(
        "search_manga_catalog", {"query": "finished, under ten volumes, nothing gory, for a ten-year-old", "max_results": 3}
    ),
    gift,
    Use("lookup_order", {"order_id": "MNG-DEMO1002"}),
    order,
    Use("get_recommendations", {"criteria": "dark fantasy with swords and demons", "count": 12}),  # 10 is the most
    Use("get_recommendations", {"criteria": "dark fantasy with swords and demons", "count": 10}),
    advice,
)
SCRIPTED_OUTCOMES = ["success", "success", "success", "success", "VALIDATION_ERROR", "success"]
