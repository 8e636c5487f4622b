// SIGTERM during calls: they complete when the drain timeout lets them, else they are answered with an error. Then the process ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { startGateway } from './gateway.mjs';

const SLACK_MS = 12_000;

test('a call that fits into the drain timeout completes', { timeout: 60_000 }, async t => {
  const { calls, ended } = await terminateDuringCalls(t, { drainMs: 10_000, call: { ms: 2000, steps: 4 } });
  for (const { text, progress } of await Promise.all(calls)) {
    assert.match(text, /run=\d+/);
    assert.deepEqual(progress, [1, 2, 3, 4]);
  }
  assert.deepEqual(await ended, { code: 0, signal: null });
});

test('a call that does not fit is answered with an error', { timeout: 60_000 }, async t => {
  const { calls, ended } = await terminateDuringCalls(t, { drainMs: 1000, call: { ms: 20_000, steps: 100 } });
  const from = Date.now();
  for (const { reason } of await Promise.allSettled(calls)) {
    assert.equal(reason?.code, -32603, String(reason));
    assert.match(reason.message, /the server was shut down before this call had ended$/);
  }
  assert.ok(Date.now() - from < 1000 + SLACK_MS, 'answered, not timed out');
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.ok(Date.now() - from < 1000 + SLACK_MS, 'ended soon after the drain timeout');
});

/** One call per client, SIGTERM once each of them has made progress. */
async function terminateDuringCalls(t, { drainMs, call }) {
  const gateway = await startGateway({ flags: ['--drain-timeout', `${drainMs}ms`] });
  t.after(() => gateway.stop());
  const calls = [];
  for (const flavour of CLIENTS) {
    const client = await connect(flavour, gateway.url);
    t.after(() => client.close());
    await new Promise(onprogress => calls.push(client.call('slow', call, { onprogress })));
    calls.at(-1).catch(() => {});
  }
  gateway.terminate();
  return { calls, ended: gateway.ended() };
}
