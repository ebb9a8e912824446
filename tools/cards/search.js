// Titles that were found or are recommended, as books on a table.

speak({
  en: {
    found: (n, total) => (total && total !== n ? `${n} of ${total} titles` : n === "1" ? "1 title" : `${n} titles`),
    chosen: (n) => (n === "1" ? "A title for you" : `${n} titles for you`), like: (title) => `Like ${title}`,
    understood: "Looked for:", relaxed: "Left out, as no title had it all:", nearly: "Did you mean:", because: "Why: ",
    none: "Nothing here has all of that", noneMore: "Fewer wishes, another spelling or the author's name may find it.",
    showMore: "Show more", askStock: (title) => `Is ${title} in stock, and in which formats?`, askLike: (title) => `Show me more manga like ${title}.`,
    askMore: "Show me more of these.", askNamed: (title) => `I mean ${title}.`,
    aVolume: "a volume", checkStock: "Check stock", moreLikeThis: "More like this", missing: (numbers) => `Missing now: ${numbers}`, returns: (numbers, date) => [`Volume ${numbers} is back on `, date], notSold: "We could not find this in stock.",
  },
  ja: {
    found: (n, total) => (total && total !== n ? `${total}作品中${n}作品` : `${n}作品`),
    chosen: (n) => `あなたへのおすすめ ${n}作品`, like: (title) => `「${title}」に似た作品`,
    understood: "検索条件:", relaxed: "該当作品がないため外した条件:", nearly: "もしかして:", because: "おすすめの理由: ",
    none: "条件に合う作品が見つかりませんでした", noneMore: "条件を減らすか、別の表記や作者名でお試しください。",
    showMore: "もっと見る", askStock: (title) => `「${title}」の在庫と販売形式を教えてください。`, askLike: (title) => `「${title}」に似た作品を見せてください。`,
    askMore: "もっと見せてください。", askNamed: (title) => `「${title}」のことです。`,
    aVolume: "（1冊）", checkStock: "在庫を確認", moreLikeThis: "似た作品を見る", missing: (numbers) => `在庫切れの巻: ${numbers}`, returns: (numbers, date) => [`${numbers}巻の再入荷予定: `, date], notSold: "在庫情報が見つかりませんでした。",
  },
});

function drawSearch(result) {
  const answer = object(result.structuredContent);
  const recommended = Array.isArray(answer.recommendations);
  const titles = list(recommended ? answer.recommendations : answer.results).map(object);
  if (!titles.length) return place([provenance(result), nothing(answer)]);
  const heading = word(recommended ? "chosen" : "found", count(titles.length), count(answer.total));
  return place([head(heading), provenance(result), conditions(answer), shelf(titles, () => drawSearch(result)), further(answer)]);
}

/** The understood conditions, and the dropped ones. */
function conditions(answer) {
  const row = (name, kind, texts) =>
    texts.length > 0 && el("p", { class: "understood" }, el("span", {}, word(name)), texts.map((text) => [said("span", { class: `chip ${kind}` }, text, 80), " "]));
  const told = list(answer.understood).map((each) => conditionOf(object(each).condition)).filter(Boolean);
  return [row("understood", "", told.slice(0, 12)), row("relaxed", "let-go", list(answer.relaxed).map(conditionOf).filter(Boolean).slice(0, 12))];
}

function nothing(answer) {
  const near = list(answer.nearly).map((each) => plain(object(each).title, 80)).filter(Boolean).slice(0, 5);
  const named = (title) => button(title, () => ask.message(word("askNamed", title)).then(() => word("asked")));
  return [message(word("none"), word("noneMore")), conditions(answer), near.length > 0 && el("p", { class: "nearly" }, el("span", { class: "soft" }, word("nearly")), near.map(named))];
}

function further(answer) {
  if (number(answer.next_offset) === null) return null;
  return el("p", { class: "nearly" }, button(word("showMore"), () => ask.message(word("askMore")).then(() => word("asked"))));
}

const shelf = (titles, back) => el("ol", { class: "shelf" }, titles.slice(0, 20).map((each) => el("li", {}, book(each, back))));

function book(title, back) {
  const names = namesOf(title.title, title.title_ja);
  const spot = el("div", { class: "found", "aria-live": "polite" });
  const naming = [said("h2", { title: names.shown.length > 60 ? names.shown : null }, names.shown), said("p", { class: "other" }, names.other)];
  const about = el("div", {}, naming, said("p", { class: "by" }, title.author, 160), el("p", { class: "facts" }, facts(title)), sold(title));
  const asking = el("div", { class: "doing" }, doing(title, names.shown, spot, back));
  return el("article", { class: "title", "data-title": plain(title.title_id, 80) }, picture(title, title.title_ja), about, why(title.reason), asking, spot);
}

function facts(title) {
  const volumes = count(title.volumes);
  return [
    plain(title.genre) && el("b", {}, called(title.genre)), audienceMark(title.audience), rating(title.rating),
    el("span", {}, volumes ? word("volsAnd", volumes, called(title.status)) : called(title.status)),
  ];
}

function sold(title) {
  const offers = list(title.offers).map(object);
  const offer = offers.find((each) => money(each, "price") === money(title, "price")) || title;
  const badges = offers.filter((each) => each.format).map((each) => [said("span", { class: "chip" }, called(each.format), 30), " "]);
  return el("p", { class: "sold" }, price(offer, word("aVolume")), stockMark(stockKind(title.in_stock)), badges);
}

function why(reason) {
  const text = reasonOf(reason);
  return text && el("p", { class: "why", dir: "auto", lang: tongue(text) }, unseen(word("because")), text);
}

function doing(title, name, spot, back) {
  const id = plain(title.title_id, 80);
  if (id === null) return [];
  const stock = () => request("check_inventory", { title_ids: [id] }, word("askStock", name), (result) => spot.replaceChildren(...stocked(result)));
  const alike = () => request("get_recommendations", { criteria: `like ${plain(title.title, 200)}` }, word("askLike", name), (result) => drawLike(result, name, back));
  return [
    isOn("check_inventory") && button(word("checkStock"), stock, name),
    isOn("get_recommendations") && button(word("moreLikeThis"), alike, name, "quiet"),
  ];
}

/** One title's stock: each format with its price, and when a missing volume returns. */
function stocked(result) {
  const item = object(list(object(result.structuredContent).items)[0]);
  const formats = list(item.formats).map(object);
  if (!formats.length) return [el("p", {}, word("notSold"))];
  const rows = formats.map((each) => el("li", {}, said("b", {}, called(each.format), 30), price(each), stockMark(...offerKind(each, item))));
  const back = object(list(item.restock)[0]);
  const missing = list(item.missing_volumes).filter((each) => number(each) !== null);
  return [
    el("ul", {}, rows),
    missing.length > 0 && el("p", {}, word("missing", missing.slice(0, 12).join(", ") + (missing.length > 12 ? "…" : ""))),
    day(back.date) && el("p", {}, word("returns", plain(back.volumes, 40), day(back.date))),
  ].filter(Boolean);
}

function drawLike(result, name, back) {
  const titles = list(object(result.structuredContent).recommendations).map(object);
  const again = async () => back();
  const view = () => place([head(word("like", name), again), provenance(result), titles.length ? shelf(titles, view) : message(word("none"))], true);
  view();
}

show(drawSearch);
