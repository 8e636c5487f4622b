// Three nodes over one Redis behind a balancer that knows nothing of sessions. Nodes and Redis end, freeze and come back.
// Runs alone, for it measures time.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CLIENTS, connect } from './clients.mjs';
import { startCluster } from './cluster.mjs';
import { Load } from './restart-load.mjs';
import { waitFor } from './wait.mjs';

/** Longer than a node's lease. */
const FROZEN_MS = 4500;
const LATE_MS = 2000;
/** Clients give up after two tries to come back that fail: they get the time for one that does not, and more where they need it. */
const REST_MS = 6000;
/** So long all goes well at first. */
const BEGIN_MS = 2000;
/** No node dies: none may lose its lease because the machine stands still. */
const PATIENT = ['--lease', '12s'];
/** Each fault once takes about a minute. */
const ROUNDS = Number(process.env.HOLDFAST_CHAOS ?? 1);
const KILLS = Number(process.env.HOLDFAST_KILLS ?? 3);
/** A lease of 3 s, a look at it, the client's way back; and more, on a busy machine. */
const ANSWER_MS = 25_000;
const SEED = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000);

const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };

const FAULTS = {
  'kill -9 of a node': async (_, node) => {
    await node.crash();
    await node.restart();
  },
  'SIGTERM of a node': async (_, node) => {
    node.terminate();
    assert.deepEqual(await node.ended(), { code: 0, signal: null });
    await node.restart();
  },
  'a node frozen for longer than its lease': async (_, node) => {
    node.freeze();
    await delay(FROZEN_MS);
    node.thaw();
    await node.served();
  },
  'Redis frozen': async ({ redis }) => {
    redis.freeze();
    await delay(LATE_MS);
    redis.thaw();
  },
  'kill -9 of Redis': ({ redis }) => redis.restart(),
};

/** What the nodes serve: the `tools` that are called, whether notifications come `inOrder`, and what tells of executions. */
const SERVERS = {
  'the demo in each node': () => ({
    tools: ['slow', 'notify', 'echo'],
    inOrder: true,
    settings: { flags: ['--log-level', 'debug'] },
    noted: cluster => cluster.log,
  }),
  'a stdio server on one of them': t => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-cluster-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const notes = join(folder, 'executions');
    writeFileSync(notes, '');
    return {
      tools: ['slow', 'slow_read', 'notify', 'echo'],
      settings: { command: [process.execPath, fileURLToPath(new URL('restart-server.mjs', import.meta.url)), notes] },
      noted: () => readFileSync(notes, 'utf8'),
    };
  },
};

/** Whether a request is for the listening stream, from its beginning or from one of its events on. */
function listens({ method, lastEventId = '0.' }) {
  return method === 'GET' && lastEventId.startsWith('0.');
}

/** Lets clients of every kind call through the balancer while `disturb` runs; then all must be as if nothing had happened. */
async function underLoad(t, { tools, inOrder, settings: { flags = [], command }, noted }, disturb, more = []) {
  const cluster = await startCluster({ flags: [...flags, ...more], command });
  t.after(() => cluster.stop());
  const clients = await Promise.all(CLIENTS.map(flavour => connect(flavour, cluster.url)));
  t.after(() => Promise.all(clients.map(client => client.close())));
  const loads = clients.map(client => new Load(client, tools));
  await delay(BEGIN_MS);
  await disturb(cluster, clients);
  await Promise.all(loads.map(load => load.end()));
  await Promise.all(clients.map(client => client.end()));
  const begun = executions(noted(cluster));
  loads.forEach((load, i) => t.diagnostic(`${CLIENTS[i]}: ${JSON.stringify(load.counts(begun))}`));
  loads.forEach(load => load.assertHeld(begun, { inOrder }));
  return loads.flatMap(load => load.calls);
}

for (const [name, serverOf] of Object.entries(SERVERS)) {
  test(`${name}: nodes that restart one after another fail no call`, { timeout: 180_000 }, async t => {
    const calls = await underLoad(t, serverOf(t), async cluster => {
      for (const node of cluster.nodes) {
        await cluster.serveWithout(node);
        await FAULTS['SIGTERM of a node'](cluster, node);
      }
      await cluster.serveWithout();
    }, PATIENT);
    const wrong = calls.filter(({ outcome }) => outcome === 'failed' || outcome === 'refused');
    assert.deepEqual(wrong, [], 'calls that failed'); // nginx may cut a few before their head, when it reads its settings again
  });

  test(`${name}: chaos`, { timeout: 120_000 + ROUNDS * 120_000 }, async t => {
    t.diagnostic(`HOLDFAST_SEED=${SEED}`);
    const pick = random(SEED);
    await underLoad(t, serverOf(t), async (cluster, clients) => {
      for (let round = 0; round < ROUNDS; round++) {
        for (const [fault, begin] of shuffled(Object.entries(FAULTS), pick)) {
          const node = cluster.nodes[pick(cluster.nodes.length)];
          t.diagnostic(`${fault} ${cluster.nodes.indexOf(node) + 1}`);
          await begin(cluster, node);
          const asked = clients.map(({ requests }) => requests.length);
          const succeeded = ({ status }) => status < 300;
          await delay(REST_MS);
          await waitFor('each client listens and is served', () => clients.every(({ requests }, i) =>
            succeeded(requests.findLast(listens)) && requests.slice(asked[i]).some(succeeded)));
        }
      }
    });
  });
}

test(`calls of a node that is killed get a definite answer soon, ${KILLS} times`, { timeout: 60_000 + KILLS * 30_000 }, async t => {
  const cluster = await startCluster({ flags: ['--log-level', 'debug'] });
  t.after(() => cluster.stop());
  const client = await connect(CLIENTS[0], cluster.url);
  t.after(() => client.close());
  const took = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const args = { ms: 60_000 + kill, steps: 600 };
    let begun = false;
    const call = client.call('slow', args, { onprogress: () => (begun = true), timeout: 40_000 });
    call.catch(() => {}); // awaited below
    const runs = node => node.log.includes(`slow: ${args.ms} ms`);
    const node = await waitFor('the call runs', () => begun && cluster.nodes.find(runs));
    const killedAt = Date.now();
    await node.crash();
    await assert.rejects(call, /the server ended while this call was running/);
    took.push(Date.now() - killedAt);
    await node.restart();
  }
  took.sort((a, b) => a - b);
  t.diagnostic(`answered after ${took[0]} to ${took.at(-1)} ms, median ${took[Math.floor(took.length / 2)]} ms`);
  assert.ok(took.at(-1) < ANSWER_MS, `${took.at(-1)} ms`);
});

test('a call that was handed to another node is not refused when touch is lost', { timeout: 180_000 }, async t => {
  const { settings } = SERVERS['a stdio server on one of them'](t);
  const cluster = await startCluster({ ...settings, flags: PATIENT });
  t.after(() => cluster.stop());
  const [host, other] = cluster.nodes;
  const opened = await post(host.url, { id: 1, method: 'initialize', params: HELLO });
  const session = opened.headers.get('mcp-session-id');
  const echo = id => post(other.url, { id, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } }, session);
  assert.match(await (await echo(2)).text(), /hello/);
  host.freeze(); // it takes nothing
  const answer = echo(3);
  answer.catch(() => {}); // awaited below
  await delay(2 * LATE_MS);
  cluster.redis.freeze();
  const { status } = await answer;
  const { error } = await (await answer).json();
  assert.equal(status, 200);
  assert.match(error.message, /whether it had any effect is not known/);
  cluster.redis.thaw();
  host.thaw();
  await waitFor('the session goes on', async () => /hello/.test(await (await echo(4)).text()), 60_000);
});

function post(url, message, session) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(session && { 'mcp-session-id': session }) };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
}

/** How often the slow call with these arguments was begun, by what was noted when it was. */
function executions(text) {
  const counts = new Map();
  for (const [begun] of text.matchAll(/slow: \d+ ms in \d+ steps/g)) counts.set(begun, (counts.get(begun) ?? 0) + 1);
  return ({ ms, steps }) => counts.get(`slow: ${ms} ms in ${steps} steps`) ?? 0;
}

/** Numbers below a bound, the same for each seed. */
function random(seed) {
  let state = seed;
  return bound => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * bound);
  };
}

function shuffled(all, pick) {
  const rest = [...all];
  return all.map(() => rest.splice(pick(rest.length), 1)[0]);
}
