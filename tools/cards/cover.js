// A stand-in for a cover, drawn in the frame from a title's name, readership and tags: the same each time, and no likeness
// of the real one. The spine is on the right, as of a book that is read from the right; around its foot goes an obi.

const SPACE = { width: 200, height: 284 };
const OBI = 46;

const PALETTES = {
  shonen: ["#d8402a #f7c948 #a82a1c #7d1d14", "#f2b632 #e2452e #d08f12 #a86a08", "#1d4f91 #f3c13a #163c70 #0f2a50", "#e96b1f #fff0d0 #b94c0c #8a3606", "#16786f #ffd65a #0f5a53 #0a3f3a"],
  shojo: ["#f2b9c6 #fffaf3 #e58aa0 #c95d7a", "#c9b6e4 #fff6e0 #a98dd2 #8666b8", "#f7d9a8 #ef7f88 #eab668 #d58f3a", "#a9d8d2 #fff8ef #79bdb5 #4f9a91", "#ef8f9f #fff1c9 #d9647a #b4425a"],
  seinen: ["#22262e #d9482f #3a414d #12151a", "#3b2f2a #e0a458 #54443d #241b17", "#1f3a3d #e6d5a8 #2f5659 #122426", "#47505c #f0ebe0 #5d6875 #2d343d", "#5a1f22 #e8c9a0 #78302f #38100f"],
  josei: ["#5b4b74 #f2c6b4 #75648f #3f3254", "#2f6066 #f3dcc0 #437a80 #1e4347", "#a65a4f #f8e6d4 #bf766a #7f3f36", "#7a6a4f #f4e9d0 #968568 #564933", "#8a4565 #f6d8dd #a5607f #642d48"],
  kodomo: ["#5bb8e8 #fff2b0 #3a9bd0 #1f78ab", "#ffd447 #ef5a4c #f0b91a #cf950a", "#8fce6b #fff6cf #6bb246 #4b8f2b"],
  other: ["#6a7480 #f4e7cf #828d99 #485059", "#7b6f8a #f6e3c8 #9488a3 #564b64", "#4f7268 #f3e6cd #688c81 #355249"],
};
const [PALE, DARK] = ["#fffaf0", "#17130f"];
const BRUSH = "'Hiragino Mincho ProN','Yu Mincho','YuMincho','Noto Serif CJK JP','Noto Serif JP','IPAPMincho','IPAGothic',serif";
const BLOCK = "'Hiragino Kaku Gothic StdN','Hiragino Sans','Yu Gothic','Noto Sans CJK JP','Noto Sans JP','IPAGothic',sans-serif";
const LATIN = "'Arial Black','Helvetica Neue',Arial,'DejaVu Sans',sans-serif";

/** Numbers between 0 and 1 that follow from the text alone. */
function diceOf(text) {
  let state = 0x811c9dc5;
  for (const letter of text) state = Math.imul(state ^ letter.codePointAt(0), 0x01000193) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// The origins of pictures that the page's policy allows.
const PICTURES = (/img-src ([^;]*)/.exec(document.querySelector("meta[http-equiv]").content)?.[1] || "").split(" ");

/** The cover of a title: the shop's own picture once it is there, if the policy allows it, else the drawn one. */
function picture(title, native) {
  const drawing = cover({ title: title.title, native, readership: title.genre, about: title.tags, volumes: title.volumes, status: title.status });
  const address = plain(title.cover_url, 1000);
  if (PICTURES.includes(/^\w+:\/\/[^/?#]+/.exec(address || "")?.[0])) {
    const photo = el("img", { class: "cover", alt: "", referrerpolicy: "no-referrer", src: address, load: () => drawing.replaceWith(photo) });
  }
  return el("div", { class: "picture" }, drawing);
}

let drawn = 0;

/** The cover of a title. Beside it stands its name, so that nobody is read this one. */
function cover({ title, native, readership, about = [], volumes = null, status = null }) {
  const name = plain(native, 40) || plain(title, 40) || "?";
  const dice = diceOf(`${name}${plain(readership) || ""}`);
  const palettes = among(PALETTES, readership) || PALETTES.other;
  const [ground, first, second, third] = palettes[Math.floor(dice() * palettes.length)].split(" ");
  const ink = { ground, first, second, third };
  const id = `drawn-${(drawn += 1)}`;
  const spine = [[191, 2, "#000", 0.22], [193, 7, "#fff", 0.16]].map(([x, width, fill, opacity]) => svg("rect", { x, y: 0, width, height: SPACE.height, fill, opacity }));
  const front = [svg("rect", { ...SPACE, fill: ground }), svg("g", {}, motifFor(list(about), dice)(SPACE, ink, dice)), lettering(name, readership, light(ground))];
  const shape = svg("clipPath", { id }, svg("rect", { ...SPACE, rx: 4 }));
  const whole = svg("g", { "clip-path": `url(#${id})` }, front, obi(readership, volumes, status, ink), spine);
  return svg("svg", { class: "cover", viewBox: `0 0 ${SPACE.width} ${SPACE.height}`, "aria-hidden": "true", focusable: "false" }, shape, whole);
}

function light(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150;
}

/** The name as a logotype: Japanese down the cover in as many columns as make it largest, else its words upon each other. */
function lettering(name, readership, onLight) {
  const colours = onLight ? { fill: DARK, stroke: PALE } : { fill: PALE, stroke: DARK };
  const style = { ...colours, "paint-order": "stroke", "stroke-linejoin": "round", "font-weight": 900 };
  const [main] = name.split(/\s+[-〜~(（]|[:：〜]|\s(?=[^a-z0-9]*$)/i);
  return svg("g", style, JAPANESE.test(main) ? columns(main, readership) : rows(main || name));
}

// Characters that begin no column: long vowels, small letters, closing marks.
const CLINGS = /[ー〜々ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ、。！？!?)」』）]/;

function columns(text, readership) {
  const letters = Array.from(text.replace(/\s+/g, "")).slice(0, 21);
  const high = SPACE.height - OBI - 30;
  const sizeOf = (broad) => Math.min(62, high / Math.ceil(letters.length / broad), 150 / broad / 1.1);
  const broad = [2, 3].reduce((best, more) => (sizeOf(more) > sizeOf(best) * 1.2 ? more : best), 1);
  const family = readership === "shojo" || readership === "josei" ? BRUSH : BLOCK;
  const down = `writing-mode:vertical-rl;text-orientation:upright;font-family:${family}`;
  const parts = split(letters, broad);
  const size = Math.min(sizeOf(broad), high / Math.max(...parts.map((part) => part.length)));
  return parts.map((part, at) => {
    const place = { x: 176 - size / 2 - at * size * 1.1, y: 18 + at * size * 0.28, "font-size": size.toFixed(1) };
    return svg("text", { ...place, style: down, "stroke-width": (size * 0.16).toFixed(1), lang: "ja" }, part.join(""));
  });
}

function split(letters, broad) {
  const parts = [];
  for (let left = broad, from = 0; left > 0 && from < letters.length; left -= 1) {
    let to = left === 1 ? letters.length : from + Math.ceil((letters.length - from) / left);
    while (to < letters.length && CLINGS.test(letters[to])) to += 1;
    parts.push(letters.slice(from, to));
    from = to;
  }
  return parts;
}

function rows(text) {
  const words = text.toUpperCase().split(/[\s×]+/).filter(Boolean).slice(0, 5);
  const sizes = words.map((each) => Math.min(54, 172 / (Math.max(Array.from(each).length, 2) * 0.74)));
  let y = 14;
  return words.map((each, at) => {
    y += sizes[at] * 0.98;
    const broad = Math.min(172, Array.from(each).length * sizes[at] * 0.76);
    const fitted = { textLength: broad.toFixed(0), lengthAdjust: "spacingAndGlyphs", "font-size": sizes[at].toFixed(1) };
    return svg("text", { x: 12, y: y.toFixed(1), style: `font-family:${LATIN}`, "stroke-width": (sizes[at] * 0.16).toFixed(1), ...fitted }, each);
  });
}

const OBI_WORDS = { shonen: "少年", shojo: "少女", seinen: "青年", josei: "女性", kodomo: "児童" };

/** The paper belt of Japanese books: for whom it is, and how many volumes there are. */
function obi(readership, volumes, status, ink) {
  const known = number(volumes) !== null && volumes > 0 && volumes < 1000;
  const counted = known ? `${status === "Finished" ? "全" : "既刊"}${volumes}巻` : "";
  const style = `font-family:${BLOCK}`;
  return svg(
    "g",
    { lang: "ja", "font-weight": 700 },
    svg("rect", { x: 0, y: SPACE.height - OBI, width: SPACE.width, height: OBI, fill: PALE }),
    svg("rect", { x: 0, y: SPACE.height - OBI, width: SPACE.width, height: 5, fill: ink.second }),
    svg("text", { x: 12, y: SPACE.height - 14, "font-size": 23, fill: DARK, style }, among(OBI_WORDS, readership) || "漫画"),
    svg("text", { x: 182, y: SPACE.height - 14, "font-size": 20, fill: DARK, "text-anchor": "end", style }, counted),
  );
}
