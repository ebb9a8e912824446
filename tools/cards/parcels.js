// The way of a parcel, as steps: those behind it, the present one, and those to come.

const WAY = ["accepted", "in_transit", "at_delivery_office", "out_for_delivery", "delivered"];
const ASIDE = { absent: "at_delivery_office", held: "at_delivery_office" };
const IN_JAPAN = { month: "short", day: "numeric", ...CLOCK, own: false };
const PLACES = {
  Hokkaido: "北海道", Tokyo: "東京都", Osaka: "大阪府", Kyoto: "京都府", Saitama: "埼玉県", Chiba: "千葉県", Kanagawa: "神奈川県", Aichi: "愛知県",
  Hyogo: "兵庫県", Fukuoka: "福岡県", Okinawa: "沖縄県", Miyagi: "宮城県", Hiroshima: "広島県", Shizuoka: "静岡県", Niigata: "新潟県", Nagano: "長野県",
};

const placeName = (value) => (language() === "ja" && among(PLACES, value)) || plain(value, 60);

function parcel(shipment, at, all, order) {
  const scans = list(shipment.events).map(object).slice(0, 40);
  const number = said("span", { class: "number" }, shipment.tracking_number, 40);
  return el(
    "section",
    { class: "parcel" },
    el("h2", {}, el("span", {}, word("parcel", at, all)), said("span", {}, called(shipment.carrier, 40)), number && el("span", { class: "tracking" }, el("small", {}, `${word("tracking")} `), number)),
    stepper(stepsOf(shipment, scans, order)),
    scans.length > 0 && scanned(scans),
  );
}

/** The steps of a parcel, each with its last scan; an unplanned event stands in its step's place. */
function stepsOf(shipment, scans, order) {
  const seen = new Map(scans.map((scan) => [among(ASIDE, scan.status) || scan.status, scan]));
  const arrived = shipment.status === "delivered" || Boolean(shipment.delivered_at);
  const now = arrived ? WAY.length - 1 : Math.max(0, WAY.indexOf(among(ASIDE, shipment.status) || shipment.status), ...WAY.map((step, at) => (seen.has(step) ? at : 0)));
  return WAY.map((step, at) => {
    const scan = seen.get(step);
    const aside = at === now && among(ASIDE, shipment.status) ? shipment.status : step;
    const state = at < now || arrived ? "passed" : at === now ? "now" : "still";
    const promised = at === WAY.length - 1 && !arrived && order.late !== true ? day(order.estimated_delivery, SHORT_DAY) : null;
    const when = scan ? moment(scan.at, IN_JAPAN) : promised ? word("expectedLine", promised) : null;
    return { words: wordOfScan(scan, aside), place: scan && placeName(scan.place), when, state };
  });
}

/** The carrier's own word in Japanese, ours in English. */
const wordOfScan = (scan, step) => (language() === "ja" && scan ? plain(scan.status_ja, 30) : null) || called(step, 40);

const BEFORE = { received: 0, awaiting_payment: 0, preparing: 1, preordered: 1, backordered: 1, late: 1, in_transit: 2, out_for_delivery: 2, delivered: 3 };
const WAITING = { preordered: "preordered", backordered: "backordered" };

/** The steps of an order of which no parcel is under way yet; none where there is nothing to send. */
function stepsBefore(order) {
  const now = among(BEFORE, order.status);
  if (now === null) return [];
  const waits = list(order.lines).map((each) => plain(object(each).expected_date)).filter(Boolean).sort();
  const waiting = among(WAITING, order.status);
  const until = waiting && day(waits[waits.length - 1], DAY_ONLY);
  const middle = waiting || (order.status === "awaiting_payment" ? "awaiting_payment" : "preparing");
  const promised = order.late !== true && day(order.estimated_delivery, DAY_ONLY);
  return ["received", middle, "shipped", "delivered"].map((step, at) => ({
    words: called(step),
    when: at === 0 ? moment(order.ordered_at, IN_JAPAN) : at === 1 && until ? word("expectedLine", until) : at === 3 && promised ? word("expectedLine", promised) : null,
    state: at < now ? "passed" : at === now ? "now" : "still",
  }));
}

/** The steps side by side where there is room, else below each other; a list whose present step is the current one. */
function stepper(steps) {
  if (!steps.length) return null;
  const drawn = steps.map(({ words, place, when, state }) =>
    el(
      "li",
      { class: state, "aria-current": state === "now" ? "step" : null },
      el("span", { class: "dot" }, state === "passed" && icon("done")),
      el("span", { class: "step" }, el("b", {}, words), unseen(`, ${word(state)}`), when && el("small", {}, when), place && el("small", {}, place)),
    ),
  );
  return el("ol", { class: "stepper", "aria-label": word("way") }, drawn);
}

function scanned(scans) {
  const rows = [...scans].reverse().map((scan) => el("li", {}, moment(scan.at), el("span", {}, wordOfScan(scan, scan.status)), el("span", { class: "soft" }, placeName(scan.place))));
  return el("details", {}, el("summary", {}, word("scans")), el("ul", { class: "scans" }, rows));
}
