// The echo server of the TypeScript SDK: sessions and resumable streams, with the in-memory event store that the SDK shows for it.
// Argument: its port.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const transports = new Map();

async function open() {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new InMemoryEventStore(),
    onsessioninitialized: (id) => transports.set(id, transport),
    onsessionclosed: (id) => transports.delete(id),
  });
  const server = new McpServer({ name: 'typescript-peer', version: '1' });
  server.registerTool('echo', { description: 'Returns its text.', inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  await server.connect(transport);
  return transport;
}

createServer(async (request, response) => {
  const session = request.headers['mcp-session-id'];
  const transport = session === undefined ? await open() : transports.get(session);
  if (transport === undefined) {
    response.writeHead(404).end();
  } else {
    await transport.handleRequest(request, response);
  }
}).listen(Number(process.argv[2]), '127.0.0.1');
