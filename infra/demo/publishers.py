"""Maps a magazine to its publisher's registrant number, which is part of an ISBN. The registrant numbers are the publishers'
real ones (general knowledge of the trade); the demo makes up the digits after them."""

from __future__ import annotations

import re

from infra.demo.drawing import whole

_MAGAZINES = {
    "08": "Jump, Margaret, Ribon, Cookie, Cocohana, Chorus, You, Zebrack",
    "592": "Hana to Yume, LaLa, Melody, Young Animal, Manga Park, Le Paradis, Silky",
    "253": "Champion, Princess, Manga Cross, Elegance, Mystery Bonita",
    "7859": "Young King, Nekketsu",
    "7575": "Gangan, GFantasy, Manga UP, Stencil",
    "396": "Feel, Zipper, On Blue",
    "8322": "Manga Time, Comic Fuz, Hanaoto",
    "8019": "Kindai Mahjong, Gamma, Manga Life, Storia",
    "575": "Action, Futabasha, Gaugau, Comic High, Jour",
    "10": "Bunch, Shinchosha",
    "19": "Animage, Ryu, Zenon, Chara",
    "403": "Wings, Dear+",
    "334": "Kobunsha",
    "344": "Birz, Boost, Rutile",
    "7580": "Zero-Sum, Yuri Hime, REX, pixiv, Pool",
    "8000": "Blade, Magcomi, Avarus, Comic Garden",
    "7926": "Garo",
    "537": "Goraku, Heaven",
    "257": "Halloween, Nemuki",
    "09": "Sunday, Big Comic, Shojo Comic, Sho-Comi, Betsucomi, Ciao, Flowers, Ikki, CoroCoro, Cheese, Petit Comic",
    "04": "Dengeki, Alive, Harta, Fellows, Beam, Dragon, Ace, Asuka, Flapper, Gene, ComicWalker, COM",
    "06": "Magazine, Nakayoshi, Afternoon, Morning, Evening, Kiss, Dessert, Be Love, Friend, Sirius, ITAN, BomBom",
}
"""Registrant numbers, each with words in the names of its magazines.

The first row with a word in the name counts, so general words (Gene, Magazine) come after special ones that contain them
(Sunday Gene-X, Dragon Magazine).
"""


def registrant(magazine: str) -> str:
    """Returns the publisher's registrant number, 2 to 4 digits, made up for an unlisted magazine."""
    for number, words in _MAGAZINES.items():
        if any(_is_word_of(word, magazine) for word in words.split(", ")):
            return number
    return str(whole(8400, 8499, "registrant", magazine))


def _is_word_of(word: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", name, re.IGNORECASE) is not None
