// The gateway in front of servers over HTTP, with cuts between it and them as well as between it and its clients.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { CUTS, CuttingProxy } from './cutting-proxy.mjs';
import { startGateway } from './gateway.mjs';
import { assertNothingLost, assertOneSession, callSeries, upTo } from './series.mjs';
import { startUpstream } from './upstreams.mjs';
import { waitFor } from './wait.mjs';

const EVERY_MS = 700;
const operation = (client, onprogress) => client.call('trigger-long-running-operation', { duration: 1.5, steps: 5 }, { onprogress });

const UNKNOWN = /it is not known whether the upstream has executed the request/;

/** Calls again what the upstream may have executed: a cut took the head of its answer before the gateway had read it. */
async function slowAgain(client, onprogress) {
  for (;;) {
    try {
      return await client.call('slow', { ms: 1500, steps: 5 }, { onprogress });
    } catch (failure) {
      assert.match(failure.message, UNKNOWN);
    }
  }
}

/** A gateway before `url`, and a proxy before the gateway. */
async function before(t, url, flags = []) {
  const gateway = await startGateway({ flags: ['--retry', '300ms', '--upstream', url, ...flags] });
  t.after(() => gateway.stop());
  const proxy = await CuttingProxy.to(gateway.port);
  t.after(() => proxy.close());
  return { gateway, proxy };
}

async function connected(t, flavour, url) {
  const client = await connect(flavour, url);
  t.after(() => client.close());
  return client;
}

describe('another Holdfast, cuts on both legs', { concurrency: 2 }, () => {
  test('the leg of the upstream carries nothing any more and does not end, during a call and for the listening stream', { timeout: 120_000 }, async t => {
    const remote = await startGateway({ flags: ['--retry', '300ms', '--heartbeat', '1s'] });
    t.after(() => remote.stop());
    const leg = await CuttingProxy.to(remote.port);
    t.after(() => leg.close());
    const { gateway } = await before(t, leg.url);
    const client = await connected(t, 'v1', gateway.url);
    const id = client.sessionId;
    await leg.underWay(each => each.method === 'GET');
    await client.call('slow', { ms: 8000, steps: 1 }); // long enough for heartbeats, which tell what silence is
    let running;
    await new Promise(begun => {
      running = client.call('slow', { ms: 9000, steps: 30 }, { onprogress: begun });
    });
    assert.equal(leg.cutNow(() => true, 'hang'), 2, 'the call and the listening stream');
    const { text, progress } = await running;
    assert.match(text, /run=/);
    assert.deepEqual(progress, upTo(30));
    await client.call('notify', { count: 3, tag: 'after' });
    await waitFor('the notifications behind the silence', () => client.logs.includes('after#3'));
    assert.deepEqual(client.logs, upTo(3).map(i => `after#${i}`));
    assert.equal(client.sessionId, id);
    assertOneSession(client);
  });

  for (const by of CUTS) {
    test(`another Holdfast, both legs, ${by}`, { timeout: 240_000 }, async t => {
      const remote = await startGateway({ flags: ['--retry', '300ms'] });
      t.after(() => remote.stop());
      const leg = await CuttingProxy.to(remote.port);
      t.after(() => leg.close());
      const { proxy } = await before(t, leg.url);
      const clients = await Promise.all(CLIENTS.map(flavour => connected(t, flavour, proxy.url)));
      leg.cutEvery(EVERY_MS, by);
      proxy.cutEvery(EVERY_MS - 100, by);
      const done = await Promise.all(clients.map(client => callSeries(client, { notes: 0, calls: 10, tool: slowAgain })));
      await Promise.all([leg.calm(), proxy.calm()]);
      for (const [i, client] of clients.entries()) await assertNothingLost(client, done[i], { notes: 0, calls: 10 });
      const runs = done.flat().map(each => /run=(\d+)/.exec(each.text)[1]);
      assert.equal(new Set(runs).size, runs.length, 'a run that answered two calls');
      assert.ok(leg.counts.cuts >= 5 && proxy.counts.cuts >= 5, 'both proxies have cut');
      t.diagnostic(`upstream ${JSON.stringify(leg.counts)}, client ${JSON.stringify(proxy.counts)}`);
    });
  }
});

describe('server-everything', { concurrency: 2 }, () => {
  for (const name of ['server-everything', 'server-everything over HTTP+SSE']) {
    test(`${name}, cuts between clients and gateway`, { timeout: 240_000 }, async t => {
      const upstream = await startUpstream(name);
      t.after(() => upstream.crash());
      const { proxy } = await before(t, upstream.url());
      const clients = await Promise.all(CLIENTS.map(flavour => connected(t, flavour, proxy.url)));
      proxy.cutEvery(EVERY_MS, 'rst');
      const done = await Promise.all(clients.map(client => callSeries(client, { tool: operation, notes: 0, calls: 10 })));
      await proxy.calm();
      for (const [i, client] of clients.entries()) await assertNothingLost(client, done[i], { notes: 0, calls: 10 });
      assert.ok(proxy.counts.cuts >= 10, 'the proxy has cut');
    });
  }

  for (const by of CUTS) {
    test(`server-everything, cuts on both legs by ${by}`, { timeout: 240_000 }, async t => {
      const upstream = await startUpstream('server-everything');
      t.after(() => upstream.crash());
      const leg = await CuttingProxy.to(upstream.port);
      t.after(() => leg.close());
      const { proxy } = await before(t, leg.url);
      const client = await connected(t, 'v1', proxy.url);
      leg.cutEvery(EVERY_MS, by);
      proxy.cutEvery(EVERY_MS - 100, by);
      const done = await callSeries(client, { tool: operation, notes: 0, calls: 10 });
      await Promise.all([leg.calm(), proxy.calm()]);
      for (const { text } of done) assert.match(text, /completed/);
      await assertNothingLost(client, done, { notes: 0, calls: 10 });
      assert.ok(leg.counts.cuts >= 5 && proxy.counts.cuts >= 5, 'both proxies have cut');
      assertOneSession(client);
      t.diagnostic(`upstream ${JSON.stringify(leg.counts)}, client ${JSON.stringify(proxy.counts)}`);
    });
  }
});

describe('a server that forgets its sessions', { concurrency: 2 }, () => {
  for (const name of ['server-everything', 'server-everything over HTTP+SSE', 'a server without event ids']) {
    test(`${name}, killed and started again`, { timeout: 240_000 }, async t => {
      const upstream = await startUpstream(name);
      t.after(() => upstream.crash());
      const { gateway } = await before(t, upstream.url());
      const client = await connected(t, 'v1', gateway.url);
      const id = client.sessionId;
      const everything = name.startsWith('server');
      const tool = everything ? operation : (client, onprogress) => client.call('slow', { ms: 1500, steps: 5 }, { onprogress });
      const lasting = everything
        ? (client, onprogress) => client.call('trigger-long-running-operation', { duration: 6, steps: 20 }, { onprogress })
        : (client, onprogress) => client.call('slow', { ms: 6000, steps: 20 }, { onprogress });
      for (let round = 0; round < 3; round++) {
        let running;
        await new Promise(runs => {
          running = lasting(client, runs).then(() => 'finished', failure => failure.message);
        });
        await upstream.crash();
        await upstream.start();
        assert.match((await tool(client, () => {})).text, /completed|done/);
        // a session that has come back has asked the server which of its tools only read: their calls are run again
        assert.match(await running, round > 0 && everything ? /^finished$/ : UNKNOWN);
      }
      assert.equal(client.sessionId, id);
      assertOneSession(client);
    });
  }

  test('a server without event ids, cuts on both legs: each call has a result or a definite error, none runs twice', { timeout: 240_000 }, async t => {
    const upstream = await startUpstream('a server without event ids');
    t.after(() => upstream.crash());
    const leg = await CuttingProxy.to(upstream.port);
    t.after(() => leg.close());
    const { proxy } = await before(t, leg.url);
    const client = await connected(t, 'v1', proxy.url);
    const isCall = each => each.request?.method === 'tools/call';
    const ends = [];
    for (let i = 0; i < 10; i++) {
      const cuts = proxy.cutSoon(isCall, 'rst').then(() => i % 2 && leg.cutSoon(isCall, 'rst'));
      ends.push(await client.call('slow', { ms: 6000 + i, steps: 3 }).then(({ text }) => text, failure => failure.message));
      await cuts;
    }
    assert.ok(leg.counts.cuts >= 4 && proxy.counts.cuts >= 4, 'both proxies have cut');
    for (const end of ends) assert.match(end, /^done$|it is not known whether the upstream has executed the request/);
    assert.equal(ends.filter(end => end === 'done').length, 5);
    const runs = () => [...upstream.log.matchAll(/slow: (\d+) ms/g)].map(([, ms]) => Number(ms));
    await waitFor('ten runs', () => runs().length >= 10);
    assert.deepEqual(runs(), upTo(10).map(n => 5999 + n));
    assertOneSession(client);
  });
});

test('named headers reach the upstream, and no others', { timeout: 60_000 }, async t => {
  const upstream = await startUpstream('a server without event ids');
  t.after(() => upstream.crash());
  const headers = async flags => {
    const { gateway } = await before(t, upstream.url(), flags);
    const post = (message, session = {}) => fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: 'Bearer secret', 'x-tenant': 'blue', ...session },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
    const opened = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'headers', version: '1' } } });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') };
    await post({ method: 'notifications/initialized' }, session);
    const text = await (await post({ id: 2, method: 'tools/call', params: { name: 'headers', arguments: {} } }, session)).text();
    return JSON.parse(JSON.parse(/^data: (\{.*)$/m.exec(text)[1]).result.content[0].text);
  };
  const none = await headers([]);
  assert.equal(none.authorization, undefined);
  assert.equal(none['x-tenant'], undefined);
  const named = await headers(['--forward-header', 'Authorization,X-Tenant']);
  assert.equal(named.authorization, 'Bearer secret');
  assert.equal(named['x-tenant'], 'blue');
});
