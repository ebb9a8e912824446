// The volumes of a title on their shelf: a table that is read row by row and walked with the arrow keys.

speak({
  en: {
    shelf: "Volumes on the shelf", span: (from, to) => (from === to ? `${from}` : `${from}–${to}`), row: (from, to) => `Volumes ${from} to ${to}`,
    on: (date) => ["from ", date], backOn: (date) => ["back ", date], there: (n) => `${n} in stock`, notChecked: (n) => `${n} out so far`,
    gone: (ranges) => `missing: ${ranges}`, coming: (ranges) => `to come: ${ranges}`, walk: "Arrow keys go from volume to volume.",
  },
  ja: {
    shelf: "巻ごとの在庫", span: (from, to) => (from === to ? `${from}` : `${from}–${to}`), row: (from, to) => `${from}巻〜${to}巻`,
    on: (date) => [date, "発売予定"], backOn: (date) => [date, "再入荷予定"], there: (n) => `在庫あり ${n}冊`, notChecked: (n) => `既刊${n}巻`,
    gone: (ranges) => `在庫切れ ${ranges}巻`, coming: (ranges) => `発売予定 ${ranges}巻`, walk: "矢印キーで巻を移動できます。",
  },
});

const MOST_DRAWN = 200;
const [WIDE, NARROW] = [10, 7];

/** check_inventory of one title, volume by volume. */
function standingOf(item) {
  const total = number(item.volumes_total);
  if (total === null || total < 1) return [];
  const missing = new Set(list(item.missing_volumes));
  const kind = item.availability === "last_known" ? "last_known" : "in_stock";
  const restock = dated(item.restock);
  const out = Array.from({ length: Math.min(Math.floor(total), MOST_DRAWN) }, (_, at) => at + 1);
  return [
    ...out.map((volume) => (missing.has(volume) ? { volume, kind: "out", date: restock.get(volume), words: "backOn" } : { volume, kind })),
    ...[...dated(item.upcoming)].map(([volume, date]) => ({ volume, kind: "preorder", date, words: "on" })),
  ].slice(0, MOST_DRAWN);
}

const dated = (rows) => new Map(list(rows).map(object).flatMap((row) => numbersOf(row.volumes).map((volume) => [volume, row.date])));

/** Volumes that have come out, with unknown stock. */
const unchecked = (total) => (number(total) > 0 ? Array.from({ length: Math.min(Math.floor(total), MOST_DRAWN) }, (_, at) => ({ volume: at + 1, kind: "unknown" })) : []);

/** The shelf, with a summary in words above it, and the facts of the current volume below. */
function volumeShelf(standing) {
  if (!standing.length) return null;
  const known = standing.some((each) => each.kind !== "unknown");
  const saying = known && el("p", { class: "at", "aria-hidden": "true" });
  const across = window.innerWidth >= 480 ? WIDE : NARROW;
  const rows = [];
  for (let at = 0; at < standing.length; at += across) rows.push(shelfRow(standing.slice(at, at + across), saying));
  const table = el("table", { class: "volumes", role: "grid", "aria-label": word("shelf"), "aria-description": word("walk"), keydown: walk }, el("tbody", {}, rows));
  table.querySelector("td").tabIndex = 0;
  return el("div", { class: "volume-shelf" }, el("p", { class: "sum" }, summed(standing)), table, saying);
}

function shelfRow(standing, saying) {
  const [first, last] = [standing[0].volume, standing[standing.length - 1].volume];
  const heading = el("th", { scope: "row" }, el("span", { "aria-hidden": "true" }, word("span", first, last)), unseen(word("row", first, last)));
  return el("tr", {}, heading, standing.map((each) => spine(each, saying)));
}

function spine({ volume, kind, date, words }, saying) {
  const known = kind === "unknown" ? [] : [", ", word(kind)];
  const when = () => (day(date) ? [", ", word(words, day(date, SHORT_DAY))] : []);
  const tell = saying ? () => saying.replaceChildren(word("volume", volume), ...[known, when()].flat(2)) : null;
  return el("td", { class: kind, tabindex: "-1", focus: tell, mouseenter: tell }, el("span", { "aria-hidden": "true" }, volume), unseen(word("volume", volume), known, when()));
}

function summed(standing) {
  const of = (...kinds) => standing.filter((each) => kinds.includes(each.kind)).map((each) => each.volume);
  const [there, gone, coming, unsure] = [of("in_stock", "few", "download"), of("out"), of("preorder"), of("unknown", "last_known")];
  return [
    there.length > 0 && el("span", { class: "stock in_stock" }, icon("in_stock"), word("there", there.length)),
    unsure.length > 0 && el("span", { class: "stock unknown" }, icon("unknown"), word("notChecked", unsure.length)),
    gone.length > 0 && el("span", { class: "stock out" }, icon("out"), word("gone", inShort(gone))),
    coming.length > 0 && el("span", { class: "stock preorder" }, icon("preorder"), word("coming", inShort(coming))),
  ];
}

/** 3, 4, 5, 9 as "3–5, 9"; the first few runs where there are many. */
function inShort(numbers, most = 6) {
  const runs = [];
  for (const each of numbers) {
    const last = runs[runs.length - 1];
    if (last && last[1] === each - 1) last[1] = each;
    else runs.push([each, each]);
  }
  return runs.slice(0, most).map((run) => word("span", ...run)).join(", ") + (runs.length > most ? "…" : "");
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function walk(event) {
  const cell = event.target.closest("td");
  if (!cell) return;
  const rows = [...event.currentTarget.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("td")]);
  const down = rows.findIndex((row) => row.includes(cell));
  const across = rows[down].indexOf(cell);
  const all = rows.flat();
  const [by, along] = STEPS[event.key] || [];
  const ends = { Home: all[0], End: all[all.length - 1] };
  const next = ends[event.key] || (along ? all[all.indexOf(cell) + along] : by ? rows[down + by]?.[Math.min(across, rows[down + by].length - 1)] : null);
  if (!next) return;
  event.preventDefault();
  cell.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
