// The example of Spring AI under cuts every 700 ms: with Holdfast's starter on the class path every call succeeds, without it the
// same run fails. And its end in order: calls complete, and streams do not hold it back.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { buildSpringExample, startSpringExample, underCuts } from './examples.mjs';
import { assertEachRanOnce, upTo } from './series.mjs';

const LISTENERS = 50;
const SLOW_CALLS = 10;
const SLOW = { ms: 3000, steps: 6 };
/** How long Tomcat waits for streams that are left open when the transport has drained. */
const STREAMS_MS = 90_000;
const SOON_MS = 30_000;

describe('a Spring AI server', { concurrency: 2 }, () => {
  before(() => buildSpringExample());

  test('with Holdfast: nothing is lost', { timeout: 360_000 }, async t => {
    const example = await startSpringExample();
    t.after(() => example.stop());
    const done = await Promise.all(CLIENTS.map(flavour => underCuts(example, flavour, t)));
    assertEachRanOnce(done.flat().map(each => each.text));
  });

  test('without Holdfast: the same run fails', { timeout: 360_000 }, async t => {
    const example = await startSpringExample({ holdfast: false });
    t.after(() => example.stop());
    assert.notEqual(example.ours.length, 0, 'jars of Holdfast that were taken away');
    await assert.rejects(underCuts(example, CLIENTS[0], t, 12_000), /timed out|timeout|fetch failed|terminated|aborted|closed/i);
  });

  test('SIGTERM: ten calls finish, and 50 listeners do not hold its end back', { timeout: 600_000 }, async t => {
    const properties = { 'spring.lifecycle.timeout-per-shutdown-phase': `${STREAMS_MS}ms` };
    const server = await startSpringExample({ properties, more: 'spring/LoadTools.java' });
    t.after(() => server.stop());
    const clients = await Promise.all(upTo(LISTENERS).map(i => connect(CLIENTS[i % CLIENTS.length], server.url)));
    t.after(() => Promise.all(clients.map(client => client.close())));
    const calls = [];
    await Promise.all(clients.slice(0, SLOW_CALLS).map(client => new Promise(onprogress => calls.push(client.call('slow', SLOW, { onprogress })))));

    server.terminate();

    for (const { text, progress } of await Promise.all(calls)) {
      assert.match(text, /3000 ms in 6 steps/);
      assert.deepEqual(progress, upTo(SLOW.steps));
    }
    const answeredAt = Date.now();
    assert.deepEqual(await server.ended(), { code: 143, signal: null });
    const took = Date.now() - answeredAt;
    t.diagnostic(`ended ${took} ms after the last answer`);
    assert.ok(took < SOON_MS, `ended ${took} ms after the last answer`);
  });
});
