// The server behind the gateway is another when the gateway is back: its clients hear that they must not trust what they know.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CLIENTS, connect } from './clients.mjs';
import { startGateway } from './gateway.mjs';
import { waitFor } from './wait.mjs';

/** As long as a client may take to be back, and more. */
const BACK_MS = 60_000;

const SERVER = fileURLToPath(new URL('restart-server.mjs', import.meta.url));

test('a client is told to ask for the tools again after an upgrade of the server, and only then', { timeout: 300_000 }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-upgrade-'));
  const release = join(folder, 'version');
  writeFileSync(release, '1.0.0');
  const gateway = await startGateway({
    flags: ['--retry', '10000ms'],
    command: [process.execPath, SERVER, join(folder, 'executions'), release],
  });
  const clients = await Promise.all(CLIENTS.map(flavour => connect(flavour, gateway.url)));
  t.after(async () => {
    await Promise.all(clients.map(client => client.close()));
    await gateway.stop();
    rmSync(folder, { recursive: true });
  });

  await restarted(gateway, clients);
  assert.deepEqual(clients.map(listsChanged), clients.map(() => 0), 'the same server is back');

  writeFileSync(release, '1.0.1');
  await restarted(gateway, clients);
  await waitFor('every client hears of it', () => clients.every(client => listsChanged(client) === 1));

  await restarted(gateway, clients);
  assert.deepEqual(clients.map(listsChanged), clients.map(() => 1), 'the new server is back');
  assert.deepEqual(clients.map(client => client.initializes), clients.map(() => 1));
});

/** Restarts the gateway; when it resolves, each client listens again and has read what its server sent there since then. */
async function restarted(gateway, clients) {
  const before = clients.map(listening);
  gateway.terminate();
  assert.deepEqual(await gateway.ended(), { code: 0, signal: null });
  await gateway.restart();
  await waitFor('every client listens again', () => clients.every((client, i) => listening(client) > before[i]), BACK_MS);
  for (const client of clients) {
    const seen = changes(client, 'resources');
    await client.call('announce');
    await waitFor('what is sent after the restart', () => changes(client, 'resources') > seen);
  }
}

const listening = client => client.requests.filter(each => each.method === 'GET' && each.status === 200).length;

const listsChanged = client => changes(client, 'tools');

const changes = (client, list) => client.received.filter(({ method }) => method === `notifications/${list}/list_changed`).length;
