// A server that speaks revision 2026-07-28 and nothing else, as the TypeScript SDK makes it: it has no sessions.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';

const object = properties => fromJsonSchema({ type: 'object', properties });
const whole = { type: 'integer' };
const answer = text => ({ content: [{ type: 'text', text }] });

function serve() {
  const server = new McpServer({ name: 'modern', version: '1' }, { capabilities: { tools: { listChanged: true }, logging: {} } });
  server.registerTool('slow', { inputSchema: object({ ms: whole, steps: whole }) }, async ({ ms, steps }, { mcpReq }) => {
    console.log('slow begins');
    mcpReq.signal.addEventListener('abort', () => console.log('slow is cancelled'));
    for (let step = 1; step <= steps; step++) {
      await delay(ms / steps, undefined, { signal: mcpReq.signal });
      const token = mcpReq._meta?.progressToken;
      if (token !== undefined) await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress: step } });
    }
    return answer('done');
  });
  server.registerTool('routed', { inputSchema: object({ place: { type: 'string', 'x-mcp-header': 'Place' } }) }, ({ place }) => answer(`at ${place}`));
  server.registerTool('elicit', { inputSchema: object({}) }, (args, { mcpReq }) => {
    const told = acceptedContent(mcpReq.inputResponses, 'answer');
    return told
      ? answer(`you said ${told.answer}`)
      : inputRequired({ inputRequests: { answer: inputRequired.elicit({ message: 'Well?', requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } } }) } });
  });
  server.registerTool('announce', { inputSchema: object({}) }, () => {
    handler.notify.toolsChanged();
    return answer('announced');
  });
  return server;
}

const handler = createMcpHandler(serve, { legacy: 'reject' });
createServer(toNodeHandler(handler)).listen(Number(process.env.PORT), '127.0.0.1');
