// HTTP+SSE with a grace period: the GET is cut every second for 30 s, and the client never notices.
import assert from 'node:assert/strict';
import { RESUMING_SSE_CLIENTS, SSE_CLIENTS } from './clients.mjs';
import { forEachClientAndCut } from './matrix.mjs';
import { assertNothingLost, callSeries } from './series.mjs';
import { waitFor } from './wait.mjs';

const CALLS = 100; // five at a time, 1.5 s each: 30 s
const gateway = { flags: ['--sse-reconnect-grace', '1m', '--retry', '300ms'] };

const options = { gateway, clients: RESUMING_SSE_CLIENTS, timeout: 240_000 };

forEachClientAndCut('HTTP+SSE, cuts every second for 30 s', options, async ({ proxy, client, by, t }) => {
  const begun = Date.now();
  proxy.cutEvery(1000, by);
  const done = await callSeries(client, { calls: CALLS });
  const ms = Date.now() - begun;
  await proxy.calm();
  t.diagnostic(`${ms} ms, ${client.requests.filter(each => each.method === 'POST').length} POSTs, ${client.logs.length} notifications`);

  assert.ok(ms >= 30_000, `${ms} ms`);
  const cut = proxy.exchanges.filter(each => each.cutBy);
  assert.ok(cut.length >= 10, `${cut.length} cuts`);
  assert.ok(cut.every(each => each.method === 'GET'), 'a POST is answered in one piece, and so never cut');
  await assertNothingLost(client, done, { calls: CALLS });
  assertOneEndpoint(proxy, client);
});

// When this fails, the official clients have learned to send the header, and the clients above need no fetch of their own.
forEachClientAndCut('typescriptSdk339: without Last-Event-ID a client comes back to a new session', { gateway, clients: SSE_CLIENTS }, async ({ proxy, client, by }) => {
  await proxy.cutSoon(each => each.method === 'GET', by);
  const stranger = () => client.call('echo', { text: 'who am I?' }, { timeout: 3_000 }).then(() => false, error => /not initialized/.test(error));
  await waitFor('the client is back, and a stranger', stranger);
  assert.equal(client.resumes, 0);
  assert.equal(client.endpoints.length, 2, 'addresses posted to');
});

/** Every GET after the first named an event and was told the same endpoint as the first. */
function assertOneEndpoint(proxy, client) {
  const gets = proxy.exchanges.filter(each => each.method === 'GET');
  assert.equal(client.resumes, gets.length - 1);
  const told = gets.flatMap(each => each.events.filter(event => event.type === 'endpoint').map(event => event.data));
  assert.equal(told.length, gets.length, 'endpoint events');
  assert.equal(new Set(told).size, 1, 'endpoints');
  assert.equal(client.endpoints.length, 1, 'addresses posted to');
}
