// The official TypeScript client as a host that shows cards: prints what it is told of them, as JSON.
// `node typescript_cards.mjs sse URL`, `… http URL`
import { getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, url] = process.argv.slice(2);
const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
const client = new Client({ name: "host", version: "1" }, { capabilities: { extensions } });
await client.connect(kind === "sse" ? new SSEClientTransport(new URL(url)) : new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const { resources } = await client.listResources();
const pages = resources.filter((each) => each._meta);
const read = {};
for (const { uri } of pages) {
  const [content] = (await client.readResource({ uri })).contents;
  read[uri] = [content.mimeType, content.text.slice(0, 15), content._meta];
}
const stock = await client.callTool({ name: "check_inventory", arguments: { title_ids: ["manga-001001"] } });
const seen = {
  tools: Object.fromEntries(tools.filter((each) => each._meta).map((each) => [each.name, each._meta])),
  // Where the specification's own library finds a tool's page.
  found: Object.fromEntries(tools.map((each) => [each.name, getToolUiResourceUri(each)]).filter(([, uri]) => uri)),
  resources: Object.fromEntries(pages.map((each) => [each.uri, each._meta])),
  read,
  beside: stock._meta,
};
await client.close();
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0));
