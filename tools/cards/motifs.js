// What a drawn cover shows behind its title: one picture of a kind for what a title is about. `space` is the drawing's width
// and height, `ink` its colours, `dice` its own run of numbers between 0 and 1, the same each time.

const MOTIFS = {
  burst({ width, height }, ink, dice) {
    const [x, y] = [width * (0.3 + dice() * 0.4), height * (0.35 + dice() * 0.3)];
    const rays = 26 + Math.floor(dice() * 14);
    const wedges = Array.from({ length: rays }, (_, at) => {
      const [turn, thick] = [((at + dice() * 0.7) / rays) * Math.PI * 2, 0.02 + dice() * 0.07];
      const near = 34 + dice() * 46;
      const point = (angle, far) => `${(x + Math.cos(angle) * far).toFixed(1)},${(y + Math.sin(angle) * far).toFixed(1)}`;
      return svg("polygon", { points: `${point(turn, near)} ${point(turn - thick, 360)} ${point(turn + thick, 360)}` });
    });
    return [svg("g", { fill: ink.second }, wedges), circle(x, y, 30, { fill: "none", stroke: ink.first, "stroke-width": 5 })];
  },

  waves({ width, height }, ink, dice) {
    const size = 22 + Math.floor(dice() * 4) * 4;
    const top = height * (0.42 + dice() * 0.18);
    const rows = [];
    for (let row = 0, y = top; y < height + size; row += 1, y += size / 2) {
      for (let x = row % 2 ? 0 : -size; x < width + size; x += size * 2) rows.push(scale(x + size / 2, y, size, ink));
    }
    return [circle(width * (0.25 + dice() * 0.4), top - 34, 26 + dice() * 14, { fill: ink.first }), ...rows];
  },

  mountains({ width, height }, ink, dice) {
    const range = (base, rise, fill) => {
      const steps = 4 + Math.floor(dice() * 3);
      const peaks = Array.from({ length: steps + 1 }, (_, at) => `${(at / steps) * width},${base - (at % 2 ? rise : rise * 0.3) * (0.7 + dice() * 0.5)}`);
      return svg("polygon", { fill, points: `0,${height} ${peaks.join(" ")} ${width},${height}` });
    };
    const moon = [width * (0.2 + dice() * 0.5), height * (0.18 + dice() * 0.14)];
    return [circle(...moon, 24 + dice() * 16, { fill: ink.first }), range(height * 0.72, 78, ink.second), range(height * 0.86, 56, ink.third)];
  },

  petals({ width, height }, ink, dice) {
    return Array.from({ length: 9 }, (_, at) => {
      const [x, y, size] = [dice() * width, ((at + dice()) / 9) * height, 10 + dice() * 24];
      const turn = dice() * 72;
      const blades = [0, 72, 144, 216, 288].map((angle) =>
        svg("path", { d: "M0,0C-9,-8 -7,-20 -2,-22L0,-19L2,-22C7,-20 9,-8 0,0Z", transform: `rotate(${angle})` }),
      );
      const fill = at % 3 ? ink.second : ink.first;
      return svg("g", { fill, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) rotate(${turn.toFixed(0)}) scale(${(size / 18).toFixed(2)})` }, blades);
    });
  },

  bubbles({ width, height }, ink, dice) {
    return Array.from({ length: 7 }, (_, at) =>
      circle(dice() * width, ((at + dice()) / 7) * height, 14 + dice() * 42, { fill: [ink.first, ink.second, ink.third][at % 3] }),
    );
  },

  stripes({ width, height }, ink, dice) {
    const lean = dice() < 0.5 ? 1 : -1;
    const bands = [];
    for (let x = -height; x < width + height; x += 20 + dice() * 30) bands.push(svg("rect", { x, y: -height / 2, width: 4 + dice() * 14, height: height * 2 }));
    const middle = `${width / 2} ${height / 2}`;
    return [
      svg("g", { fill: ink.second, transform: `rotate(${lean * (18 + dice() * 18)} ${middle})` }, bands),
      circle(width * (0.3 + dice() * 0.3), height * (0.5 + dice() * 0.25), 34, { fill: ink.first }),
    ];
  },

  orbits({ width, height }, ink, dice) {
    const [x, y] = [width * (0.25 + dice() * 0.4), height * (0.4 + dice() * 0.3)];
    const rings = [46, 74, 104, 138, 176].map((far) =>
      svg("ellipse", { cx: x, cy: y, rx: far, ry: far * 0.36, fill: "none", stroke: ink.second, "stroke-width": 2.5 }),
    );
    const tilt = `rotate(${-30 + dice() * 60} ${x} ${y})`;
    const stars = Array.from({ length: 22 }, () => circle(dice() * width, dice() * height, 0.8 + dice() * 2, { fill: ink.third }));
    return [...stars, svg("g", { transform: tilt }, rings), circle(x, y, 32, { fill: ink.first }), circle(x + 74, y, 7, { fill: ink.first, transform: tilt })];
  },

  night({ width, height }, ink, dice) {
    const [x, y] = [width * (0.35 + dice() * 0.3), height * (0.28 + dice() * 0.15)];
    const trees = [];
    for (let at = -10; at < width + 10; at += 12 + dice() * 16) {
      const [top, broad] = [height * (0.5 + dice() * 0.28), 2 + dice() * 5];
      trees.push(svg("polygon", { points: `${at - broad},${height} ${at},${top} ${at + broad},${height}` }));
    }
    return [circle(x, y, 62, { fill: ink.first }), circle(x + 14, y - 10, 62, { fill: ink.ground, opacity: 0.18 }), svg("g", { fill: ink.second }, trees)];
  },

  rings({ width, height }, ink, dice) {
    const [x, y] = [width * (0.3 + dice() * 0.4), height * (0.35 + dice() * 0.35)];
    const step = 12 + Math.floor(dice() * 3) * 3;
    const rings = [];
    for (let far = 190; far > step; far -= step) rings.push(circle(x, y, far, { fill: "none", stroke: ink.second, "stroke-width": 2 + dice() * 4 }));
    return [...rings, circle(x, y, 18 + dice() * 10, { fill: ink.first })];
  },

  hills({ width, height }, ink, dice) {
    const hill = (base, fill) => {
      const [bend, far] = [30 + dice() * 40, base - 20 + dice() * 40];
      return svg("path", { fill, d: `M0,${height}V${base}C${width * 0.3},${base - bend} ${width * 0.6},${far + bend} ${width},${far}V${height}Z` });
    };
    const sun = circle(width * (0.2 + dice() * 0.5), height * (0.3 + dice() * 0.15), 24 + dice() * 14, { fill: ink.first });
    return [sun, hill(height * 0.52, ink.third), hill(height * 0.66, ink.second), hill(height * 0.8, ink.first)];
  },

  town({ width, height }, ink, dice) {
    const blocks = [];
    for (let x = -6; x < width; x += 30) {
      const top = height * (0.36 + dice() * 0.36);
      blocks.push(svg("rect", { x, y: top, width: 27, height, fill: ink.second }));
      for (let y = top + 9; y < height - 44; y += 15) {
        for (const left of [5, 16]) if (dice() > 0.5) blocks.push(svg("rect", { x: x + left, y, width: 6, height: 8, fill: ink.first }));
      }
    }
    return [circle(width * (0.3 + dice() * 0.4), height * 0.22, 20, { fill: ink.first }), ...blocks];
  },
};

const circle = (cx, cy, r, more) => svg("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: r.toFixed(1), ...more });

function scale(x, y, size, ink) {
  const arcs = [1, 0.68, 0.36].map((part) => circle(x, y, (size / 1) * part, { fill: ink.ground, stroke: ink.second, "stroke-width": 3 }));
  return svg("g", {}, arcs);
}

const SHOWN_FOR = {
  burst: ["Action", "Martial Arts", "Super Power", "Combat Sports", "Boxing", "Swordplay", "War", "Ninja", "Samurai", "Gag Humor"],
  waves: ["Pirates", "Historical", "Adventure", "Mythology", "Yokai", "Samurai", "Shogi", "Karuta", "Go"],
  mountains: ["Fantasy", "Adventure", "Isekai", "Travel", "Dragons", "Survival", "Reincarnation", "War"],
  petals: ["Romance", "Love Polygon", "Mahou Shoujo", "Boys Love", "School", "Fashion", "Harem", "Reverse Harem"],
  bubbles: ["Comedy", "Gag Humor", "Friendship", "Childcare", "Parody", "Idols", "Gourmet", "Cooking"],
  stripes: ["Sports", "Team Sports", "Racing", "Basketball", "Baseball", "Football", "Volleyball", "Tennis", "Cycling", "Music", "Delinquents"],
  orbits: ["Sci-Fi", "Space", "Mecha", "Robots", "Time Travel", "Cyberpunk", "Video Game"],
  night: ["Horror", "Supernatural", "Ghosts", "Vampire", "Gore", "Zombies", "Post-Apocalyptic", "Drama"],
  rings: ["Mystery", "Psychological", "Suspense", "Detective", "Strategy Game", "High Stakes Game", "Philosophy", "Medical"],
  hills: ["Slice of Life", "Iyashikei", "Family", "Agriculture", "Animals", "Coming of Age", "Travel"],
  town: ["Workplace", "Organized Crime", "Urban Fantasy", "Showbiz", "Politics", "Adult Cast", "Dystopia"],
};

/** The motif for these tags: of those that fit best one by the title's own dice. */
function motifFor(names, dice) {
  const fitting = Object.keys(SHOWN_FOR).filter((motif) => names.slice(0, 3).some((name) => SHOWN_FOR[motif].includes(name)));
  const choice = fitting.length ? fitting : Object.keys(SHOWN_FOR);
  return MOTIFS[choice[Math.floor(dice() * choice.length)]];
}
