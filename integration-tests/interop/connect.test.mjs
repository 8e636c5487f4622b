// `./holdfast connect` under the TypeScript SDK's stdio client, as a desktop application runs it, while its remote server comes and goes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CUTS, CuttingProxy } from './cutting-proxy.mjs';
import { startGateway } from './gateway.mjs';
import { assertNothingLost, assertOneSession, callSeries, upTo } from './series.mjs';
import { StdioClient, UNKNOWN, initializes } from './stdio-client.mjs';
import { waitFor } from './wait.mjs';

const EVERY_MS = 700;
const stoppedMs = seconds => 1000 * Number(process.env.HOLDFAST_STOPPED ?? seconds);
/** How long the bridge sleeps, and how long its remote server stands still. */
const ASLEEP_MS = stoppedMs(60);
const STOPPED_MS = stoppedMs(10);
/** What the bridge may take for a dead connection; the heartbeats of the remote server come every second. */
const SILENCE = '8s';
const SLOW = { ms: 1500, steps: 5 };
/** Goes on for long after its first progress. */
const LASTING = { ms: 9000, steps: 30 };

/** Calls again what may have been executed: a cut took the head of its answer before the bridge had read it. */
async function slowAgain(client, onprogress) {
  for (;;) {
    try {
      return await client.call('slow', SLOW, { onprogress });
    } catch (failure) {
      assert.match(failure.message, UNKNOWN);
    }
  }
}

async function remote(t, flags = []) {
  const gateway = await startGateway({ flags: ['--retry', '300ms', '--heartbeat', '1s', ...flags] });
  t.after(() => gateway.stop());
  const proxy = await CuttingProxy.to(gateway.port);
  t.after(() => proxy.close());
  return { gateway, proxy };
}

describe('connect', { concurrency: 2 }, () => {
  // the first, so that the others run while it waits
  test('the bridge sleeps for a while in the middle of a call, and its connections die meanwhile', { timeout: 180_000 }, async t => {
    const { proxy } = await remote(t);
    const client = await StdioClient.to(t, proxy.url);
    await proxy.underWay(each => each.method === 'GET');
    const begun = new Promise(resolve => {
      client.running = client.call('slow', LASTING, { onprogress: resolve });
    });
    await begun;
    process.kill(client.transport.pid, 'SIGSTOP');
    assert.ok(proxy.cutNow(() => true, 'fin') >= 2, 'the call and the listening stream are cut');
    await delay(ASLEEP_MS);
    process.kill(client.transport.pid, 'SIGCONT');
    const { text, progress } = await client.running;
    assert.match(text, /run=/);
    assert.deepEqual(progress, upTo(LASTING.steps));
    assertOneSession(client);
    assert.equal(initializes(proxy), 1);
    assert.deepEqual(client.errors, []);
  });

  for (const by of CUTS) {
    test(`cuts by ${by} every ${EVERY_MS} ms: nothing lost, nothing twice, one session`, { timeout: 120_000 }, async t => {
      const { proxy } = await remote(t);
      const client = await StdioClient.to(t, proxy.url);
      proxy.cutEvery(EVERY_MS, by);
      const done = await callSeries(client, { calls: 10, notes: 0, tool: slowAgain });
      await proxy.calm();
      await assertNothingLost(client, done, { calls: 10, notes: 0 });
      assert.equal(initializes(proxy), 1);
      assert.deepEqual(client.errors, []);
      assert.ok(proxy.counts.cuts >= 5, 'the proxy has cut');
      t.diagnostic(JSON.stringify(proxy.counts));
    });
  }

  test('connections that carry nothing any more, and do not end: nothing lost, nothing twice, one session', { timeout: 240_000 }, async t => {
    const { proxy } = await remote(t);
    const client = await StdioClient.to(t, proxy.url, ['--max-silence', SILENCE]);
    proxy.cutEvery(2 * EVERY_MS, 'hang');
    const done = await callSeries(client, { calls: 5, notes: 0, tool: slowAgain });
    await proxy.calm();
    await assertNothingLost(client, done, { calls: 5, notes: 0 });
    assert.equal(initializes(proxy), 1);
    assert.deepEqual(client.errors, []);
    assert.ok(proxy.counts.cuts >= 5, 'the proxy has cut');
  });

  for (const refuseMs of [1_000, 20_000]) {
    test(`the remote server refuses connections for ${refuseMs} ms: nothing lost, nothing twice, one session`, { timeout: 120_000 }, async t => {
      const { proxy } = await remote(t);
      const client = await StdioClient.to(t, proxy.url);
      const series = callSeries(client, { calls: 3, notes: 0, tool: slowAgain });
      await proxy.underWay(each => each.request?.method === 'tools/call');
      proxy.outages({ serviceMs: 200, refuseMs, by: 'rst' });
      const refused = waitFor('connections are refused', () => !proxy.serving);
      const calm = refused.then(() => delay(refuseMs)).then(() => proxy.calm());
      const meanwhile = refused.then(() => client.call('slow', { ms: 10, steps: 1 }));
      const done = await series;
      assert.match((await meanwhile).text, /run=/);
      await calm;
      await assertNothingLost(client, done, { calls: 3, notes: 0 });
      assert.equal(initializes(proxy), 1);
      assert.deepEqual(client.errors, []);
      assert.ok(proxy.exchanges.some(each => each.request?.method === 'tools/call' && each.cutBy), 'a call was cut');
    });
  }

  test('the remote server is stopped for a while in the middle of a call', { timeout: 180_000 }, async t => {
    const { gateway, proxy } = await remote(t);
    const client = await StdioClient.to(t, proxy.url);
    const begun = new Promise(resolve => {
      client.running = client.call('slow', SLOW, { onprogress: resolve });
    });
    await begun;
    gateway.freeze();
    await delay(STOPPED_MS);
    gateway.thaw();
    const { text, progress } = await client.running;
    assert.match(text, /run=/);
    assert.deepEqual(progress, upTo(SLOW.steps));
    assert.equal(new Set([text, (await client.call('slow', { ms: 10, steps: 1 })).text]).size, 2);
    assertOneSession(client);
    assert.equal(initializes(proxy), 1);
    assert.deepEqual(client.errors, []);
  });

  test('the remote server is frozen for longer than its connections may be silent', { timeout: 240_000 }, async t => {
    const { gateway, proxy } = await remote(t);
    const client = await StdioClient.to(t, proxy.url, ['--max-silence', SILENCE]);
    const begun = new Promise(resolve => {
      client.running = client.call('slow', SLOW, { onprogress: resolve });
    });
    await begun;
    gateway.freeze();
    const meanwhile = client.call('slow', { ms: 10, steps: 1 }).then(({ text }) => text, failure => failure.message);
    const streams = () => proxy.exchanges.filter(each => each.method === 'GET').length;
    const before = streams();
    assert.match(await meanwhile, UNKNOWN, 'a call that the frozen server may have had');
    await waitFor('both streams are tried again, and again', () => streams() >= before + 4, 60_000);
    gateway.thaw();
    const { text, progress } = await client.running;
    assert.deepEqual(progress, upTo(SLOW.steps));
    const texts = [text];
    for (let i = 0; i < 3; i++) texts.push((await client.call('slow', { ms: 10, steps: 1 })).text);
    const runs = texts.map(each => Number(/run=(\d+)/.exec(each)[1]));
    assert.equal(new Set(runs).size, runs.length, 'a run that answered two calls');
    assert.ok(Math.max(...runs) <= runs.length + 1, `more runs than calls: ${runs}`);
    assertOneSession(client);
    assert.equal(initializes(proxy), 1);
    assert.deepEqual(client.errors, []);
  });

  test('kill -9 of the remote gateway in the middle of calls', { timeout: 240_000 }, async t => {
    const { gateway, proxy } = await remote(t);
    const client = await StdioClient.to(t, proxy.url);
    for (let round = 0; round < 3; round++) {
      let begun;
      const first = new Promise(resolve => (begun = resolve));
      const running = client.call('slow', LASTING, { onprogress: begun }).then(({ text }) => text, failure => failure.message);
      await first;
      await gateway.crash();
      await delay(500);
      await gateway.restart();
      assert.match((await client.call('slow', { ms: 10, steps: 1 })).text, /run=/);
      assert.doesNotMatch(await running, /run=/, 'a call that must not run twice');
    }
    assertOneSession(client);
    assert.equal(initializes(proxy), 1);
    assert.deepEqual(client.errors, []);
  });

  test('the bridge ends with its client', { timeout: 60_000 }, async t => {
    const { proxy } = await remote(t);
    const client = await StdioClient.to(t, proxy.url);
    const { pid } = client.transport;
    await client.close();
    await waitFor('the bridge has ended', () => !lives(pid));
    await waitFor('the session has ended', () => proxy.exchanges.some(each => each.method === 'DELETE'));
  });
});

function lives(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
