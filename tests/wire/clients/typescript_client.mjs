// The official TypeScript client, over one transport after the other; prints what it saw, each as a line of JSON.
// `node typescript_client.mjs TARGETS`, which is a list in JSON of ["sse", URL], ["http", URL], ["ws", URL], ["stdio", COMMAND, …].
// What there is to read it lists, and reads what READS says: {"uris": [address, …], "prompts": {name: arguments, …}}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";

const requestInit = { headers: { "X-User-ID": "demo-user-1" } };

function connect(kind, target, rest) {
  if (kind === "sse") return new SSEClientTransport(new URL(target), { requestInit });
  if (kind === "http") return new StreamableHTTPClientTransport(new URL(target), { requestInit });
  if (kind === "ws") return new WebSocketClientTransport(new URL(target));
  return new StdioClientTransport({ command: target, args: rest, env: process.env });
}

for (const [kind, target, ...rest] of JSON.parse(process.argv[2])) {
  const client = new Client({ name: "typescript", version: "1" });
  const transport = connect(kind, target, rest);
  await client.connect(transport);
  // After tools/list the client checks every structuredContent, that of failures too, and throws when it does not fit.
  const { tools } = await client.listTools();
  const call = (name, args, _meta) => client.callTool({ name, arguments: args, _meta });
  const found = await call("search_manga_catalog", { query: "one piece", max_results: 1 });
  const stock = await call("check_inventory", {});
  const wrong = await call("search_manga_catalog", { query: "" });
  const order = await call("lookup_order", { order_id: "MNG-DEMO1001" }, { "com.mangaassist/userId": "demo-user-1" });
  let unknown = null;
  try {
    await call("search_manga", {});
  } catch (error) {
    unknown = { code: error.code, data: error.data };
  }
  const asked = JSON.parse(process.env.READS);
  const listed = [
    (await client.listResources()).resources.map((each) => each.uri),
    (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate),
    Object.keys(asked.prompts).length ? (await client.listPrompts()).prompts.map((each) => each.name) : [],
  ];
  const read = {};
  for (const uri of asked.uris) {
    const { contents } = await client.readResource({ uri });
    read[uri] = contents.map((each) => [each.uri, each.mimeType, each.text]);
  }
  const made = {};
  for (const [name, given] of Object.entries(asked.prompts)) {
    made[name] = (await client.getPrompt({ name, arguments: given })).messages.map((each) => each.role);
  }
  console.log(
    JSON.stringify({
      version: transport.protocolVersion ?? null,
      tools: tools.map((tool) => tool.name),
      found: found.structuredContent,
      stock: stock.structuredContent,
      wrong: [wrong.isError, wrong.structuredContent],
      order: order.structuredContent,
      unknown,
      reading: { listed, read, made },
    }),
  );
  await client.close();
}
