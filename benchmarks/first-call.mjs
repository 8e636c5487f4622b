#!/usr/bin/env node
// The time from nothing to the first call, of gateways before the same stdio server: node benchmarks/first-call.mjs [ROUNDS].
// It needs what `mvn -Pdist -DskipTests -pl packaging -am package` makes, and the network for the others.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const rounds = Number(process.argv[2] ?? 5);
const target = fileURLToPath(new URL('../packaging/target', import.meta.url));
const archive = join(target, readdirSync(target).find(file => file.endsWith('.tar.gz')));
const server = fileURLToPath(new URL('../integration-tests/interop/shell-server.sh', import.meta.url));
const PORT = 18_573;
const url = `http://127.0.0.1:${PORT}/mcp`;

async function post(message, session) {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...(session && { 'Mcp-Session-Id': session }) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }), signal: AbortSignal.timeout(5000) });
  return { ok: response.ok, session: response.headers.get('Mcp-Session-Id'), text: await response.text() };
}

async function called() {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'first', version: '1' } };
  const opened = await post({ id: 0, method: 'initialize', params });
  if (!opened.ok) return false;
  await post({ method: 'notifications/initialized' }, opened.session);
  return (await post({ id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } }, opened.session)).text.includes('"hello"');
}

/** Milliseconds from the start of the command to the first answer of a call. */
async function first(folder, command, env) {
  const began = performance.now();
  const process_ = spawn('sh', ['-c', command], { cwd: folder, env: { ...process.env, ...env }, stdio: 'ignore', detached: true });
  const over = once(process_, 'exit');
  try {
    while (!(await called().catch(() => false))) {
      if (process_.exitCode !== null || performance.now() - began > 180_000) throw new Error(`${command} does not serve`);
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    return performance.now() - began;
  } finally {
    process.kill(-process_.pid, 'SIGTERM');
    await over;
    while (await fetch(url).then(() => true, () => false)) await new Promise(resolve => setTimeout(resolve, 100));
  }
}

const holdfast = `serve --port ${PORT} --store rocksdb:data -- sh server.sh`;
const settle = folder => execFileSync('holdfast/bin/holdfast', ['--version'], { cwd: folder, stdio: 'ignore' });
const ways = {
  'holdfast, archive: unpacked and started': [() => {}, `mkdir holdfast && tar -xzf ${archive} -C holdfast --strip-components=1 && exec holdfast/bin/holdfast ${holdfast}`],
  'holdfast, npx with an empty cache': [() => {}, `npx -y --package=${archive} holdfast ${holdfast}`],
  'holdfast, installed': [folder => {
    mkdirSync(join(folder, 'holdfast'));
    execFileSync('tar', ['-xzf', archive, '-C', 'holdfast', '--strip-components=1'], { cwd: folder });
    settle(folder);
  }, `exec holdfast/bin/holdfast ${holdfast}`],
};
for (const [name, command] of [
  ['supergateway@4.0.0', `--port ${PORT} --outputTransport streamableHttp --stateful --stdio "sh server.sh"`],
  ['mcp-proxy@6.7.19', `--port ${PORT} -- sh server.sh`],
]) {
  ways[`${name}, npx with an empty cache`] = [() => {}, `npx -y ${name} ${command}`];
  ways[`${name}, installed`] = [folder => execFileSync('npm', ['install', '--silent', name], { cwd: folder }), `npx --no-install ${name.split('@')[0]} ${command}`];
}

const times = Object.fromEntries(Object.keys(ways).map(way => [way, []]));
for (let round = 0; round < rounds; round++) {
  for (const [way, [prepare, command]] of Object.entries(ways)) {
    const folder = mkdtempSync(join(tmpdir(), 'first-'));
    try {
      copyFileSync(server, join(folder, 'server.sh'));
      writeFileSync(join(folder, 'package.json'), '{"private":true}');
      prepare(folder);
      times[way].push(await first(folder, command, { npm_config_cache: join(folder, 'cache'), npm_config_update_notifier: 'false' }));
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
    }
  }
}
console.log('| from the command to the answer of the first call, s | median | least | most |\n|---|---|---|---|');
for (const [way, all] of Object.entries(times)) {
  all.sort((a, b) => a - b);
  const s = ms => (ms / 1000).toFixed(1);
  console.log(`| ${way} | ${s(all[all.length >> 1])} | ${s(all[0])} | ${s(all.at(-1))} |`);
}
