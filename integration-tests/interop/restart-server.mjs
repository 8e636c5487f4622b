// A stdio server that notes each execution of its slow tools in a file, its argument, before it begins.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const notes = process.argv[2];

const whole = { type: 'integer' };
const text = { type: 'string' };
const tool = (name, properties, hints) => ({ name, inputSchema: { type: 'object', properties }, annotations: hints });
const READS = { readOnlyHint: true, idempotentHint: true };
const ACTS = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };

const TOOLS = [
  tool('slow', { ms: whole, steps: whole }, ACTS),
  tool('slow_read', { ms: whole, steps: whole }, READS),
  tool('notify', { count: whole, tag: text }, ACTS),
  tool('echo', { text }, READS),
];

const CALLS = {
  slow,
  slow_read: slow,
  notify: ({ count, tag }) => {
    for (let i = 1; i <= count; i++) send({ method: 'notifications/message', params: { level: 'info', data: `${tag}#${i}` } });
    return `sent=${count} of ${count}`;
  },
  echo: args => args.text,
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name: 'restart-server', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': async params => ({ content: [{ type: 'text', text: await CALLS[params.name](params.arguments, params._meta) }] }),
};

async function slow({ ms, steps }, meta) {
  appendFileSync(notes, `slow: ${ms} ms in ${steps} steps\n`);
  for (let step = 1; step <= steps; step++) {
    await delay(ms / steps);
    send({ method: 'notifications/progress', params: { progressToken: meta.progressToken, progress: step, total: steps } });
  }
  return `${ms} ms in ${steps} steps`;
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

process.stdout.on('error', () => process.exit(1)); // nobody reads what it says any more
createInterface({ input: process.stdin }).on('line', async line => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = METHODS[method];
  send(answer ? { id, result: await answer(params) } : { id, error: { code: -32601, message: `no method ${method}` } });
});
