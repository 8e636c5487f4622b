// The Inspector on its command line, which is told the era that it speaks, against gateways that serve both eras or one of them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startGateway } from './gateway.mjs';

const INSPECTOR = fileURLToPath(new URL('./node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url));
const run = promisify(execFile);

/** What it prints of a method. */
async function inspected(t, gateway, era, ...words) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-inspector-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const flags = ['--cli', '--transport', 'http', '--server-url', gateway.url, '--protocol-era', era, '--format', 'json'];
  const { stdout } = await run(process.execPath, [INSPECTOR, ...flags, ...words], { env: { ...process.env, HOME: home }, timeout: 60_000 });
  return stdout;
}

async function served(t, protocols) {
  const gateway = await startGateway({ flags: ['--protocols', protocols] });
  t.after(() => gateway.stop());
  return gateway;
}

const ECHO = ['--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'text=hello'];

test('it lists and calls tools in each era where both are served', { timeout: 240_000 }, async t => {
  const gateway = await served(t, 'both');
  for (const era of ['legacy', 'auto', 'modern']) assert.match(await inspected(t, gateway, era, ...ECHO), /hello/, era);
  assert.match(await inspected(t, gateway, 'modern', '--method', 'tools/list'), /"slow"/);
});

test('what it is told to speak is what it speaks', { timeout: 240_000 }, async t => {
  for (const [one, other] of [['legacy', 'modern'], ['modern', 'legacy']]) {
    const gateway = await served(t, one);
    assert.match(await inspected(t, gateway, one, ...ECHO), /hello/);
    await assert.rejects(inspected(t, gateway, other, ...ECHO));
  }
});
