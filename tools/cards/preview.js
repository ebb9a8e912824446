// The first pages of a volume, turned as in the book: from right to left.

speak({
  en: {
    of: (title, volume) => (volume ? `${title}, volume ${volume}` : title), page: (n, all) => `Page ${n} of ${all}`, pages: (n, to, all) => `Pages ${n} and ${to} of ${all}`,
    next: "Next page", previous: "Previous page", readSo: "Manga is read from right to left.", keys: "The left arrow key turns the page.",
    noPages: "No pages to show", noPagesMore: "The pictures could not be loaded just now.", tooLarge: (n) => (n === 1 ? "One page could not be shown." : `${n} pages could not be shown.`),
    book: "Pages", altless: (n) => `Page ${n}`, liked: "More about it", askMore: (title) => `Tell me about ${title}.`,
  },
  ja: {
    of: (title, volume) => (volume ? `${title} ${volume}巻` : title), page: (n, all) => `${all}ページ中${n}ページ`, pages: (n, to, all) => `${all}ページ中${n}・${to}ページ`,
    next: "次のページ", previous: "前のページ", readSo: "右から左へお読みください。", keys: "左矢印キーで次のページへ進みます。",
    noPages: "表示できるページがありません", noPagesMore: "ただいま画像を読み込めませんでした。", tooLarge: (n) => `${n}ページ分を表示できませんでした。`,
    book: "ページ", altless: (n) => `${n}ページ`, liked: "この作品について", askMore: (title) => `「${title}」について教えてください。`,
  },
});

const KINDS = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);
const MOST_PAGES = 12;
const MOST_CHARACTERS = 1_400_000; // of all pictures, in base64: a megabyte
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const SPREAD = 560;

function drawPreview(result) {
  const answer = object(result.structuredContent);
  const { pages, left } = picturesOf(result, answer);
  const name = word("of", nameOf(answer, 200), count(answer.volume));
  if (!pages.length) return place([provenance(result), message(word("noPages"), word("noPagesMore"))]);
  place([provenance(result), title(name, answer), reader(pages, name), left > 0 && el("p", { class: "soft" }, word("tooLarge", left)), about(answer)]);
}

const title = (name, answer) => el("header", { class: "head" }, said("h1", {}, name), audienceMark(answer.audience), el("p", { class: "soft" }, word("readSo")));

function about(answer) {
  const line = contentLine(answer.content_notes);
  const name = plain(answer.title) && nameOf(answer, 200);
  const more = name && isOn("get_manga_details") && button(word("liked"), () => ask.message(word("askMore", name)).then(() => word("asked")), name);
  return el("p", { class: "after" }, line && el("span", { class: "soft" }, line), more);
}

/** The result's images as far as they are pictures and not too much: nothing else becomes an address. */
function picturesOf(result, answer) {
  const told = list(answer.pages).map(object);
  const images = list(result.content).map(object).filter((each) => each.type === "image").slice(0, MOST_PAGES);
  let room = MOST_CHARACTERS;
  const pages = [];
  images.forEach((image, at) => {
    const fits = KINDS.has(image.mimeType) && typeof image.data === "string" && image.data.length <= room && BASE64.test(image.data);
    if (!fits) return;
    room -= image.data.length;
    const alt = plain(object(told[at]).alt, 600) || plain(object(image._meta)["com.mangaassist/alt"], 600);
    pages.push({ at: at + 1, source: `data:${image.mimeType};base64,${image.data}`, alt: alt || word("altless", at + 1) });
  });
  return { pages, left: images.length - pages.length };
}

/** One page, or two beside each other where there is room, the first of them on the right. */
function reader(pages, name) {
  const room = el("div", { class: "pages" });
  const where = el("p", { class: "where", role: "status" });
  const [next, previous] = [turning("next", "M10.6 2.6 5.2 8l5.4 5.4-1.4 1.4L2.4 8l6.8-6.8Z"), turning("previous", "m5.4 2.6 5.4 5.4-5.4 5.4 1.4 1.4L13.6 8 6.8 1.2Z")];
  let [first, across] = [0, 1];

  function draw() {
    across = window.innerWidth >= SPREAD && pages.length > 1 ? 2 : 1;
    first = Math.min(first - (first % across), pages.length - 1);
    const open = pages.slice(first, first + across);
    room.replaceChildren(...open.map((page) => el("img", { src: page.source, alt: page.alt, lang: tongue(page.alt), decoding: "sync" })));
    where.textContent = open.length > 1 ? word("pages", first + 1, first + 2, pages.length) : word("page", first + 1, pages.length);
    next.setAttribute("aria-disabled", first + across >= pages.length);
    previous.setAttribute("aria-disabled", first === 0);
  }

  function turn(by) {
    const to = first + by * across;
    if (to < 0 || to >= pages.length) return;
    first = to;
    draw();
  }

  const keys = { ArrowLeft: () => turn(1), ArrowRight: () => turn(-1), Home: () => turn(-first / across), End: () => turn(Math.floor((pages.length - 1 - first) / across)) };
  const keydown = (event) => {
    if (!Object.hasOwn(keys, event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  };
  next.addEventListener("click", () => turn(1));
  previous.addEventListener("click", () => turn(-1));
  draw();
  window.onresize = () => (window.innerWidth >= SPREAD && pages.length > 1 ? 2 : 1) !== across && draw();
  return el(
    "section",
    { class: "reader", role: "group", "aria-roledescription": word("book"), "aria-label": name, keydown },
    el("div", { class: "book", tabindex: "0", role: "group", "aria-label": word("keys") }, room),
    el("div", { class: "turning" }, next, where, previous),
  );
}

const turning = (name, path) =>
  el("button", { type: "button", class: name }, svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: path })), el("span", {}, word(name)));

show(drawPreview);
