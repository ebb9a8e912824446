"""Theme queries: two tags in natural Japanese, and plots of well-known stories told in one sentence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from tests.quality.measure import Judged
from tests.quality.probes.folds import number, probe, sample
from tests.quality.probes.records import Record
from tools.store.search.text.romaji import sound_key

_PAIRS, _FEWEST, _MOST = 60, 15, 300
_WORDINGS = {
    "Sports": ("試合に燃える", "スポーツに打ち込む"), "Music": ("演奏に夢中な", "音楽を題材にした"), "School": ("学校が舞台の", "学生たちの"),
    "Romance": ("甘酸っぱい恋の", "恋に落ちる"), "Horror": ("背筋が凍る", "夜眠れなくなる怖い"), "Mystery": ("謎を追う", "真相に迫る"),
    "Comedy": ("思わず笑ってしまう", "爆笑できる"), "Fantasy": ("剣と魔法の", "幻想的な"), "Sci-Fi": ("近未来を描く", "科学が進んだ世界の"),
    "Historical": ("歴史上の時代を描く", "昔の日本の"), "Military": ("兵士たちの", "軍隊を描いた"), "Time Travel": ("過去に戻ってやり直す", "時を超える"),
    "Isekai": ("別の世界に飛ばされる", "異世界で暮らす"), "Reincarnation": ("生まれ変わった", "前世の記憶を持つ"), "Gourmet": ("美味しそうな食べ物の", "食を楽しむ"),
    "Vampire": ("血を吸う怪物が出てくる", "吸血鬼の"), "Mecha": ("巨大ロボットに乗る", "人型兵器で戦う"), "Medical": ("医者が患者を救う", "病院で働く人の"),
    "Delinquents": ("喧嘩に明け暮れる", "ヤンキーの"), "Organized Crime": ("裏社会を描いた", "やくざの"), "Childcare": ("子供を育てる", "赤ちゃんの世話をする"),
    "Workplace": ("会社で働く人々の", "職場の"), "Samurai": ("刀を振るう武士の", "侍が主人公の"), "Psychological": ("人の心の闇を描く", "精神的に追い詰められる"),
    "Survival": ("生き延びようとする", "極限状態の"), "Girls Love": ("女の子同士の恋の", "百合の"), "Boys Love": ("男同士の恋の", "BLの"),
    "Iyashikei": ("心が安らぐ", "のんびり癒される"), "Adventure": ("冒険に出る", "未知の土地を旅する"), "Supernatural": ("不思議な力が出てくる", "超常現象の"),
    "Martial Arts": ("武術の達人の", "格闘を極める"), "Detective": ("探偵が活躍する", "名探偵の"), "Video Game": ("ゲームの世界に入る", "ゲームが好きな人の"),
    "Harem": ("大勢の女の子に囲まれる", "モテモテの"), "Space": ("宇宙を飛び回る", "宇宙が舞台の"), "Mythology": ("神々が登場する", "神話を元にした"),
}  # fmt: skip
_ENDS = ("話", "漫画", "物語", "作品")


def tag_probes(records: list[Record]) -> Iterator[Judged]:
    """Relevant are the titles with both tags."""
    pairs: Counter[tuple[str, str]] = Counter()
    for record in records:
        pairs.update(combinations(sorted(set(record.get("tags", ())) & set(_WORDINGS)), 2))
    usable = [" + ".join(pair) for pair, count in pairs.items() if _FEWEST <= count <= _MOST]
    for subject in sample(usable, _PAIRS):
        first, second = subject.split(" + ")
        chosen = number(f"wording {subject}")
        query = _WORDINGS[first][chosen % 2] + _WORDINGS[second][chosen // 2 % 2] + _ENDS[chosen // 4 % len(_ENDS)]
        both = [r["title_id"] for r in records if {first, second} <= set(r.get("tags", ()))]
        yield probe("theme, tags", subject, query, True, dict.fromkeys(both, 1))


def plot_probes(records: list[Record]) -> Iterator[Judged]:
    """Relevant are the best known title that is called so, and a little those whose names begin with its name."""
    for line in Path(__file__).with_name("plots.jsonl").read_text(encoding="utf-8").splitlines():
        plot = json.loads(line)
        if relevant := _called(plot["title"], records):
            for language in ("ja", "en"):
                if language in plot:
                    yield probe("theme, plot", plot["title"], plot[language], language == "ja", relevant)


def _called(name: str, records: list[Record]) -> dict[str, int]:
    key = sound_key(name)
    found = [r for r in records if any(sound_key(n).startswith(key) for n in _latin_names(r))]
    exact = [r for r in found if any(sound_key(n) == key for n in _latin_names(r))]
    if not exact:
        return {}
    best = max(exact, key=lambda record: record.get("rating_count") or 0)
    return {**{r["title_id"]: 1 for r in found}, best["title_id"]: 3}


def _latin_names(record: Record) -> list[str]:
    return [name for name in (record["title"].get("romaji"), record["title"].get("en")) if name]
