// The launcher's settings of the JVM: its own, and those that take their place.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'node:test';
import { promisify } from 'node:util';
import { waitFor } from './wait.mjs';

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

test('what the JVM of a bridge has to say goes to standard error: standard output is for messages', { timeout: 60_000 }, async t => {
  const bridge = spawn(holdfast, ['connect', 'http://127.0.0.1:1/mcp', '--log-level', 'debug'], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => bridge.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) bridge[name].on('data', text => (said[name] += text));
  const ended = once(bridge, 'close');
  bridge.stdin.write('no json\n');
  await waitFor('the bridge is there', () => said.stdout.includes('\n'));
  bridge.kill('SIGQUIT');
  await waitFor('the JVM has told of its threads', () => /Full thread dump/.test(said.stdout + said.stderr));
  bridge.stdin.end();
  await ended;
  assert.match(said.stderr, /Full thread dump/);
  assert.match(said.stdout, /^\{"jsonrpc":"2\.0","id":null,"error":\{.*\}\}\n$/);
});
