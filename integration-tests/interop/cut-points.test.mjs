// Cuts at chosen moments: on a stream that was just resumed, on an idle GET, around a response, under a half-open peer.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from './wait.mjs';
import { forEachClientAndCut } from './matrix.mjs';
import { assertOneSession, upTo } from './series.mjs';

const RETRY_MS = 300;
const gateway = { flags: ['--retry', `${RETRY_MS}ms`] };

const listening = exchange => exchange.method === 'GET';
const resumed = exchange => exchange.lastEventId !== undefined;
const calls = tool => exchange => exchange.request?.params?.name === tool;
const response = event => event.message?.result !== undefined || event.message?.error !== undefined;
const logMessage = event => event.message?.method === 'notifications/message';

forEachClientAndCut('a resumed stream is cut again and again', { gateway }, async ({ proxy, client, by }) => {
  let cutOnce;
  const firstProgress = new Promise(resolve => (cutOnce = resolve));
  const call = client.call('slow', { ms: 6000, steps: 20 }, { onprogress: cutOnce });
  await firstProgress;
  const again = proxy.cutAt({ matches: resumed, times: 6, by });
  await proxy.cutSoon(calls('slow'), by);
  await proxy.cutSoon(listening, by);
  await waitFor('every cut of a resumed stream', again.done);
  await assertNotified(client, 'after');
  assert.deepEqual((await call).progress, upTo(20));
  assertOneSession(client);
});

forEachClientAndCut('an idle GET is cut', { gateway }, async ({ proxy, client, by }) => {
  for (const round of upTo(3)) {
    const attached = countOf(proxy, listening);
    await proxy.cutSoon(listening, by);
    await assertNotified(client, `while-away-${round}`);
    assert.equal(countOf(proxy, listening), attached + 1);
  }
  await proxy.cutSoon(listening, by);
  await proxy.underWay(listening);
  await assertNotified(client, 'when-back');
  assertOneSession(client);
});

forEachClientAndCut('a notification is on its way when the GET is cut', { gateway }, async ({ proxy, client, by }) => {
  await proxy.underWay(listening);
  for (const swallow of [true, false]) {
    const cut = proxy.cutAt({ matches: listening, sees: logMessage, swallow, by });
    await assertNotified(client, `swallowed-${swallow}`);
    await waitFor('the cut', cut.done);
  }
  await assertNotified(client, 'last');
  assertOneSession(client);
});

forEachClientAndCut('the cut falls between response and end of stream', { gateway }, async ({ proxy, client, by }) => {
  for (const swallow of [true, false]) {
    const cut = proxy.cutAt({ matches: calls('slow'), sees: response, swallow, by });
    const { progress, text } = await client.call('slow', { ms: 400, steps: 4 });
    assert.deepEqual(progress, upTo(4));
    assert.match(text, /run=\d+/);
    await waitFor('the cut', cut.done);
  }
  assert.equal((await client.call('echo', { text: 'still here' })).text, 'still here');
  assertOneSession(client);
});

forEachClientAndCut('the response of a resumed stream is swallowed', { gateway }, async ({ proxy, client, by }) => {
  const cut = proxy.cutAt({ matches: resumed, sees: response, swallow: true, by });
  await assertCallSurvives(client, () => proxy.cutSoon(calls('slow'), by));
  assert.ok(cut.done());
  assertOneSession(client);
});

// Version 1 does not take an error for its answer and comes back for it; only a 204 makes it stop.
forEachClientAndCut('an error response does not bring the client back for ever', { gateway }, async ({ proxy, client, by }) => {
  for (const cut of [true, false]) {
    const id = `cut-${cut}`;
    if (cut) proxy.cutAt({ matches: exchange => exchange.request?.id === id, sees: response, by });
    await client.transport.send({ jsonrpc: '2.0', id, method: 'holdfast/unknown' });
    await waitFor('the error', () => client.received.some(each => each.id === id && each.error));
  }
  await delay(5 * RETRY_MS);
  await waitFor('an answer to every request', () => client.requests.every(each => each.status || each.failure));
  assert.ok(client.requests.filter(each => each.lastEventId).every(each => each.status === 204));
  assert.ok(client.resumes <= 2, `${client.resumes} resumes`);
});

forEachClientAndCut('the peer is half-open: gone for the client, not for the server', { gateway, cuts: ['vanish'] }, async ({ proxy, client, by }) => {
  await assertCallSurvives(client, async () => {
    await proxy.cutSoon(listening, by);
    await proxy.cutSoon(calls('slow'), by);
  });
  await assertNotified(client, 'half-open');
  for (const exchange of proxy.exchanges.filter(resumed)) assert.ok((exchange.headAt ?? Date.now()) - exchange.askedAt < 12_000, 'a head at once');
  assertOneSession(client);
});

/** A call whose streams are cut by `cut` at its first progress still brings everything. */
async function assertCallSurvives(client, cut) {
  let cutting;
  const { progress, text } = await client.call('slow', { ms: 4000, steps: 20 }, { onprogress: () => (cutting ??= cut()) });
  await cutting;
  assert.deepEqual(progress, upTo(20));
  assert.match(text, /run=\d+/);
}

/** Three notifications sent now arrive, once each and in order. */
async function assertNotified(client, tag) {
  await client.call('notify', { count: 3, tag });
  const mine = () => client.logs.filter(data => data.startsWith(`${tag}#`));
  await waitFor(`${tag}#3`, () => mine().includes(`${tag}#3`));
  assert.deepEqual(mine(), upTo(3).map(i => `${tag}#${i}`));
}

function countOf(proxy, matches) {
  return proxy.exchanges.filter(matches).length;
}
