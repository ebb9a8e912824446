// The official TypeScript client, listening: lists its tools whenever it is told that they have changed.
// `node typescript_listener.mjs sse URL http URL …` prints and ends as mcp1_listener.py does.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const now = () => Number(process.hrtime.bigint()) / 1e9; // the machine's monotonic clock, as Python has it
const say = (line) => console.log(JSON.stringify(line));

async function listen(kind, url) {
  const Transport = kind === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  const client = new Client({ name: "typescript", version: "1" });
  client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
    const told = now();
    const { tools } = await client.listTools();
    say({ client: url, told, listed: now(), tools: tools.map((tool) => tool.name) });
  });
  await client.connect(new Transport(new URL(url)));
  await client.listTools();
  say({ client: url });
  return client;
}

const targets = process.argv.slice(2);
const clients = [];
for (let i = 0; i < targets.length; i += 2) clients.push(await listen(targets[i], targets[i + 1]));
process.stdin.resume();
process.stdin.on("end", async () => {
  await Promise.all(clients.map((client) => client.close()));
  process.exit(0);
});
