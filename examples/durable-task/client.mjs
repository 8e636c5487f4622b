// Calls a slow tool as a client of MCP 2026-07-28 that takes tasks, and waits for its result, whatever happens to the server meanwhile:
// client.mjs TOOL URL..., where each URL is another node with the same store.
import { setTimeout } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { DispatchError, createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';

const [tool, ...nodes] = process.argv.slice(2);
const url = nodes[0];
const clientInfo = { name: 'durable-task', version: '1.0.0' };
const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const protocolVersion = '2026-07-28';

const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: 'auto' } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await client.listTools();

const session = createTaskSessionFromClient(client, { endpointId: url, rawDispatch: post, v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities } });
const execution = await session.callTool(tool, {});
const { outcome } = await execution.settle({ onEvent: ({ task }) => task && console.log(`${task.status} ${task.taskId}`) });
console.log(resultFromTaskOutcome(outcome).content[0].text);
await session.close();
await client.close();

/** The extension sends its requests itself: the SDK's client does not know its answers yet. */
async function post(request, { signal } = {}) {
  const { method, params } = request;
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': protocolVersion,
    'Mcp-Method': method,
    'Mcp-Name': params.name ?? params.taskId ?? '',
  };
  const body = await send({ method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }), signal }, method === 'tasks/get');
  const messages = body.startsWith('{') ? [body] : body.split('\n').flatMap(line => (line.startsWith('data: {') ? [line.slice(6)] : []));
  const answer = messages.map(message => JSON.parse(message)).find(message => 'result' in message || 'error' in message);
  if (!answer) throw new DispatchError('the connection ended before the answer');
  return answer.result ? { kind: 'result', result: answer.result } : { kind: 'error', error: answer.error };
}

/** Who asks for the state of a task may ask again, for as long as a server takes to come back. */
async function send(request, again) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await (await fetch(nodes[(attempt - 1) % nodes.length], request)).text();
    } catch (error) {
      if (!again || attempt === 60) throw new DispatchError('the server cannot be reached', false, { cause: error });
      await setTimeout(500);
    }
  }
}
