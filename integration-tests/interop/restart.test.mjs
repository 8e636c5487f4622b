// The gateway dies under its clients, by SIGKILL or in order, again and again, and is started again on the same folder.
// Runs alone, for it measures time.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CLIENTS, connect } from './clients.mjs';
import { startGateway } from './gateway.mjs';
import { Load } from './restart-load.mjs';

/** How often the gateway ends in each series; a hundred takes about ten minutes for each. */
const times = otherwise => Number(process.env.HOLDFAST_RESTARTS ?? otherwise);

const EARLY_MS = 500;

/** A call is run three times at most. Of a run that ends right after it was counted the server behind has not heard. */
const LEAST_RUNS_SEEN = 2;

const ENDS = {
  'kill -9': { retryMs: 6000, backMs: 6000, rounds: times(3), end: gateway => gateway.crash(), mayBeEarly: true },
  'SIGTERM': {
    retryMs: 4000,
    backMs: 8000, // an end in order makes up to twice as much of the retry, lest all come back at once
    rounds: times(2),
    end: async gateway => {
      gateway.terminate();
      assert.deepEqual(await gateway.ended(), { code: 0, signal: null });
    },
  },
};

const BACKENDS = {
  'the demo in the gateway': { tools: ['slow', 'notify', 'echo'], flags: ['--log-level', 'debug'], inOrder: true },
  'a stdio server': { tools: ['slow', 'slow_read', 'notify', 'echo'], behind: true },
};

for (const [end, { retryMs, backMs, rounds, end: endOnce, mayBeEarly }] of Object.entries(ENDS)) {
  for (const [backend, { tools, flags = [], behind, inOrder }] of Object.entries(BACKENDS)) {
    describe(`${end}, ${backend}`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-restart-'));
      const notes = join(folder, 'executions');
      let gateway;
      before(async () => {
        writeFileSync(notes, '');
        const command = behind ? [process.execPath, fileURLToPath(new URL('restart-server.mjs', import.meta.url)), notes] : [];
        gateway = await startGateway({ flags: ['--retry', `${retryMs}ms`, ...flags], command });
      });
      after(async () => {
        await gateway?.stop();
        rmSync(folder, { recursive: true });
      });

      test(`${end}, ${backend}: ${rounds} times under load`, { timeout: 60_000 + rounds * 20_000 }, async t => {
        const clients = await Promise.all(CLIENTS.map(flavour => connect(flavour, gateway.url)));
        t.after(() => Promise.all(clients.map(client => client.close())));
        const loads = clients.map(client => new Load(client, tools));
        const restarts = await series(gateway, { rounds, backMs, endOnce, mayBeEarly });
        await Promise.all(loads.map(load => load.end()));
        await Promise.all(clients.map(client => client.end())); // before the sums, in which nobody sees that connections end

        const begun = executions(behind ? readFileSync(notes, 'utf8') : gateway.log);
        const took = restarts.map(restart => restart.took).sort((a, b) => a - b);
        t.diagnostic(`serves again after ${took[0]} to ${took.at(-1)} ms`);
        loads.forEach((load, i) => t.diagnostic(`${CLIENTS[i]}: ${JSON.stringify(load.counts(begun))}`));
        loads.forEach(load => load.assertHeld(begun, { inOrder }));
        const failed = loads.flatMap(load => load.calls).filter(call => call.outcome === 'failed');
        if (end === 'SIGTERM') assert.deepEqual(failed, [], 'calls that the drain has cut short');
        const promised = loads.flatMap(load => load.promised(restarts.map(({ at }) => at)));
        const again = promised.filter(call => call.outcome === 'finished' && begun(call.args) > 1);
        t.diagnostic(`${promised.length} calls may be run again, ${again.length} were`);
        assert.ok(promised.length > 0, 'no call may be run again');
        const givenUp = promised.filter(call => call.outcome === 'failed');
        t.diagnostic(`${givenUp.length} calls were given up, for the gateway had ended in each of their runs`);
        assert.deepEqual(givenUp.filter(call => begun(call.args) < LEAST_RUNS_SEEN), [], 'calls that could have been run again');
        if (behind && end === 'kill -9') assert.ok(again.length > 0, 'no call was run again');
      });
    });
  }
}

/**
 * Ends and starts the gateway; returns when it did, and how long each start took. A client tries to come back twice, `backMs` apart
 * at most: the gateway serves long enough to be there for one of them. Every other time it ends just when they are on their way
 * back, if it starts fast enough to be there again for their second try.
 */
async function series(gateway, { rounds, backMs, endOnce, mayBeEarly }) {
  const restarts = [];
  let early = true;
  await delay(backMs);
  for (let round = 0; round < rounds; round++) {
    await endOnce(gateway);
    const endedAt = Date.now();
    await gateway.restart();
    const took = Date.now() - endedAt;
    restarts.push({ at: endedAt, took });
    early = mayBeEarly && !early && took < backMs - 2 * EARLY_MS;
    const untilReturn = endedAt + backMs - Date.now();
    await delay(early ? untilReturn + Math.random() * EARLY_MS : backMs + 200 + Math.random() * 1500);
  }
  return restarts;
}

/** How often the slow call with these arguments was begun, by what was noted when it was. */
function executions(text) {
  const counts = new Map();
  for (const [begun] of text.matchAll(/slow: \d+ ms in \d+ steps/g)) counts.set(begun, (counts.get(begun) ?? 0) + 1);
  return ({ ms, steps }) => counts.get(`slow: ${ms} ms in ${steps} steps`) ?? 0;
}
