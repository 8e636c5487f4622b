// A server over Streamable HTTP as the TypeScript SDK makes it. Without an event store: what a cut takes, it does not give again. With
// the word `events` behind its name: with the event store of the SDK's examples, whose ids are numbered here.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const whole = { type: 'integer' };
const TOOLS = [
  { name: 'slow', description: 'takes its time, and tells of its progress', inputSchema: { type: 'object', properties: { ms: whole, steps: whole } } },
  { name: 'headers', description: 'the headers that it came with', inputSchema: { type: 'object' } },
  { name: 'announce', description: 'tells that tools have changed', inputSchema: { type: 'object' } },
];

/** The store of the examples replays in the order of its ids, and gives those of one millisecond a random order. */
class NumberedEvents extends InMemoryEventStore {
  #count = 0;

  generateEventId(streamId) {
    return `${streamId}_${String(++this.#count).padStart(9, '0')}`;
  }
}

const keepsEvents = process.argv[2] === 'events';
const sessions = new Map();

async function call(server, { params }, { sendNotification, requestInfo }) {
  if (params.name === 'headers') return answer(JSON.stringify(requestInfo.headers));
  if (params.name === 'announce') {
    await server.sendToolListChanged();
    return answer('announced');
  }
  console.log(`slow: ${params.arguments.ms} ms`);
  for (let step = 1; step <= params.arguments.steps; step++) {
    await delay(params.arguments.ms / params.arguments.steps);
    const token = params._meta?.progressToken;
    if (token !== undefined) await sendNotification({ method: 'notifications/progress', params: { progressToken: token, progress: step } });
  }
  return answer('done');
}

const answer = text => ({ content: [{ type: 'text', text }] });

async function opened() {
  const server = new Server({ name: 'plain', version: '1' }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS }));
  server.setRequestHandler(CallToolRequestSchema, (request, extra) => call(server, request, extra));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: id => sessions.set(id, transport),
    eventStore: keepsEvents ? new NumberedEvents() : undefined,
  });
  await server.connect(transport);
  return transport;
}

createServer(async (request, response) => {
  const id = request.headers['mcp-session-id'];
  const transport = id ? sessions.get(id) : await opened();
  if (transport) await transport.handleRequest(request, response);
  else response.writeHead(404, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}');
}).listen(Number(process.env.PORT), '127.0.0.1');
