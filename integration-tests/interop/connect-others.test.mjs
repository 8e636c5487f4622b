// `./holdfast connect` in front of servers that are not Holdfast: of the TypeScript SDK, over both protocols, with event ids and without.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CuttingProxy } from './cutting-proxy.mjs';
import { upTo } from './series.mjs';
import { StdioClient, UNKNOWN } from './stdio-client.mjs';
import { startUpstream } from './upstreams.mjs';
import { waitFor } from './wait.mjs';

const STEPS = 5;
/** What a server calls its tools, and which notification one of them sends. */
const EVERYTHING = {
  lasts: { name: 'trigger-long-running-operation', args: seconds => ({ duration: seconds, steps: STEPS }), result: /completed/ },
  announces: { name: 'toggle-simulated-logging', by: 'notifications/message' },
};
const PLAIN = {
  lasts: { name: 'slow', args: seconds => ({ ms: 1000 * seconds, steps: STEPS }), result: /^done$/ },
  announces: { name: 'announce', by: 'notifications/tools/list_changed' },
};
/** What a running call comes to under a cut: it is resumed, its fate is unknown, or it is run again, for the list says that it only reads. */
const SERVERS = {
  'server-everything': { ...EVERYTHING, cut: { by: 'rst', end: 'resumed', sessions: 1 } },
  'a server with event ids': { ...PLAIN, cut: { by: 'fin', end: 'resumed', sessions: 1 } },
  'a server without event ids': { ...PLAIN, cut: { by: 'rst', end: 'unknown', sessions: 1 } },
  'server-everything over HTTP+SSE': { ...EVERYTHING, cut: { by: 'fin', end: 'again', sessions: 2 } },
};
const CHANGED = 'notifications/roots/list_changed';

async function connected(t, name) {
  const upstream = await startUpstream(name);
  t.after(() => upstream.crash());
  const proxy = await CuttingProxy.to(upstream.port);
  t.after(() => proxy.close());
  return { proxy, client: await StdioClient.to(t, upstream.url(proxy.port)) };
}

describe('connect in front of other servers', { concurrency: 2 }, () => {
  for (const [name, { lasts, announces, cut }] of Object.entries(SERVERS)) {
    test(`${name}: a list, calls, notifications both ways, and a cut by ${cut.by}`, { timeout: 120_000 }, async t => {
      const { proxy, client } = await connected(t, name);
      const call = (seconds, onprogress) => client.call(lasts.name, lasts.args(seconds), { onprogress });

      assert.ok((await client.tools()).includes(lasts.name));
      await client.transport.send({ jsonrpc: '2.0', method: CHANGED });
      await waitFor('the server has taken a notification', () => proxy.exchanges.some(each => each.request?.method === CHANGED && each.status === 202));
      await client.call(announces.name);
      await waitFor('a notification of the server', () => client.received.some(each => each.method === announces.by));
      const whole = await call(1.5);
      assert.match(whole.text, lasts.result);
      assert.deepEqual(whole.progress, upTo(STEPS));

      const seen = [];
      let running;
      await new Promise(begun => {
        running = call(6, step => { // it runs for long enough to be cut
          seen.push(step);
          begun();
        }).then(({ text }) => text, failure => failure.message);
      });
      assert.ok(proxy.cutNow(() => true, cut.by) >= 1, 'the proxy has cut');
      assert.match(await running, cut.end === 'unknown' ? UNKNOWN : lasts.result);
      if (cut.end === 'resumed') assert.deepEqual(seen, upTo(STEPS));
      if (cut.end === 'again') assert.deepEqual(seen.slice(-STEPS), upTo(STEPS));

      assert.match((await call(1.5)).text, lasts.result);
      assert.ok((await client.tools()).includes(lasts.name));
      const opened = proxy.exchanges.filter(each => each.request?.method === 'initialize' && each.status < 300);
      assert.equal(opened.length, cut.sessions);
      const responses = client.received.filter(each => each.method === undefined).map(each => each.id);
      assert.equal(new Set(responses).size, responses.length, 'responses that came twice');
    });
  }
});
