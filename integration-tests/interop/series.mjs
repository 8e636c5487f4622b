// A series of calls under cuts, and what must be true of it afterwards. Used by the main series and by the outages.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from './wait.mjs';

const CALLS = 20;
const AT_ONCE = 5;
const STEPS = 5;
const NOTES = 3;
const CALL_MS = 1500;

/**
 * Makes the calls, a few at a time and out of step, each with its notifications; `ready()` is awaited before every request.
 */
export async function callSeries(client, { tool = slow, notes = NOTES, calls = CALLS, ready = async () => {} } = {}) {
  const done = [];
  let next = 0;
  const worker = async underWay => {
    while (next < calls) {
      const number = next++;
      const tag = `call-${number}`;
      await ready();
      const call = tool(client, underWay);
      call.catch(() => {}); // awaited below; it may fail while the notifications are still being asked for
      if (notes) {
        await delay((number * 400) % CALL_MS); // attached or cut off, at another moment of each call
        await ready();
        await client.call('notify', { count: notes, tag });
      }
      done.push({ tag, ...(await call) });
    }
  };
  const workers = [];
  while (workers.length < AT_ONCE) {
    await new Promise((underWay, failed) => {
      const work = worker(underWay);
      work.then(underWay, failed); // there may be nothing left for it to do
      workers.push(work);
    });
  }
  await Promise.all(workers);
  return done;
}

const slow = (client, onprogress) => client.call('slow', { ms: CALL_MS, steps: STEPS }, { onprogress });

/** All progress and all notifications are there, none twice, all in order, in one session. */
export async function assertNothingLost(client, done, { notes = NOTES, calls = CALLS } = {}) {
  assert.equal(done.length, calls);
  for (const { tag, progress } of done) assert.deepEqual(progress, upTo(STEPS), `progress of ${tag}`);
  if (notes) {
    await client.call('notify', { count: 1, tag: 'last' }); // behind everything else on the listening stream
    await waitFor('the last notification', () => client.logs.includes('last#1'));
    for (const { tag } of done) {
      assert.deepEqual(client.logs.filter(data => data.startsWith(`${tag}#`)), upTo(notes).map(i => `${tag}#${i}`), `notifications of ${tag}`);
    }
    assert.equal(client.logs.length, done.length * notes + 1);
  }
  assertOneSession(client);
}

/** No second `initialize`, no request refused, no response twice, nothing that the client could not place. */
export function assertOneSession(client) {
  assert.equal(client.initializes, 1, 'initialize requests');
  assert.deepEqual(client.requests.filter(each => each.status >= 400 && each.rpc !== 'server/discover'), []);
  const responses = client.received.filter(each => each.method === undefined).map(each => each.id);
  assert.equal(new Set(responses).size, responses.length, 'responses handed up twice');
  assert.deepEqual(client.errors.map(String).filter(text => /unknown/i.test(text)), []);
}

/** The numbers `run=<n>` of all calls that one server executed are distinct and without a hole: each call ran once. */
export function assertEachRanOnce(texts) {
  const runs = texts.map(text => Number(/run=(\d+)/.exec(text)[1])).sort((a, b) => a - b);
  assert.deepEqual(runs, runs.map((_, i) => runs[0] + i));
}

export function upTo(n) {
  return Array.from({ length: n }, (_, i) => i + 1);
}
