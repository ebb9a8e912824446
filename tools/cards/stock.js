// Stock to buy now: of several titles format by format, of one its shelf of volumes, and of a month what comes out.

speak({
  en: {
    stockHead: (n) => (n === "1" ? "In stock" : `Stock of ${n} titles`), title: "Title", volumeHead: "Volume", release: "Release", format: "Format", state: "Stock",
    of: (n, all) => `${n} of ${all} volumes`, backOf: (numbers, date) => [`Vol. ${numbers} back `, date], nextOf: (numbers, date) => [`Vol. ${numbers} out `, date],
    missingOf: (ranges) => `missing ${ranges}`, checked: (at) => ["Checked ", at], isbn: "ISBN", outOn: (date) => ["out ", date],
    unsold: (n) => (n === 1 ? "One that was asked for is not sold here." : `${n} that were asked for are not sold here.`),
    later: (n) => (n === 1 ? "One did not answer in time. Ask again in a moment." : `${n} did not answer in time. Ask again in a moment.`),
    monthHead: "Coming out", nothingOut: "Nothing was found for this.", scroll: "Table of stock", none: "—", noneSaid: "not sold in this format",
  },
  ja: {
    stockHead: (n) => (n === "1" ? "在庫状況" : `${n}作品の在庫状況`), title: "作品", volumeHead: "巻", release: "発売日", format: "形式", state: "在庫",
    of: (n, all) => `全${all}巻中${n}巻`, backOf: (numbers, date) => [`${numbers}巻 `, date, "再入荷予定"], nextOf: (numbers, date) => [`${numbers}巻 `, date, "発売予定"],
    missingOf: (ranges) => `在庫切れ ${ranges}巻`, checked: (at) => [at, " 現在"], isbn: "ISBN", outOn: (date) => [date, "発売"],
    unsold: (n) => `お尋ねのうち${n}件は当店でお取り扱いがありません。`, later: (n) => `${n}件は時間内に確認できませんでした。しばらくしてからもう一度お試しください。`,
    monthHead: "発売予定の新刊", nothingOut: "該当する巻が見つかりませんでした。", scroll: "在庫の表", none: "—", noneSaid: "取り扱いなし",
  },
});

const FORMATS = ["physical", "digital", "set", "used_set"];

function drawStock(result) {
  const answer = object(result.structuredContent);
  if (Array.isArray(answer.items)) return drawItems(result, list(answer.items).map(object), answer);
  const rows = list(answer.volumes).map(object);
  if (!rows.length) return place([provenance(result), message(word("nothingOut"))]);
  return place(plain(answer.title_id) ? ofTitle(result, answer, rows) : ofMonth(result, rows));
}

function drawItems(result, items, answer) {
  const unanswered = [[list(answer.not_found).length, "unsold"], [list(answer.unanswered).length, "later"]];
  const notes = unanswered.map(([n, name]) => n > 0 && el("p", { class: "soft note" }, word(name, n)));
  if (!items.length) return place([provenance(result), message(word("nothingOut")), notes]);
  const shown = items.length === 1 ? single(items[0]) : [head(word("stockHead", count(items.length))), formatTable(items)];
  return place([provenance(result), shown, notes, asOf(items[0])]);
}

const asOf = (item) => moment(item.as_of) && el("p", { class: "soft note" }, el("small", {}, word("checked", moment(item.as_of))));

const WHOLE = { partly_in_stock: "partly", digital_only: "digital_only", out_of_stock: "out", in_stock: "in_stock", last_known: "last_known" };
const markOf = (item) => stockMark(among(WHOLE, item.availability) || "unknown");

function single(item) {
  const offers = list(item.formats).map(object).slice(0, 8);
  return [
    el("header", { class: "head" }, said("h1", {}, nameOf(item)), markOf(item)),
    el("ul", { class: "offers" }, offers.map((each) => el("li", {}, said("b", {}, called(each.format), 40), price(each), stockMark(...offerKind(each, item))))),
    el("p", { class: "dates soft" }, dates(item)),
    volumeShelf(standingOf(item)),
  ];
}

/** When missing volumes return and the next come out. */
function dates(item) {
  const said = (name, rows) => list(rows).map(object).slice(0, 3).map((row) => day(row.date) && el("span", {}, word(name, plain(row.volumes, 30), day(row.date))));
  return [said("backOf", item.restock), said("nextOf", item.upcoming)];
}

function formatTable(items) {
  const sold = new Set(items.flatMap((item) => list(item.formats).map((each) => object(each).format)));
  const formats = [...FORMATS.filter((each) => sold.has(each)), ...[...sold].filter((each) => plain(each) && !FORMATS.includes(each)).slice(0, 2)];
  const rows = items.slice(0, 20).map((item) => [titleCell(item), ...formats.map((each) => formatCell(item, each))]);
  return table([word("title"), ...formats.map((each) => called(each, 30))], rows);
}

function titleCell(item) {
  const missing = list(item.missing_volumes).filter((each) => number(each) !== null);
  const [there, all] = [count(item.volumes_in_stock), count(item.volumes_total)];
  return [
    said("b", { class: "name" }, nameOf(item)),
    el("small", { class: "dates" }, there && all && el("span", {}, word("of", there, all)), missing.length > 0 && el("span", {}, word("missingOf", inShort(missing))), dates(item)),
  ];
}

function formatCell(item, format) {
  const offer = list(item.formats).map(object).find((each) => each.format === format);
  return offer ? [price(offer), stockMark(...offerKind(offer, item))] : [el("span", { class: "soft", "aria-hidden": "true" }, word("none")), unseen(word("noneSaid"))];
}

const VOLUME_KINDS = { in_stock: "in_stock", sold_out: "out", preorder: "preorder", download: "download", last_known: "last_known" };

function volumeMark(row) {
  const few = row.availability === "in_stock" && number(row.stock) !== null && row.stock <= FEW;
  return stockMark(few ? "few" : among(VOLUME_KINDS, row.availability) || "unknown", few && word("left", row.stock));
}

const volumeCell = (row) => [
  price(row), volumeMark(row),
  day(row.restock_date) && el("small", {}, word("backOn", day(row.restock_date))),
  row.availability === "preorder" && day(row.release_date) && el("small", {}, word("outOn", day(row.release_date, LONG_DAY))),
  plain(row.isbn) && el("small", {}, `${word("isbn")} ${plain(row.isbn, 20)}`),
];

/** find_volumes of one title: each volume in each format; above it the shelf where the answer tells of all. */
function ofTitle(result, answer, rows) {
  const there = numbersOf(answer.in_stock, MOST_DRAWN).map((volume) => ({ volume, kind: "in_stock" }));
  const paper = rows.filter((row) => row.format !== "digital" && number(row.volume) !== null);
  const dated = paper.map((row) => ({ volume: row.volume, kind: among(VOLUME_KINDS, row.availability) || "unknown", date: row.restock_date || row.release_date, words: row.restock_date ? "backOn" : "on" }));
  const told = new Set(dated.map((each) => each.volume));
  const standing = [...there.filter((each) => !told.has(each.volume)), ...dated].sort((one, other) => one.volume - other.volume);
  const formats = FORMATS.filter((each) => rows.some((row) => row.format === each));
  const volumes = [...new Set(rows.map((row) => row.volume))].slice(0, 100);
  const cells = volumes.map((volume) => [
    el("b", {}, word("volume", count(volume) || "—")),
    ...formats.map((format) => rows.filter((row) => row.volume === volume && row.format === format).slice(0, 1).map(volumeCell)),
  ]);
  return [
    provenance(result), el("header", { class: "head" }, said("h1", {}, nameOf(answer))), there.length > 0 && volumeShelf(standing),
    table([word("volumeHead"), ...formats.map((each) => called(each))], cells),
  ];
}

function ofMonth(result, rows) {
  const cells = rows.slice(0, 60).map((row) => [
    day(row.release_date, SHORT_DAY) || "—", [said("b", { class: "name" }, nameOf(row)), el("small", {}, word("volume", count(row.volume) || "—"))], called(row.format, 30) || "—", [price(row), volumeMark(row)],
  ]);
  return [provenance(result), head(word("monthHead")), table([word("release"), word("title"), word("format"), word("state")], cells)];
}

/** A table whose first column heads each row. Narrow, each row is a block of its own, and stays a row when read. */
function table(headings, rows) {
  const heads = headings.map((each) => el("th", { scope: "col", role: "columnheader" }, each));
  const cell = (inside, at) =>
    at === 0
      ? el("th", { scope: "row", role: "rowheader" }, inside)
      : el("td", { role: "cell" }, el("span", { class: "of", "aria-hidden": "true" }, headings[at]), el("div", {}, inside));
  const above = el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads));
  const below = el("tbody", { role: "rowgroup" }, rows.map((each) => el("tr", { role: "row" }, each.map(cell))));
  return el("div", { class: "table", role: "region", "aria-label": word("scroll"), tabindex: "0" }, el("table", { role: "table" }, above, below));
}

show(drawStock);
