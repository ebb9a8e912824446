// All facts of one title.

speak({
  en: {
    by: "By", story: "Story", art: "Art", years: (from, to) => (to === null ? `since ${from}` : from === to ? `${from}` : `${from}–${to}`),
    about: "What it is about", more: "Read more", less: "Show less", volumesHead: "Volumes", buy: "Ways to buy", perVolume: "a volume", whole: "all volumes",
    copies: (n) => (n === "0" ? "none left" : n === "1" ? "1 copy" : `${n} copies`), themes: "Themes", related: "Related titles",
    whichThere: "Which volumes are in stock?", lookInside: "Look inside", askVolumes: (title) => `Which volumes of ${title} are in stock, and which come next?`,
    askInside: (title) => `Show me the first pages of ${title}.`, askTitle: (title) => `Tell me about ${title}.`, bare: "There is no description of it yet.", edition: (tongue) => `${tongue} edition`, visit: "See it in the shop",
  },
  ja: {
    by: "作者", story: "原作", art: "作画", years: (from, to) => (to === null ? `${from}年〜` : from === to ? `${from}年` : `${from}〜${to}年`),
    about: "あらすじ", more: "続きを読む", less: "閉じる", volumesHead: "巻一覧", buy: "購入方法", perVolume: "（1冊）", whole: "（全巻）",
    copies: (n) => (n === "0" ? "在庫なし" : `${n}点`), themes: "テーマ", related: "関連作品",
    whichThere: "在庫のある巻を見る", lookInside: "試し読み", askVolumes: (title) => `「${title}」はどの巻に在庫がありますか？次の発売はいつですか？`,
    askInside: (title) => `「${title}」の最初のページを見せてください。`, askTitle: (title) => `「${title}」について教えてください。`, bare: "あらすじはまだありません。", edition: (tongue) => `${tongue}版`, visit: "商品ページを見る",
  },
});

function drawTitle(result) {
  const title = object(result.structuredContent);
  const own = object(title.titles);
  const names = namesOf(title.title, own.ja);
  const sold = el("p", { class: "sold" }, price(title, word("perVolume")), stockMark(stockKind(title.in_stock)));
  const above = el("header", {}, naming(names, own), el("p", { class: "facts" }, mainFacts(title)), authors(title), sold);
  place([
    provenance(result),
    el("article", { class: "about", "data-title": plain(title.title_id, 80) }, picture(title, own.ja), above,
      isOn("preview_manga_pages") && el("div", { class: "doing" }, button(word("lookInside"), () => ask.message(word("askInside", names.shown)).then(() => word("asked")), names.shown, "first")),
      el("div", { class: "text" }, synopsis(object(title.synopsis)), contents(title), themes(title)),
      el("div", { class: "parts" }, volumesOf(title, names.shown), offersOf(title, names.shown)),
      related(title),
    ),
  ]);
}

function naming(names, own) {
  const kana = language() === "ja" ? plain(own.kana, 300) : null;
  const romaji = plain(own.romaji, 300);
  const others = [names.other, kana, romaji].filter((each, at, all) => each && all.indexOf(each) === at && each.toLowerCase() !== names.shown.toLowerCase());
  return [said("h1", {}, names.shown), others.length > 0 && el("p", { class: "other" }, others.slice(0, 2).map((each, at) => [at ? " · " : null, said("span", {}, each)]))];
}

function mainFacts(title) {
  const [from, to] = [number(title.start_year), number(title.end_year)];
  const edition = attempt(() => new Intl.DisplayNames(locale(), { type: "language" }).of(title.edition_language));
  return [
    plain(title.genre) && el("b", {}, called(title.genre)), audienceMark(title.audience), rating(title.rating, title.rating_count),
    count(title.volumes) && el("span", {}, word("volsAnd", count(title.volumes), called(title.status))),
    from && el("span", {}, word("years", from, to)), said("span", {}, title.magazine, 60), said("span", {}, title.publisher, 60), edition && el("span", {}, word("edition", edition)),
  ];
}

function authors(title) {
  const people = list(title.authors).map(object).slice(0, 6);
  if (!people.length) return said("p", { class: "by" }, title.author, 200);
  const role = (each) => among({ Story: word("story"), Art: word("art") }, each.role);
  const shown = people.map((each, at) => [
    at ? ", " : null, said("span", {}, language() === "ja" ? each.name_ja || each.name : each.name, 120), role(each) && el("small", {}, ` (${role(each)})`),
  ]);
  return el("p", { class: "by" }, unseen(word("by"), " "), shown);
}

/** The synopsis in the customer's language, else in the one there is; a long one is folded. */
function synopsis(texts) {
  const wanted = language() === "ja" ? [texts.ja, texts.en] : [texts.en, texts.ja];
  const text = plain(wanted.find((each) => plain(each)), 6000);
  if (text === null) return el("p", { class: "soft" }, word("bare"));
  const written = el("p", { class: "synopsis", dir: "auto", lang: tongue(text), id: "synopsis" }, text);
  return [el("h2", { class: "unseen" }, word("about")), written, folded(written)];
}

function folded(written) {
  written.classList.add("folded");
  const turn = () => {
    const open = !written.classList.toggle("folded");
    knob.setAttribute("aria-expanded", open);
    knob.textContent = word(open ? "less" : "more");
  };
  const knob = el("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": "synopsis", click: turn }, word("more"));
  requestAnimationFrame(() => written.scrollHeight <= written.clientHeight + 2 && knob.remove());
  return knob;
}

function contents(title) {
  const line = contentLine(title.content_notes);
  return line && el("p", { class: "contents" }, icon("note"), el("span", {}, line));
}

function themes(title) {
  const names = list(title.tags).map(tag).filter(Boolean).slice(0, 14);
  return names.length > 0 && el("ul", { class: "themes", "aria-label": word("themes") }, names.map((each) => el("li", {}, said("span", { class: "chip" }, each, 40))));
}

/** The number of volumes; their stock is asked for when the customer wants to see it. */
function volumesOf(title, name) {
  const id = plain(title.title_id, 80);
  const standing = title.missing_volumes ? standingOf({ ...title, volumes_total: title.volumes }) : unchecked(title.volumes);
  if (!standing.length || id === null) return null;
  const spot = el("div", { "aria-live": "polite" }, volumeShelf(standing));
  const known = (result) => {
    const found = standingOf(object(list(object(result.structuredContent).items)[0]));
    if (!found.length) return word("unknown");
    spot.replaceChildren(volumeShelf(found));
    knob.remove();
    return "";
  };
  const knob = button(word("whichThere"), () => request("check_inventory", { title_ids: [id] }, word("askVolumes", name), known));
  return el("section", { class: "part" }, el("h2", {}, word("volumesHead")), spot, !title.missing_volumes && isOn("check_inventory") && knob);
}

function offersOf(title, name) {
  const offers = list(title.offers).map(object).filter((each) => plain(each.format)).slice(0, 8);
  const there = context.links && attempt(() => new URL(title.product_url));
  const visit = /^https\b/.test(there?.protocol) && button(word("visit"), () => ask.open(there.href).then(() => ""), name);
  return (offers.length || visit) && el("section", { class: "part" }, el("h2", {}, word("buy")), offers.length > 0 && el("ul", { class: "offers" }, offers.map(offer)), visit);
}

function offer(each) {
  const whole = each.format === "set" || each.format === "used_set";
  const [kind] = offerKind(each);
  const copies = each.stock_is === "copies" && number(each.stock) > 0 && count(each.stock);
  return el("li", {}, said("b", {}, called(each.format), 40), price(each, word(whole ? "whole" : "perVolume")), stockMark(kind, copies && el("small", {}, ` · ${word("copies", copies)}`)));
}

function related(title) {
  const others = list(title.related).map((each) => plain(object(each).title, 100)).filter(Boolean).slice(0, 6);
  const named = (name) => button(name, () => ask.message(word("askTitle", name)).then(() => word("asked")));
  return others.length > 0 && el("section", { class: "part" }, el("h2", {}, word("related")), el("p", { class: "relations" }, others.map(named)));
}

show(drawTitle);
