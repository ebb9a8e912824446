// The pictures behind the title of a drawn cover: one for each kind of subject. `space` is the drawing's width
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

};

const circle = (cx, cy, r, more) => svg("circle", { cx: cx.toFixed(1), cy: cy.toFixed(1), r: r.toFixed(1), ...more });

const SHOWN_FOR = {
  burst: ["Action", "Martial Arts", "Super Power", "Combat Sports", "Boxing", "Swordplay", "War", "Ninja", "Samurai", "Gag Humor", "Sports", "Team Sports", "Racing", "Horror", "Gore", "Suspense", "Mecha", "Robots"],
  mountains: ["Fantasy", "Adventure", "Isekai", "Travel", "Dragons", "Survival", "Reincarnation", "War", "Pirates", "Historical", "Mythology", "Post-Apocalyptic", "Agriculture", "Animals", "Mystery", "Supernatural", "Drama"],
  petals: ["Romance", "Love Polygon", "Mahou Shoujo", "Boys Love", "School", "Fashion", "Harem", "Reverse Harem", "Family", "Slice of Life", "Iyashikei", "Coming of Age"],
  bubbles: ["Comedy", "Gag Humor", "Friendship", "Childcare", "Parody", "Idols", "Gourmet", "Cooking", "Music", "Showbiz", "Workplace", "Sci-Fi", "Space", "Time Travel", "Psychological", "Detective", "Video Game"],
};

/** The motif for these tags: of those that fit best one by the title's own dice. */
function motifFor(names, dice) {
  const fitting = Object.keys(SHOWN_FOR).filter((motif) => names.slice(0, 3).some((name) => SHOWN_FOR[motif].includes(name)));
  const choice = fitting.length ? fitting : Object.keys(SHOWN_FOR);
  return MOTIFS[choice[Math.floor(dice() * choice.length)]];
}
