// Clients of revision 2026-07-28 against a gateway that serves it, in front of a stdio server: they need no session.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from './clients.mjs';
import { startGateway } from './gateway.mjs';

async function served(t, ...flags) {
  const gateway = await startGateway({ flags });
  t.after(() => gateway.stop());
  return gateway;
}

async function connected(t, flavour, gateway, options) {
  const client = await connect(flavour, gateway.url, options);
  t.after(() => client.close());
  return client;
}

test('a client that knows both revisions speaks the newer one', { timeout: 60_000 }, async t => {
  const client = await connected(t, 'v2-auto', await served(t), { elicits: true, listens: false });
  client.answer = async () => ({ action: 'accept', content: { answer: 'forty-two' } });

  assert.deepEqual((await client.list()).map(tool => tool.name).sort(), ['echo', 'elicit', 'notify', 'slow']);
  assert.match((await client.call('echo', { text: 'hello' })).text, /hello/);
  assert.deepEqual((await client.call('slow', { ms: 300, steps: 3 })).progress, [1, 2, 3]);
  assert.match((await client.call('elicit')).text, /forty-two/);
  assert.equal(client.initializes, 0);
  assert.equal(client.sessionId, undefined);
});

test('many of them at the same time get each its own answers', { timeout: 120_000 }, async t => {
  const gateway = await served(t);
  const clients = await Promise.all(Array.from({ length: 8 }, () => connected(t, 'v2-auto', gateway, { elicits: true, listens: false })));
  await Promise.all(
    clients.map(async (client, index) => {
      client.answer = async () => ({ action: 'accept', content: { answer: `answer ${index}` } });
      for (let i = 0; i < 10; i++) {
        assert.match((await client.call('echo', { text: `echo ${index} ${i}` })).text, new RegExp(`echo ${index} ${i}$`));
        assert.match((await client.call('elicit')).text, new RegExp(`answer ${index}`));
        assert.deepEqual((await client.call('slow', { ms: 60, steps: 3 })).progress, [1, 2, 3]);
      }
    }),
  );
});

test('a client that knows both falls back where only sessions are served', { timeout: 60_000 }, async t => {
  const client = await connected(t, 'v2-auto', await served(t, '--protocols', 'legacy'));

  assert.match((await client.call('echo', { text: 'hello' })).text, /hello/);
  assert.equal(client.initializes, 1);
  assert.ok(client.sessionId);
  await client.end();
});

for (const flavour of ['v1', 'v2-legacy']) test(`${flavour} notices nothing`, { timeout: 60_000 }, async t => {
  const gateway = await served(t);
  const client = await connected(t, flavour, gateway, { elicits: true });
  const newer = await connected(t, 'v2-auto', gateway, { listens: false });
  client.answer = async () => ({ action: 'accept', content: { answer: 'forty-two' } });

  assert.match((await client.call('elicit')).text, /forty-two/);
  assert.match((await newer.call('echo', { text: 'hello' })).text, /hello/);
  assert.equal(client.initializes, 1);
  await client.end();
});
