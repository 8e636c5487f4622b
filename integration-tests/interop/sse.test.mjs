// HTTP+SSE and Streamable HTTP clients on one gateway, each with its own session; and what is left when one of them leaves.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect, postTo, SSE_CLIENTS } from './clients.mjs';
import { EVERYTHING, startGateway } from './gateway.mjs';
import { assertNothingLost, assertOneSession, callSeries } from './series.mjs';
import { waitFor } from './wait.mjs';

const TIMEOUT = { timeout: 240_000 };
const HEARTBEAT_MS = 1000;
const flags = ['--heartbeat', `${HEARTBEAT_MS}ms`];
const STREAMABLE = 'v1';
const CALLS = 10;

const operation = (client, onprogress) => client.call('trigger-long-running-operation', { duration: 1.5, steps: 5 }, { onprogress });

describe('the demo serves both protocols at once', () => {
  together('tools, progress and notifications', {}, async clients => {
    const done = await Promise.all(clients.map(client => callSeries(client, { calls: CALLS })));
    for (const [i, client] of clients.entries()) await assertNothingLost(client, done[i], { calls: CALLS });
    const texts = done.flat().map(each => each.text);
    assert.equal(new Set(texts).size, texts.length, 'one server has executed all calls');
  });

  together('echo', {}, async clients => {
    await everyone(clients, async (client, name) => {
      for (let i = 0; i < 50; i++) assert.equal((await client.call('echo', { text: `${name} ${i}` })).text, `${name} ${i}`);
    });
  });

  together('each user is asked his own question', {}, clients => everyone(clients, async (client, name) => {
    const asked = answerWith(client, { answer: name });
    for (let i = 0; i < 5; i++) assert.equal((await client.call('elicit')).text, name);
    assert.equal(asked(), 5, 'times the user was asked');
  }));
});

describe('a stdio server serves both protocols at once', () => {
  together('tools, progress, elicitation, one child each', { command: EVERYTHING }, async (clients, gateway) => {
    assert.equal(gateway.launchers().length, clients.length);
    await everyone(clients, async (client, name) => {
      assert.match((await client.call('echo', { message: name })).text, new RegExp(name));
      const asked = answerWith(client, { name });
      assert.match((await client.call('trigger-elicitation-request')).text, new RegExp(name));
      assert.equal(asked(), 1, 'times the user was asked');
    });
    const done = await Promise.all(clients.map(client => callSeries(client, { tool: operation, notes: 0, calls: CALLS })));
    for (const [i, client] of clients.entries()) await assertNothingLost(client, done[i], { notes: 0, calls: CALLS });
  });

  // Sent by the child on its own account, not as part of a call; the first one at once.
  together('log messages', { command: EVERYTHING }, clients => everyone(clients, async client => {
    await client.call('toggle-simulated-logging');
    await waitFor('a log message', () => client.logs.length > 0);
    await client.call('toggle-simulated-logging');
  }));

  for (const flavour of SSE_CLIENTS) {
    test(`${flavour} leaves: session and child are gone soon`, TIMEOUT, async t => {
      const gateway = await startGateway({ flags, command: EVERYTHING });
      t.after(() => gateway.stop());
      const stays = await connect(STREAMABLE, gateway.url);
      t.after(() => stays.close());
      const others = gateway.descendants().map(each => each.pid);
      const client = await connect(flavour, gateway.url);
      await client.call('echo', { message: 'here' });
      assert.equal(gateway.launchers().length, 2);

      const left = Date.now();
      await client.close();
      const mine = () => gateway.descendants().filter(each => !others.includes(each.pid));
      await waitFor('the child is gone', () => mine().length === 0);
      t.diagnostic(`${flavour}: gone after ${Date.now() - left} ms`);
      assert.equal(await postTo(client.endpoints[0]), 404);
      assert.match((await stays.call('echo', { message: 'still here' })).text, /still here/);
      assert.equal(gateway.launchers().length, 1, 'the other client has kept its child');
    });
  }
});

for (const flavour of SSE_CLIENTS) {
  test(`pythonSdk2200: ${flavour} leaves: without a heartbeat its session is gone, and POSTs are answered 404`, TIMEOUT, async t => {
    const gateway = await startGateway({ flags: ['--heartbeat', '1h'] });
    t.after(() => gateway.stop());
    for (let i = 0; i < 10; i++) {
      const client = await connect(flavour, gateway.url);
      await client.call('echo', { text: 'here' });
      await client.close();
      await gateway.sessionsAre(0); // a POST that comes before is for PythonSdk2200Test
      for (const again of ['first', 'second']) assert.equal(await postTo(client.endpoints[0]), 404, `round ${i}, ${again} POST`);
    }
    assert.doesNotMatch(gateway.log, /WARN|ERROR/);
  });
}

/** Runs `scenario(clients, gateway)` with every HTTP+SSE client and a Streamable HTTP one; each must stay in its one session. */
function together(title, { command }, scenario) {
  test(title, TIMEOUT, async t => {
    const gateway = await startGateway({ flags, command });
    t.after(() => gateway.stop());
    const clients = [];
    for (const flavour of [...SSE_CLIENTS, STREAMABLE]) {
      const client = await connect(flavour, gateway.url, { elicits: true });
      t.after(() => client.close());
      clients.push(client);
    }
    await scenario(clients, gateway);
    clients.forEach(assertOneSession);
    assert.ok(clients.every(client => client.endpoints.length === 1), 'addresses posted to');
    assert.equal(new Set(clients.flatMap(client => client.endpoints)).size, clients.length, 'sessions');
    assert.doesNotMatch(gateway.log, /WARN|ERROR/);
  });
}

function everyone(clients, action) {
  return Promise.all(clients.map((client, i) => action(client, `client-${i}`)));
}

/** From now on the user accepts with this content; answers how often the user was asked. */
function answerWith(client, content) {
  let asked = 0;
  client.answer = async () => {
    asked++;
    return { action: 'accept', content };
  };
  return () => asked;
}
