// A stdio server that notes each execution of its slow tools in a file, its first argument, before it begins. Its second, where
// there is one, is a file that holds its version.
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const [notes, release] = process.argv.slice(2);
const version = release ? readFileSync(release, 'utf8') : '1.0.0';

const whole = { type: 'integer' };
const text = { type: 'string' };
const tool = (name, properties, hints) => ({ name, inputSchema: { type: 'object', properties }, annotations: hints });
const READS = { readOnlyHint: true, idempotentHint: true };
const ACTS = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };

const TOOLS = [
  tool('slow', { ms: whole, steps: whole }, ACTS),
  tool('slow_read', { ms: whole, steps: whole }, READS),
  tool('notify', { count: whole, tag: text }, ACTS),
  tool('announce', {}, ACTS),
  tool('echo', { text }, READS),
];

const CALLS = {
  slow,
  slow_read: slow,
  notify: ({ count, tag }) => {
    for (let i = 1; i <= count; i++) send({ method: 'notifications/message', params: { level: 'info', data: `${tag}#${i}` } });
    return `sent=${count} of ${count}`;
  },
  announce: () => {
    send({ method: 'notifications/resources/list_changed' });
    return 'announced';
  },
  echo: args => args.text,
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true }, logging: {} },
    serverInfo: { name: 'restart-server', version },
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
