// The shop's own words in English and Japanese, and the server's English words as a Japanese customer reads them.

const WORDS = {
  en: {
    yen: (digits) => `¥${digits}`, yourTime: (at) => `(${at} your time)`,
    shonen: "Shōnen", shojo: "Shōjo", seinen: "Seinen", josei: "Josei", kodomo: "Children",
    all_ages: "All ages", teen: "From 13", older_teen: "From 16", adult: "Adults only",
    Publishing: "ongoing", Finished: "complete", "On Hiatus": "on hiatus", Discontinued: "discontinued",
    physical: "Paper", digital: "E-book", set: "Full set", used_set: "Used set",
    in_stock: "In stock", left: (n) => ` (${n})`, few: "Few left", out: "Out of stock", preorder: "Pre-order", download: "Download",
    partly: "Some volumes", digital_only: "E-book only", last_known: "Stock not checked", unknown: "Stock not known",
    volumes: (n) => (n === "1" ? "1 volume" : `${n} volumes`), volsAnd: (n, what) => [n === "1" ? "1 vol." : `${n} vols`, what].filter(Boolean).join(", "), volume: (n) => `Vol. ${n}`,
    rated: (n) => `Rated ${n} of 5`, until: (date) => ["until ", date], instead: (price) => `instead of ${price}`,
    back: "Back", tryAgain: "Try again",
    waiting: "Looking…", asked: "Asked in the conversation.", notAsked: "That did not work just now.",
    standby: "From our stand-by catalogue: some titles may be missing.",
    popular: "The search does not answer just now. These are favourites we keep at hand.",
    lastKnown: "As we last knew it; some of it may have changed.",
    stale: (at) => ["As of ", at, "."], noStock: "Price and stock could not be checked just now.",
    partial: "Part of our catalogue did not answer in time.", truncated: "Shortened to fit.",
    sorry: "That did not work", soon: "Something on our side is slow. A second try usually helps.",
    notFound: "We could not find that", notFoundMore: "It may go by another name, or the number may be mistyped.",
    signIn: "Please sign in", signInMore: "Your own orders and wishes are shown once you are signed in.",
    unclear: "We did not quite understand", unclearMore: "Please say it again in other words.",
    busy: "Many people are in the shop right now", off: "This is not offered at the moment", offMore: "Please ask for it in another way.",
    loading: "One moment…", cancelled: "This was stopped before it was finished.", contentNotes: "Contains",
  },
  ja: {
    yen: (digits) => `${digits}円`, yourTime: (at) => `（お客様の地域では ${at}）`,
    shonen: "少年", shojo: "少女", seinen: "青年", josei: "女性", kodomo: "児童",
    all_ages: "全年齢", teen: "13歳以上", older_teen: "16歳以上", adult: "18歳以上",
    Publishing: "連載中", Finished: "完結", "On Hiatus": "休載中", Discontinued: "未完",
    physical: "紙の本", digital: "電子書籍", set: "全巻セット", used_set: "古本セット",
    in_stock: "在庫あり", left: (n) => `（${n}点）`, few: "残りわずか", out: "在庫切れ", preorder: "予約受付中", download: "ダウンロード",
    partly: "一部在庫切れ", digital_only: "電子書籍のみ", last_known: "在庫未確認", unknown: "在庫不明",
    volumes: (n) => `${n}巻`, volsAnd: (n, what) => [`${n}巻`, what].filter(Boolean).join("・"), volume: (n) => `${n}巻`,
    rated: (n) => `5点満点中${n}点`, until: (date) => [date, "まで"], instead: (price) => `通常価格 ${price}`,
    back: "戻る", tryAgain: "もう一度試す",
    waiting: "確認しています…", asked: "チャットに送信しました。", notAsked: "ただいま処理できませんでした。",
    standby: "予備の目録からご案内しています。一部の作品が表示されない場合があります。",
    popular: "ただいま検索をご利用いただけません。代わりに人気の作品をご案内します。",
    lastKnown: "最後に確認できた時点の情報です。最新の状況と異なる場合があります。",
    stale: (at) => [at, " 時点の情報です。"], noStock: "ただいま価格と在庫を確認できません。",
    partial: "一部の情報を時間内に取得できませんでした。", truncated: "長いため一部を省略しています。",
    sorry: "処理できませんでした", soon: "ただいま応答に時間がかかっています。しばらくしてからもう一度お試しください。",
    notFound: "見つかりませんでした", notFoundMore: "別の名称で登録されているか、番号に誤りがあるかもしれません。",
    signIn: "ログインしてください", signInMore: "ご注文やお好みは、ログインするとご覧いただけます。",
    unclear: "ご要望を読み取れませんでした", unclearMore: "恐れ入りますが、別の言い方でもう一度お試しください。",
    busy: "ただいま混み合っています", off: "ただいまご利用いただけません", offMore: "別の方法でお尋ねください。",
    loading: "少々お待ちください…", cancelled: "処理は途中で中止されました。", contentNotes: "含まれる表現",
  },
};

/** Adds the words that one card alone has. */
const speak = (words) => ["en", "ja"].forEach((each) => Object.assign(WORDS[each], words[each]));

const surroundings = { locale: "en", zone: null };

const locale = () => surroundings.locale;
const language = () => (surroundings.locale.startsWith("ja") ? "ja" : "en");
const ownZone = () => surroundings.zone;

/** Takes language and time zone from the host's context; English for other languages. */
function follow(host) {
  const { locale: wanted, timeZone } = object(host);
  const asked = typeof wanted === "string" ? wanted.replaceAll("_", "-").replace(/[.@].*$/, "") : "en";
  const [found] = attempt(() => Intl.DateTimeFormat.supportedLocalesOf([asked])) || [];
  surroundings.locale = found && /^(en|ja)\b/.test(found) ? found : "en";
  surroundings.zone = typeof timeZone === "string" && attempt(() => new Intl.DateTimeFormat("en", { timeZone })) ? timeZone : null;
  document.documentElement.lang = language();
}

/** The shop's word of this name in the customer's language, with its values filled in; null without one. */
function word(name, ...values) {
  const found = among(WORDS[language()], name);
  return typeof found === "function" ? found(...values) : found;
}

/** A word of the trade (a readership, a status); the catalogue's own where the shop has none. */
const called = (name, most = 60) => (typeof name === "string" && typeof word(name) === "string" ? word(name) : plain(name, most));
