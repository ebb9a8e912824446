// The server's English sentences (reasons, conditions) as a Japanese customer reads them. An unknown one stays
// English, and is marked as such for screen readers.

const tags = (names) => names.split(", ").map(tag).join("・");
const READERS = { shonen: "少年漫画", shojo: "少女漫画", seinen: "青年漫画", josei: "女性漫画", kodomo: "児童漫画" };
const DID = { named: "お話に出た", have: "お持ちの", "looked at": "ご覧になった", like: "お好きな", ordered: "ご注文いただいた", "searched for": "お探しの" };
const known = (how) => among(DID, how) || "ご存じの";

const REASONS = [
  [/^has (.+)$/i, (m) => `${tags(m[1])}の要素がある作品です`],
  [/^shares (.+?) with (.+), which you (.+)$/i, (m) => `${known(m[3])}「${m[2]}」と同じ${tags(m[1])}の作品です`],
  [/^by (.+?), who also made (.+), which you (.+)$/i, (m) => `${known(m[3])}「${m[2]}」と同じ作者（${m[1]}）の作品です`],
  [/^you looked at it before$/i, () => "以前にご覧になった作品です"],
  [/^number (\d+) in popularity$/i, (m) => `人気順で${m[1]}位の作品です`],
  [/^(\d+) volumes?$/i, (m) => `${m[1]}巻`],
  [/^from (\d{4})$/i, (m) => `${m[1]}年連載開始`],
  [/^by (.+)$/i, (m) => `${m[1]}の作品`],
];

const CONDITIONS = [
  [/^finished$/i, () => "完結"], [/^still running$|^publishing$/i, () => "連載中"], [/^on hiatus$/i, () => "休載中"],
  [/^(?:fit )?for all ages$/i, () => "全年齢向け"], [/teenagers or younger$/i, () => "13歳から"], [/^for 16 or younger/i, () => "16歳から"],
  [/^nothing adult$/i, () => "成人向けを除く"], [/^in stock$/i, () => "在庫あり"], [/^all volumes in stock$/i, () => "全巻在庫あり"],
  [/^at most ([\d,]+) volumes?$/i, (m) => `${m[1]}巻以内`], [/^at least ([\d,]+) volumes?$/i, (m) => `${m[1]}巻以上`],
  [/^at most ([\d,]+) yen a volume$/i, (m) => `1冊${m[1]}円以下`], [/^at most ([\d,]+) yen for the series$/i, (m) => `全巻で${m[1]}円以下`],
  [/^at most ((?:[A-Z]{3} )?[^a-z]+) a volume$/, (m) => `1冊${m[1]}以下`], [/^at most ((?:[A-Z]{3} )?[^a-z]+) for the series$/, (m) => `全巻で${m[1]}以下`],
  [/^without (.+)$/i, (m) => `${m[1].split(" or ").map(tag).join("・")}なし`], [/^not by (.+)$/i, (m) => `${m[1]}の作品以外`],
  [/^rated at least (.+)$/i, (m) => `評価${m[1]}以上`], [/^like (.+)$/i, (m) => `「${m[1]}」に似た作品`],
  [/^begun in (\d+) or later$/i, (m) => `${m[1]}年以降に開始`], [/^begun by (\d+)$/i, (m) => `${m[1]}年までに開始`],
  [/^on paper$/i, () => "紙の本"], [/^digital$/i, () => "電子書籍"], [/^newest first$/i, () => "新しい順"], [/^cheapest first$/i, () => "安い順"],
  [/^most popular first$/i, () => "人気順"], [/^best rated first$/i, () => "評価順"], [/^shortest first$/i, () => "巻数の少ない順"],
];

function turned(text, table) {
  for (const [pattern, put] of table) {
    const match = pattern.exec(text);
    if (match) return put(match);
  }
  return among(READERS, text.toLowerCase());
}

/** The reason of a recommendation, in the customer's language, without the rating, which stands beside it. */
function reasonOf(value) {
  const text = plain(value, 400)?.replace(/\s*Rated [\d.]+ of 5\.$/, "") || null;
  if (text === null || language() !== "ja") return text;
  const parts = text.replace(/\.$/, "").split("; ").map((part) => turned(part, REASONS) || turned(part, CONDITIONS));
  return parts.includes(null) ? text : `${parts.join("。")}。`;
}

/** A condition that was understood, in the customer's language. */
function conditionOf(value) {
  const text = plain(value, 80);
  if (text === null || language() !== "ja") return text;
  return turned(text, CONDITIONS) || tag(text);
}
