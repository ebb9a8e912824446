// Tags as a Japanese customer reads them. One that is not known here stays English.

const TAGS_JA = Object.fromEntries(
  (
    "Drama=ドラマ|Comedy=コメディ|Award Winning=受賞作|Action=アクション|School=学園|Romance=恋愛|Friendship=友情|Slice of Life=日常" +
    "|Adventure=冒険|Coming of Age=成長|Fantasy=ファンタジー|Psychological=心理|Adult Cast=大人の登場人物|Supernatural=超常|Sci-Fi=SF|Family=家族" +
    "|Historical=歴史|Mystery=ミステリー|Super Power=異能|Suspense=サスペンス|Sports=スポーツ|Workplace=お仕事|Swordplay=剣劇|Horror=ホラー" +
    "|Gag Humor=ギャグ|Travel=旅|Gore=残酷描写|Military=軍事|Survival=サバイバル|Politics=政治|Philosophy=哲学|Martial Arts=格闘" +
    "|Love Polygon=三角関係|Gourmet=グルメ|War=戦争|Post-Apocalyptic=終末後|Organized Crime=裏社会|Team Sports=団体競技|Strategy Game=頭脳戦" +
    "|Robots=ロボット|Urban Fantasy=現代異能|Religion=宗教|Ecchi=お色気|Time Travel=時間移動|Showbiz=芸能|Music=音楽|Medical=医療" +
    "|Iyashikei=癒やし|Detective=探偵|Delinquents=不良|Performing Arts=舞台|Childcare=子育て|Samurai=侍|Parody=パロディ|Cooking=料理|Yokai=妖怪" +
    "|Space=宇宙|Mahou Shoujo=魔法少女|Dystopia=ディストピア|Visual Arts=美術|Video Game=ゲーム|Reincarnation=転生|Mythology=神話|Isekai=異世界" +
    "|Harem=ハーレム|Ghosts=幽霊|Educational=学習|Crossdressing=異性装|Animals=動物|Vampire=吸血鬼|Fashion=ファッション|Dragons=竜" +
    "|Cyberpunk=サイバーパンク|Ninja=忍者|Football=サッカー|Basketball=バスケットボール|Baseball=野球|Volleyball=バレーボール|Tennis=テニス" +
    "|Racing=レース|Pirates=海賊|Mecha=メカ|Idols=アイドル|Boxing=ボクシング|Agriculture=農業|Zombies=ゾンビ|Shogi=将棋|Go=囲碁|Boys Love=BL" +
    "|High Stakes Game=命懸けの勝負|Card Game=カードゲーム|Combat Sports=格闘技|Cycling=自転車|Memoir=自伝|Disability=障がい|LGBTQ=LGBTQ|Karuta=かるた"
  )
    .split("|")
    .map((pair) => pair.split("=")),
);

/** A tag in the customer's language. */
function tag(name) {
  const text = plain(name, 40);
  return language() === "ja" && text !== null && Object.hasOwn(TAGS_JA, text) ? TAGS_JA[text] : text;
}
