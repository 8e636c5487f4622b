// A stdio MCP server that does next to nothing, so that a gateway in front of it is what is measured.
import { createInterface } from 'node:readline';

const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'child', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [{ name: 'echo', description: 'Returns its text.', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ arguments: { text } }) => ({ content: [{ type: 'text', text }], isError: false }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined && method !== undefined) {
    const result = results[method];
    const outcome = result ? { result: result(params) } : { error: { code: -32601, message: `no method ${method}` } };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
  }
});
