// The wall clock of a running gateway is set: by a night of sleep, by a time server, back and forth. Its monotonic clock goes on.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from './clients.mjs';
import { startGateway } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const MINUTE = 60;
const YEAR = 366 * 24 * 60 * MINUTE;
/** What the clock shows beyond the real time, one after the other, in seconds. */
const STEPS = [75 * MINUTE, (75 + 170) * MINUTE, 24 * 60 * MINUTE, YEAR, -24 * 60 * MINUTE, -YEAR, 0];
/** Longer than two sweeps of the engine. */
const SWEPT_MS = 1_500;

const LIBRARY = ['', ...readdirSync('/usr/lib')].map(folder => join('/usr/lib', folder, 'faketime/libfaketimeMT.so.1')).find(existsSync);

for (const [place, store] of [['on disk', undefined], ['in memory', 'memory']]) {
  test(`a clock that is set ends no session ${place}`, { timeout: 120_000 }, async t => {
    assert.ok(LIBRARY, 'libfaketime is installed');
    const clock = new Clock();
    const gateway = await startGateway({ store, env: clock.environment });
    t.after(async () => {
      await gateway.stop();
      clock.remove();
    });
    const client = await connect('v1', gateway.url);
    const { sessionId } = client;
    const ms = (STEPS.length + 1) * SWEPT_MS;
    const call = client.call('slow', { ms, steps: 10 });
    for (const step of STEPS) {
      clock.show(step);
      await waitFor('the gateway sees the clock', async () => Math.abs((await shown(gateway)) - Date.now() / 1000 - step) < 2 * MINUTE);
      await delay(SWEPT_MS);
      await client.call('echo', { text: `after ${step}` });
    }
    await call;
    assert.equal(client.sessionId, sessionId);
    assert.equal((await (await fetch(new URL('/healthz', gateway.url))).json()).sessions, 1);
    assert.match(gateway.log, /the clock was set: sessions wait anew/);
    assert.doesNotMatch(gateway.log, /ERROR|ended, /);
    await client.end();
  });
}

/** The time that the gateway tells, in seconds. */
async function shown(gateway) {
  return Date.parse((await fetch(new URL('/healthz', gateway.url))).headers.get('date')) / 1000;
}

/** A wall clock that can be set while a process runs. */
class Clock {
  #folder = mkdtempSync(join(tmpdir(), 'holdfast-clock-'));
  #file = join(this.#folder, 'offset');

  constructor() {
    this.show(0);
  }

  get environment() {
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_FORCE_MONOTONIC_FIX: '0', // else the waits of a JVM return at once
    };
  }

  show(seconds) {
    const next = `${this.#file}.next`;
    writeFileSync(next, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(next, this.#file);
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
