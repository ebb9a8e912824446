// Many SSE clients of the TypeScript SDK that all call at once: `node typescript_caller.mjs URL CLIENTS CALLS`; as sse_caller.py.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";

const [url, clients, calls] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const each = Math.floor(calls / clients);
const wrong = [];
const opened = [];
for (let number = 0; number < clients; number++) {
  const client = new Client({ name: "typescript", version: "1" });
  await client.connect(new SSEClientTransport(new URL(url)));
  opened.push(client);
}
const lanes = 8;
async function lane(first) {
  const own = opened.filter((_, number) => number % lanes === first);
  for (let index = 0; index < each; index++) {
    for (const client of own) await ask(client, opened.indexOf(client), index);
  }
}
async function ask(client, number, index) {
  const title = `manga-00${1001 + ((number + index) % 85)}`;
  try {
    const { structuredContent } = await client.callTool({ name: "get_manga_details", arguments: { title_id: title } });
    if (structuredContent?.title_id !== title) wrong.push(JSON.stringify(structuredContent ?? null));
  } catch (error) {
    wrong.push(String(error));
  }
}
await Promise.all([...Array(lanes).keys()].map(lane));
console.log(JSON.stringify({ calls: each * clients, wrong: wrong.length, first_wrong: wrong[0]?.slice(0, 500) ?? null }));
process.exit(0);
