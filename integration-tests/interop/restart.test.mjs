// The gateway, and a Spring AI server, die under their clients, by SIGKILL or in order, again and again, and are started again on
// the same folder.
// Runs alone, for it measures time.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CLIENTS, connect } from './clients.mjs';
import { buildSpringExample, startSpringExample } from './examples.mjs';
import { startGateway } from './gateway.mjs';
import { Load } from './restart-load.mjs';

/** How often the gateway ends in each series; a hundred takes about ten minutes for each. */
const times = otherwise => Number(process.env.HOLDFAST_RESTARTS ?? otherwise);

/** So long all goes well at first. */
const BEGIN_MS = 2000;
const EARLY_MS = 500;

/** A call is run three times at most. Of a run that ends right after it was counted the server behind has not heard. */
const LEAST_RUNS_SEEN = 2;

/** What a gateway tells its clients to wait before they come back. */
const RETRY_MS = 8000;
/** What a Spring application tells them by default where its store survives it: a client that tries twice outlasts its start. */
const SPRING_RETRY_MS = 10_000;
/** Before it starts again: a Spring application of some size takes so much longer than this one. */
const SPRING_PAUSE_MS = 7000;

const ENDS = {
  'kill -9': { retries: 1, rounds: times(3), end: server => server.crash(), mayBeEarly: true },
  'SIGTERM': {
    retries: 2, // an end in order makes up to twice as much of the retry, lest all come back at once
    rounds: times(2),
    end: async (server, exitCode) => {
      server.terminate();
      assert.deepEqual(await server.ended(), { code: exitCode, signal: null });
    },
  },
};

const ALL = ['slow', 'slow_read', 'notify', 'echo'];

/**
 * What is ended and started again: the `tools` that are called, whether notifications come `inOrder`, whether it `runsAgain` calls
 * that do no harm, whether each handler has its `ownThread`, that of its request, after how many milliseconds its clients come back,
 * `retryMs`, how long it stays away before it starts again, `pauseMs`, and its `exitCode` after SIGTERM.
 */
const SERVERS = {
  'the demo in the gateway': {
    tools: ['slow', 'notify', 'echo'],
    inOrder: true,
    start: () => startGateway({ flags: ['--retry', `${RETRY_MS}ms`, '--log-level', 'debug'] }),
  },
  'a stdio server': {
    tools: ALL,
    runsAgain: true,
    start: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-restart-'));
      const notes = join(folder, 'executions');
      writeFileSync(notes, '');
      const command = [process.execPath, fileURLToPath(new URL('restart-server.mjs', import.meta.url)), notes];
      const gateway = await startGateway({ flags: ['--retry', `${RETRY_MS}ms`], command });
      return Object.assign(gateway, { folder, notes });
    },
  },
};

/** With the default settings of everything but its store. It is alone, so that its start takes what it takes. */
const SPRING = {
  'a Spring AI server': {
    tools: ALL,
    inOrder: true,
    ownThread: true,
    retryMs: SPRING_RETRY_MS,
    pauseMs: SPRING_PAUSE_MS,
    exitCode: 143, // as every JVM that nobody tells another
    start: async () => {
      await buildSpringExample();
      const begun = Date.now();
      const server = await startSpringExample({ more: 'spring/LoadTools.java', properties: { 'holdfast.store.type': 'rocksdb' } });
      // where a start takes long, less of the time in which a client tries twice is left to the pause
      const left = 1.5 * SPRING_RETRY_MS - (Date.now() - begun);
      return Object.assign(server, { pauseMs: Math.max(0, Math.min(SPRING_PAUSE_MS, left)) });
    },
  },
};

// Gateways live side by side, for their clients wait most of the time: what is measured are seconds.
for (const [servers, concurrency] of [[SERVERS, true], [SPRING, false]]) {
  describe(Object.keys(servers).join(', '), { concurrency }, () => {
    for (const [end, how] of Object.entries(ENDS)) restart(servers, end, how);
  });
}

function restart(servers, end, { retries, rounds, end: endOnce, mayBeEarly }) {
  for (const [name, { tools, inOrder, runsAgain, ownThread, retryMs = RETRY_MS, pauseMs = 0, exitCode = 0, start }] of Object.entries(servers)) {
    const backMs = retryMs * retries;
    test(`${end}, ${name}: ${rounds} times under load`, { timeout: 240_000 + rounds * (backMs + pauseMs + 30_000) }, async t => {
      const server = await start();
      t.after(async () => {
        await server.stop();
        if (server.folder) rmSync(server.folder, { recursive: true });
      });
      const clients = await Promise.all(CLIENTS.map(flavour => connect(flavour, server.url)));
      t.after(() => Promise.all(clients.map(client => client.close())));
      const loads = clients.map(client => new Load(client, tools));
      const restarts = await series(server, { rounds, backMs, pauseMs: server.pauseMs ?? pauseMs, endOnce: () => endOnce(server, exitCode), mayBeEarly });
      await Promise.all(loads.map(load => load.end()));
      await Promise.all(clients.map(client => client.end())); // before the sums, in which nobody sees that connections end

      const noted = server.notes ? readFileSync(server.notes, 'utf8') : server.log;
      const begun = executions(noted);
      const took = restarts.map(restart => restart.took).sort((a, b) => a - b);
      t.diagnostic(`serves again after ${took[0]} to ${took.at(-1)} ms`);
      loads.forEach((load, i) => t.diagnostic(`${CLIENTS[i]}: ${JSON.stringify(load.counts(begun))}`));
      loads.forEach(load => load.assertHeld(begun, { inOrder }));
      const gaveUp = clients.flatMap(client => client.errors).filter(error => /Maximum reconnection attempts/.test(error.message));
      assert.deepEqual(gaveUp, [], 'streams that a client has given up');
      const failed = loads.flatMap(load => load.calls).filter(call => call.outcome === 'failed');
      if (end === 'SIGTERM') assert.deepEqual(failed, [], 'calls that the drain has cut short');
      const promised = loads.flatMap(load => load.promised(restarts.map(({ at }) => at)));
      assert.ok(promised.length > 0, 'no call does no harm');
      const again = promised.filter(call => begun(call.args) > 1);
      if (runsAgain) assertRunAgain(t, { promised, begun, again: again.filter(call => call.outcome === 'finished'), died: end === 'kill -9' });
      else assert.deepEqual(again, [], 'calls that were run again');
      if (ownThread) assertOnOwnThreads(t, noted);
    });
  }
}

/** Calls that do no harm are run again by the gateway that is started after one that died, unless all have died of them. */
function assertRunAgain(t, { promised, begun, again, died }) {
  t.diagnostic(`${promised.length} calls may be run again, ${again.length} were`);
  const givenUp = promised.filter(call => call.outcome === 'failed');
  t.diagnostic(`${givenUp.length} calls were given up, for the gateway had ended in each of their runs`);
  assert.deepEqual(givenUp.filter(call => begun(call.args) < LEAST_RUNS_SEEN), [], 'calls that could have been run again');
  if (died) assert.ok(again.length > 0, 'no call was run again');
}

/** Every handler found on its thread what belongs to its request. */
function assertOnOwnThreads(t, log) {
  const handlers = [...log.matchAll(/handler ([^:]*): .*/g)];
  t.diagnostic(`${handlers.length} handlers`);
  assert.ok(handlers.length > 0, 'no handler has run');
  assert.deepEqual(handlers.filter(([, where]) => where !== 'on the thread of its request').map(([line]) => line), []);
}

/**
 * Ends and starts a server; returns when it did, and how long each start took. A client tries to come back twice, `backMs` apart
 * at most: the server serves long enough to be there for one of them. Every other time it ends just when they are on their way
 * back, if it starts fast enough to be there again for their second try.
 */
async function series(server, { rounds, backMs, pauseMs, endOnce, mayBeEarly }) {
  const restarts = [];
  let early = true;
  await delay(BEGIN_MS);
  for (let round = 0; round < rounds; round++) {
    await endOnce();
    const endedAt = Date.now();
    await delay(pauseMs);
    await server.restart();
    const took = Date.now() - endedAt;
    restarts.push({ at: endedAt, took });
    early = mayBeEarly && !early && took < backMs / 4;
    const untilReturn = endedAt + backMs - Date.now();
    if (round + 1 === rounds) await delay(BEGIN_MS);
    else await delay(early ? untilReturn + Math.random() * EARLY_MS : backMs + 200 + Math.random() * 1500);
  }
  return restarts;
}

/** How often the slow call with these arguments was begun, by what was noted when it was. */
function executions(text) {
  const counts = new Map();
  for (const [begun] of text.matchAll(/slow: \d+ ms in \d+ steps/g)) counts.set(begun, (counts.get(begun) ?? 0) + 1);
  return ({ ms, steps }) => counts.get(`slow: ${ms} ms in ${steps} steps`) ?? 0;
}
