// However a session or the gateway ends, no process of a stdio child stays behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { EVERYTHING, startGateway } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const ends = {
  'DELETE': { end: (gateway, client) => client.end() },
  // The client leaves without a word; the heartbeat finds that out, and then the grace period runs.
  'expiry': {
    flags: ['--heartbeat', '1s', '--reconnect-grace', '8s', '--idle-timeout', '8s'],
    end: (gateway, client) => client.close(),
    within: 60_000,
  },
  'SIGTERM of the gateway': {
    end: async (gateway, client) => {
      gateway.terminate();
      assert.deepEqual(await gateway.ended(), { code: 0, signal: null });
      assert.deepEqual(gateway.descendants(), [], 'what outlives the gateway');
      await client.close();
    },
  },
};

for (const [title, { flags, end, within = 15_000 }] of Object.entries(ends)) {
  test(`no process is left behind after ${title}`, { timeout: 240_000 }, async t => {
    const gateway = await startGateway({ flags, command: EVERYTHING });
    t.after(() => gateway.stop());
    for (const flavour of CLIENTS) {
      const client = await connect(flavour, gateway.url);
      t.after(() => client.close());
      assert.match((await client.call('echo', { message: flavour })).text, new RegExp(flavour));
      assert.equal(gateway.launchers().length, 1);
      if (title.startsWith('SIGTERM') && flavour !== CLIENTS.at(-1)) await client.end();
      else await end(gateway, client);
      await waitFor('no process is left', () => gateway.descendants().length === 0, within);
    }
  });
}
