// The launcher's settings of the JVM: its own, and those that take their place.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const holdfast = fileURLToPath(new URL('../../holdfast', import.meta.url));

/** Flags of the JVM that the launcher starts, by name. */
async function flags(env) {
  const { stdout } = await run(holdfast, ['--version'], {
    env: { ...process.env, JAVA_TOOL_OPTIONS: '-XX:+PrintFlagsFinal', ...env },
    maxBuffer: 1 << 24,
    timeout: 300_000,
  });
  return new Map([...stdout.matchAll(/^ *\w+ (\w+) +:?= (\S+)/gm)].map(([, name, value]) => [name, value]));
}

test('the heap stays small', async () => {
  const found = await flags({ HOLDFAST_JVM: '' });
  assert.equal(found.get('UseSerialGC'), 'true');
  assert.equal(found.get('MaxHeapFreeRatio'), '25');
  assert.equal(found.get('TrimNativeHeapInterval'), '10000');
  assert.equal(found.get('InitialHeapSize'), String(16 << 20));
});

test('HOLDFAST_JVM takes the place of these settings', async () => {
  const found = await flags({ HOLDFAST_JVM: '-XX:+UseParallelGC -Xmx128m' });
  assert.equal(found.get('UseSerialGC'), 'false');
  assert.equal(found.get('UseParallelGC'), 'true');
  assert.equal(found.get('MaxHeapSize'), String(128 << 20));
});
