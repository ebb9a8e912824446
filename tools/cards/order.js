// The state of an order: its parcels and contents; and the list of the latest orders.

speak({
  en: {
    order: "Order", orders: "Your latest orders", noOrders: "No orders yet", noOrdersMore: "Your orders will appear here.",
    ordered: "Ordered", expected: "Expected", items: "Items", total: "Total", shipping: "Shipping", subtotal: "Subtotal", to: "To",
    parcel: (n, all) => (all > 1 ? `Parcel ${n} of ${all}` : "Parcel"), tracking: "Tracking number", way: "The parcel's way", times: (n) => `× ${n}`, scans: "Tracking history",
    returnUntil: (date) => ["Can be returned until ", date], details: "Show", askOrder: (id) => `Where is my order ${id}?`, askLate: "Ask about it", sayLate: (id) => `My order ${id} is late. What can you do?`,
    lateHead: "We are sorry: this one is late", lateBy: (date) => ["It should have been with you on ", date, "."], lastSeen: (place, at) => [`Last seen in ${place}, `, at, "."],
    now: "now", still: "to come", passed: "done",
    received: "Order received", awaiting_payment: "Waiting for payment", preparing: "Being packed", preordered: "Waiting for its release", backordered: "On its way to us",
    in_transit: "On its way", out_for_delivery: "Out for delivery", delivery_missed: "Nobody was in", held: "Waiting to be picked up", late: "Late",
    partly_delivered: "Partly delivered", delivered: "Delivered", ready_to_read: "Ready to read", cancelled: "Cancelled", returned: "Returned",
    accepted: "Handed to the carrier", at_delivery_office: "At your delivery office", absent: "Nobody was in", shipped: "Shipped",
    yamato: "Yamato Transport", sagawa: "Sagawa Express", japan_post: "Japan Post", expectedLine: (date) => ["expected ", date],
  },
  ja: {
    order: "ご注文", orders: "最近のご注文", noOrders: "ご注文はまだありません", noOrdersMore: "ご注文いただくと、こちらに表示されます。",
    ordered: "注文日", expected: "お届け予定", items: "商品", total: "合計", shipping: "送料", subtotal: "小計", to: "お届け先",
    parcel: (n, all) => (all > 1 ? `お荷物 ${n}/${all}` : "お荷物"), tracking: "お問い合わせ番号", way: "お荷物の状況", times: (n) => `× ${n}`, scans: "配送履歴",
    returnUntil: (date) => [date, "まで返品できます"], details: "詳細を見る", askOrder: (id) => `注文 ${id} は今どこですか？`, askLate: "問い合わせる", sayLate: (id) => `注文 ${id} がまだ届きません。どうすればよいですか？`,
    lateHead: "お届けが遅れており申し訳ございません", lateBy: (date) => [date, "にお届けの予定でした。"], lastSeen: (place, at) => [`最終確認: ${place}、`, at],
    now: "現在", still: "これから", passed: "済み",
    received: "受付済み", awaiting_payment: "入金待ち", preparing: "発送準備中", preordered: "発売待ち", backordered: "取り寄せ中",
    in_transit: "輸送中", out_for_delivery: "配達中", delivery_missed: "ご不在でした", held: "保管中（受取待ち）", late: "遅れています",
    partly_delivered: "一部お届け済み", delivered: "お届け済み", ready_to_read: "すぐ読めます", cancelled: "キャンセル済み", returned: "返品済み",
    accepted: "荷物受付", at_delivery_office: "配達店に到着", absent: "ご不在でした", shipped: "発送済み",
    yamato: "ヤマト運輸", sagawa: "佐川急便", japan_post: "日本郵便", expectedLine: (date) => [date, "予定"],
  },
});

const TONES = { delivered: "good", ready_to_read: "good", late: "warn", delivery_missed: "warn", held: "warn", awaiting_payment: "warn", cancelled: "soft", returned: "soft" };
const TONE_ICONS = { good: "in_stock", warn: "few", soft: "out", tell: "preorder" };

/** The order's state in a word, with a sign of its own. */
function status(value) {
  const tone = among(TONES, value) || "tell";
  return el("span", { class: `status ${tone}` }, icon(TONE_ICONS[tone]), said("span", {}, called(value, 40)));
}

function drawOrder(result) {
  const answer = object(result.structuredContent);
  if (answer.kind === "latest_orders" || Array.isArray(answer.orders)) return drawList(result, list(answer.orders).map(object));
  place(orderView(result, answer));
}

function drawList(result, orders) {
  if (!orders.length) return place([message(word("noOrders"), word("noOrdersMore"))]);
  const rows = orders.slice(0, 10).map((order) => el("li", {}, row(order, () => drawList(result, orders))));
  place([provenance(result), head(word("orders")), el("ol", { class: "orders" }, rows)]);
}

function row(order, back) {
  const id = plain(order.order_id, 40) || "—";
  const expected = day(order.estimated_delivery, SHORT_DAY);
  const one = (result) => place([el("p", { class: "to-list" }, button(word("back"), async () => back(), null, "quiet")), orderView(result, object(result.structuredContent))], true);
  return el(
    "article",
    { class: "row" },
    el("div", {}, said("h2", {}, order.contents, 120) || said("h2", {}, id), el("p", { class: "soft" }, said("span", {}, id), " · ", moment(order.ordered_at, DAY_ONLY))),
    el("div", { class: "where" }, status(order.status), expected && order.status !== "delivered" && el("small", {}, word("expectedLine", expected))),
    el("div", { class: "sum-of" }, el("b", {}, money(order, "total") || "—"), button(word("details"), () => request("lookup_order", { order_id: id }, word("askOrder", id), one), id)),
  );
}

const DAY_ONLY = { year: "numeric", month: "short", day: "numeric" };

function orderView(result, order) {
  const id = plain(order.order_id, 40) || "—";
  const parcels = list(order.shipments).map(object).slice(0, 6);
  return [
    provenance(result),
    el("header", { class: "head order-head" }, el("h1", {}, `${word("order")} `, said("span", { class: "id" }, id)), status(order.status)),
    order.late === true && lateNote(order, parcels, id),
    parcels.length ? parcels.map((each, at) => parcel(each, at + 1, parcels.length, order)) : stepper(stepsBefore(order)),
    summary(order),
    items(order),
  ];
}

/** A late order says so first, with the known facts and a way to act. */
function lateNote(order, parcels, id) {
  const promised = day(order.estimated_delivery, SHORT_DAY);
  const scans = parcels.filter((each) => each.status !== "delivered").flatMap((each) => list(each.events).map(object));
  const last = scans[scans.length - 1];
  const seen = last && plain(last.place) && moment(last.at) && word("lastSeen", placeName(last.place), moment(last.at));
  const asking = button(word("askLate"), () => ask.message(word("sayLate", id)).then(() => word("asked")));
  return el("section", { class: "late" }, icon("few"), el("div", {}, el("h2", {}, word("lateHead")), el("p", {}, promised && word("lateBy", promised), " ", seen), asking));
}

function summary(order) {
  const pair = (name, value) => value && [el("dt", {}, word(name)), el("dd", {}, value)];
  const over = order.status === "delivered" || order.status === "cancelled" || order.status === "returned";
  return el(
    "dl",
    { class: "summary" },
    el("div", {}, pair("ordered", moment(order.ordered_at, DAY_ONLY))),
    el("div", {}, !over && pair("expected", day(order.estimated_delivery, LONG_DAY))),
    el("div", {}, pair("to", plain(order.prefecture) && placeName(order.prefecture))),
    el("div", {}, pair("total", money(order, "total"))),
    day(order.return_until) && el("p", { class: "soft" }, word("returnUntil", day(order.return_until, SHORT_DAY))),
  );
}

function items(order) {
  const lines = list(order.lines).map(object).slice(0, 60);
  if (!lines.length) return null;
  const line = (each) => [
    el("span", { class: "what" }, said("b", {}, nameOf(each, 200)), each.volume !== null && count(each.volume) && el("span", {}, ` ${word("volume", count(each.volume))}`)),
    el("span", { class: "how" }, said("span", { class: "chip" }, called(each.format, 30)), number(each.quantity) > 1 && word("times", count(each.quantity)), day(each.expected_date) && el("small", {}, word("expectedLine", day(each.expected_date, DAY_ONLY)))),
    el("span", { class: "cost" }, money(each, "unit_price")),
  ];
  const cost = (name) => money(order, name) && el("li", { class: "cost-line" }, el("span", {}, word(name)), el("span", { class: "cost" }, money(order, name)));
  return el("section", { class: "items" }, el("h2", {}, word("items")), el("ul", {}, lines.map((each) => el("li", {}, line(each))), cost("subtotal"), cost("shipping"), cost("total")));
}

show(drawOrder);
