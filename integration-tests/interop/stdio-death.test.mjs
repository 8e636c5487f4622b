// The child behind a session is killed in the middle of a call: the call fails at once, and the next one has a new child.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { EVERYTHING, killQuietly, startGateway } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const VICTIMS = {
  'the launcher': gateway => gateway.launchers(),
  'the node process under it': gateway => gateway.leaves(),
};

describe('kill -9 of a stdio child', () => {
  let gateway;
  before(async () => (gateway = await startGateway({ command: EVERYTHING })));
  after(() => gateway?.stop());

  for (const flavour of CLIENTS) {
    for (const [victim, find] of Object.entries(VICTIMS)) {
      test(`${flavour}, ${victim}: an error at once, then the next call works`, { timeout: 180_000 }, async t => {
        const client = await session(t, flavour);
        const call = failure(callThatLasts(client));
        await call.underWay;
        const [{ pid }, ...others] = find(gateway);
        assert.deepEqual(others, []);
        const killedAt = Date.now();
        killQuietly(pid);
        const error = await call.failed;
        const took = Date.now() - killedAt;
        assert.ok(took < 12_000, `the error took ${took} ms`);
        assert.equal(typeof error.code, 'number', 'a JSON-RPC error');
        t.diagnostic(`${flavour}, ${victim}: "${error.message}" after ${took} ms`);

        assert.match((await client.call('echo', { message: 'again' })).text, /again/);
        assert.equal(client.initializes, 1);
      });
    }

    test(`${flavour}: a late answer never reaches the new child`, { timeout: 180_000 }, async t => {
      const client = await session(t, flavour, { elicits: true });
      const questions = [];
      client.answer = () => new Promise(answer => questions.push(answer));

      const first = assert.rejects(client.call('trigger-elicitation-request'));
      await waitFor('the first question', () => questions.length === 1, 60_000);
      gateway.leaves().forEach(({ pid }) => killQuietly(pid));
      await first;

      const second = client.call('trigger-elicitation-request');
      second.catch(() => {}); // awaited below
      await waitFor('the second question', () => questions.length === 2, 60_000);
      const [old, fresh] = client.received.filter(each => each.method === 'elicitation/create').map(each => each.id);
      assert.notEqual(old, fresh);
      for (const id of [old, 0]) { // 0 is what the children call it
        await client.transport.send({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Late' } } });
      }
      questions[1]({ action: 'accept', content: { name: 'Fresh' } });
      const { text } = await second;
      assert.match(text, /Fresh/);
      assert.doesNotMatch(text, /Late/);
    });
  }

  /** A client whose session ends with the test, and its child with it. */
  async function session(t, flavour, options) {
    const client = await connect(flavour, gateway.url, options);
    t.after(async () => {
      await client.end();
      await waitFor('no process is left', () => gateway.descendants().length === 0);
    });
    return client;
  }
});

/** A long call that is expected to fail: `underWay` at its first progress, `failed` with its error. */
function failure({ call, underWay }) {
  const failed = call.then(
    () => assert.fail('the call should have failed'),
    error => error,
  );
  return { underWay, failed };
}

function callThatLasts(client) {
  let call;
  const underWay = new Promise(onprogress => {
    call = client.call('trigger-long-running-operation', { duration: 20, steps: 100 }, { onprogress });
  });
  return { call, underWay };
}
