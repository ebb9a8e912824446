// Tags as a Japanese customer reads them. One that is not known here stays English.

const TAGS_JA = Object.fromEntries(
  (
    "Drama=ドラマ|Comedy=コメディ|Award Winning=受賞作|Action=アクション|School=学園|Romance=恋愛|Friendship=友情|Slice of Life=日常" +
    "|Adventure=冒険|Coming of Age=成長物語|Fantasy=ファンタジー|Psychological=心理描写|Adult Cast=大人が主役|Supernatural=超常現象|Sci-Fi=SF|Family=家族" +
    "|Historical=歴史|Mystery=ミステリー|Super Power=異能|Suspense=サスペンス|Sports=スポーツ|Workplace=お仕事|Swordplay=剣劇|Horror=ホラー" +
    "|Gag Humor=ギャグ|Travel=旅|Gore=残酷描写|Military=軍事|Survival=サバイバル|Politics=政治|Philosophy=哲学|Martial Arts=格闘" +
    "|Love Polygon=三角関係|Gourmet=グルメ|War=戦争|Post-Apocalyptic=終末世界|Organized Crime=裏社会|Team Sports=チームスポーツ|Strategy Game=頭脳戦" +
    "|Robots=ロボット|Urban Fantasy=現代ファンタジー|Religion=宗教|Ecchi=お色気|Time Travel=タイムトラベル|Showbiz=芸能界|Music=音楽|Medical=医療" +
    "|Iyashikei=癒やし|Detective=探偵|Delinquents=不良|Performing Arts=舞台|Childcare=子育て|Samurai=侍|Parody=パロディ|Cooking=料理|Yokai=妖怪" +
    "|Space=宇宙|Mahou Shoujo=魔法少女|Dystopia=ディストピア|Visual Arts=美術|Video Game=ゲーム|Reincarnation=転生|Mythology=神話|Isekai=異世界" +
    "|Harem=ハーレム|Ghosts=幽霊|Educational=学習|Crossdressing=男装・女装|Animals=動物|Vampire=吸血鬼|Fashion=ファッション|Dragons=竜" +
    "|Cyberpunk=サイバーパンク|Ninja=忍者|Football=サッカー|Basketball=バスケットボール|Baseball=野球|Volleyball=バレーボール|Tennis=テニス" +
    "|Racing=レース|Pirates=海賊|Mecha=メカ|Idols=アイドル|Boxing=ボクシング|Agriculture=農業|Zombies=ゾンビ|Shogi=将棋|Go=囲碁|Boys Love=BL" +
    "|High Stakes Game=命懸けの勝負|Card Game=カードゲーム|Combat Sports=格闘技|Cycling=自転車|Memoir=自伝|Disability=障がい|LGBTQ=LGBTQ|Karuta=かるた|Anthropomorphic=擬人化|Otaku Culture=オタク文化|Reverse Harem=逆ハーレム"
  )
    .split("|")
    .map((pair) => pair.split("=")),
);

/** A tag in the customer's language. */
function tag(name) {
  const text = plain(name, 40);
  return (language() === "ja" && among(TAGS_JA, text)) || text;
}
