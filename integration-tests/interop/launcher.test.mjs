// The launcher's settings of the JVM: its own, those that take their place, the encoding of the words that it gets, and what it needs of its machine.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('what the JVM of a bridge has to say goes to standard error: standard output is for messages', { timeout: 120_000 }, async t => {
  const bridge = spawn(holdfast, ['connect', 'http://127.0.0.1:1/mcp', '--log-level', 'debug'], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => bridge.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) bridge[name].on('data', text => (said[name] += text));
  const ended = once(bridge, 'close');
  bridge.stdin.write('no json\n');
  await waitFor('the bridge is there', () => said.stdout.includes('\n'), 90_000);
  bridge.kill('SIGQUIT');
  await waitFor('the JVM has told of its threads', () => /Full thread dump/.test(said.stdout + said.stderr));
  bridge.stdin.end();
  await ended;
  assert.match(said.stderr, /Full thread dump/);
  assert.match(said.stdout, /^\{"jsonrpc":"2\.0","id":null,"error":\{.*\}\}\n$/);
});

/** An environment without a locale, but for these variables. */
function locale(variables) {
  const others = Object.entries(process.env).filter(([name]) => name !== 'LANG' && name !== 'LANGUAGE' && !name.startsWith('LC_'));
  return { ...Object.fromEntries(others), ...variables };
}

/** What a child of a gateway that is started with these variables has for words and locale. */
async function child(t, variables, word) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const noted = join(folder, 'noted');
  // `od`, for these bytes are looked at as they are
  const script = `{ printf %s "$1" | od -An -tx1 | tr -d ' \\n'; echo; env | grep -E '^(LANG|LC_)' | sort; } > "$2.new"; mv "$2.new" "$2"; exec cat`;
  const words = ['serve', '--port', '0', '--store', `rocksdb:${join(folder, word)}`, '--', 'sh', '-c', script, 'sh', word, noted];
  const gateway = spawn(holdfast, words, { env: locale(variables), stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(gateway, 'close');
  t.after(async () => {
    gateway.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  let said = '';
  gateway.stdout.on('data', text => (said += text));
  await waitFor('the gateway listens', () => /listens on \S+\n/.test(said), 90_000);
  // a server that only repeats what it gets; nobody waits for its answer
  fetch(/listens on (\S+)/.exec(said)[1], {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0', id: 0, method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'launcher', version: '1' } },
    }),
  }).catch(() => {});
  await waitFor('the child has noted what it got', () => existsSync(noted));
  const [hex, ...variablesThere] = (await readFile(noted, 'utf8')).trimEnd().split('\n');
  return { word: Buffer.from(hex, 'hex').toString(), variables: variablesThere, entries: await readdir(folder) };
}

for (const [name, variables, theirs] of [
  ['no locale', {}, ['LC_CTYPE=C.UTF-8']],
  ['LANG=C', { LANG: 'C', LC_TIME: 'POSIX' }, ['LANG=C', 'LC_CTYPE=C.UTF-8', 'LC_TIME=POSIX']],
  ['LC_ALL=C', { LC_ALL: 'C', LANG: 'C.UTF-8' }, ['LANG=C', 'LC_CTYPE=C.UTF-8']],
  ['a locale that is not installed', { LANG: 'xx_XX.UTF-8' }, ['LANG=xx_XX.UTF-8', 'LC_ALL=C.UTF-8']],
  ['UTF-8, and times of a locale that is not installed', { LANG: 'C.UTF-8', LC_TIME: 'xx_XX' }, ['LANG=C.UTF-8', 'LC_ALL=C.UTF-8', 'LC_TIME=xx_XX']],
  ['UTF-8', { LANG: 'C.UTF-8' }, ['LANG=C.UTF-8']],
]) {
  test(`words beyond ASCII reach store and child as they are: ${name}`, { timeout: 120_000 }, async t => {
    const found = await child(t, variables, 'Müller-日本');
    assert.equal(found.word, 'Müller-日本');
    assert.deepEqual(found.variables, theirs);
    assert.ok(found.entries.includes('Müller-日本'), `the folder of the store is not among ${found.entries}`);
  });
}

test('the locale of children stays where all words are of ASCII', { timeout: 120_000 }, async t => {
  const found = await child(t, { LC_ALL: 'C' }, 'Mueller');
  assert.equal(found.word, 'Mueller');
  assert.deepEqual(found.variables, ['LC_ALL=C']);
});

test('an environment with nothing but a path is enough', { timeout: 120_000 }, async () => {
  const { stdout } = await run('env', ['-i', `PATH=${process.env.PATH}`, holdfast, '--version'], { timeout: 90_000 });
  assert.match(stdout, /^holdfast \S+\n$/);
});

test('too few open files are named in a sentence', { timeout: 120_000 }, async () => {
  const started = run('bash', ['-c', 'ulimit -n 64; exec "$@"', 'bash', holdfast, 'serve', '--port', '0', '--store', 'memory'], { timeout: 90_000 });
  await assert.rejects(started, failure => {
    assert.equal(failure.code, 1);
    assert.match(failure.stderr, /^holdfast: at most 64 files may be open at once here, and the gateway needs 256: .*\n$/);
    return true;
  });
});

test('Java raises a soft limit of open files by itself', { timeout: 120_000 }, async t => {
  const gateway = spawn('bash', ['-c', 'ulimit -Sn 64; exec "$@"', 'bash', holdfast, 'serve', '--port', '0', '--store', 'memory'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(gateway, 'close');
  t.after(async () => {
    gateway.kill('SIGKILL');
    await ended;
  });
  let said = '';
  gateway.stdout.on('data', text => (said += text));
  await waitFor('the gateway listens', () => said.includes(' listens on '), 90_000);
});

test('a gateway ends with the process that ran the launcher, and its server process does', { timeout: 120_000 }, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  const noted = join(folder, 'noted');
  const script = `echo $$ >"$1.new"; mv "$1.new" "$1"; exec cat`;
  const words = ['serve', '--port', '0', '--store', 'memory', '--exit-with-parent', '--', 'sh', '-c', script, 'sh', noted];
  // an application that starts the launcher, and is killed
  const application = spawn(
    process.execPath,
    ['-e', `const [file, ...words] = process.argv.slice(1);
      const gateway = require('node:child_process').spawn(file, words, { stdio: ['ignore', 'pipe', 'inherit'] });
      console.log(gateway.pid);
      gateway.stdout.pipe(process.stdout);
      setInterval(() => {}, 1000);`, holdfast, ...words],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let said = '';
  application.stdout.on('data', text => (said += text));
  const runs = pid => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  t.after(async () => {
    application.kill('SIGKILL');
    const pid = parseInt(said, 10);
    if (pid && runs(pid)) process.kill(pid, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  await waitFor('the gateway listens', () => /listens on \S+\n/.test(said), 90_000);
  const gateway = parseInt(said, 10);
  fetch(/listens on (\S+)/.exec(said)[1], {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0', id: 0, method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'launcher', version: '1' } },
    }),
  }).catch(() => {});
  await waitFor('the child runs', () => existsSync(noted));
  const child = parseInt(await readFile(noted, 'utf8'), 10);
  assert.ok(runs(gateway) && runs(child));
  application.kill('SIGKILL');
  await waitFor('both are gone', () => !runs(gateway) && !runs(child), 60_000);
});
