// Clients with sessions, through the gateway, at a server of the TypeScript SDK that speaks 2026-07-28 only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { startGateway } from './gateway.mjs';
import { startUpstream } from './upstreams.mjs';
import { waitFor } from './wait.mjs';

async function served(t, flags = []) {
  const upstream = await startUpstream('a server without sessions');
  t.after(() => upstream.crash());
  const gateway = await startGateway({ flags: ['--upstream', upstream.url(), ...flags] });
  t.after(() => gateway.stop());
  return { upstream, gateway };
}

async function connected(t, flavour, gateway, options) {
  const client = await connect(flavour, gateway.url, { elicits: true, ...options });
  t.after(() => client.close());
  client.answer = async () => ({ action: 'accept', content: { answer: 'forty-two' } });
  return client;
}

async function assertServed(client) {
  assert.deepEqual((await client.list()).map(tool => tool.name).sort(), ['announce', 'elicit', 'routed', 'slow']);
  assert.deepEqual((await client.call('slow', { ms: 300, steps: 3 })).progress, [1, 2, 3]);
  assert.equal((await client.call('routed', { place: 'Malmö' })).text, 'at Malmö');
  assert.equal((await client.call('elicit')).text, 'you said forty-two');
}

for (const flavour of CLIENTS) test(`${flavour}`, { timeout: 60_000 }, async t => {
  const { upstream, gateway } = await served(t);
  const client = await connected(t, flavour, gateway);

  await assertServed(client);
  assert.equal(client.initializes, 1);
  await client.call('announce');
  await waitFor('the client hears that the tools have changed', () => client.received.some(each => each.method === 'notifications/tools/list_changed'));

  await upstream.crash();
  await upstream.start();
  await waitFor('the stream of changes is back', async () => {
    await client.call('announce');
    return client.received.filter(each => each.method === 'notifications/tools/list_changed').length > 2;
  });
  await assertServed(client);
});

test('a client without sessions, which the gateway serves too', { timeout: 60_000 }, async t => {
  const { gateway } = await served(t, ['--protocols', 'both']);
  const client = await connected(t, 'v2-auto', gateway, { listens: false });

  await assertServed(client);
  assert.equal(client.initializes, 0);
});
