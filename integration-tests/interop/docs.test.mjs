// What the documentation shows is run: its demonstration, and its settings of proxies.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './gateway.mjs';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };

/** The first block of a page in a language, or the first without one. */
function block(page, language = '') {
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(readFileSync(join(root, page), 'utf8'))[1];
}

/** Lines without what differs from run to run: the random halves of epochs. */
function told(text) {
  return text
    .split('\n')
    .map(line => line.trim().replace(/^(id: \d+\.\d+\.\d+\.)[^.]+/, '$1X'))
    .filter(line => line !== '' && line !== '...');
}

test('the demonstration of README.md', { timeout: 120_000 }, async () => {
  const { stdout } = await run('examples/kill-9/run', { cwd: root, timeout: 110_000, env: { ...env, PORT: String(await freePort()) } });

  const shown = told(stdout);
  const page = told(block('README.md'));
  for (const kind of [/^#/, /^data: \{/]) {
    assertFollow(page.filter(line => kind.test(line)), shown.filter(line => kind.test(line)), stdout);
  }
  // where exactly it is cut depends on the machine
  const killed = shown.findIndex(line => line.startsWith('# kill -9'));
  assert.ok(steps(shown.slice(0, killed)).includes('3'), stdout);
  assert.match(shown.slice(killed).join('\n'), /"result"/);
  assert.deepEqual(steps(shown), ['1', '2', '3', '4', '5', '6'], 'each once, over both streams');
});

function assertFollow(expected, shown, whole) {
  let from = 0;
  for (const line of expected) {
    from = shown.indexOf(line, from) + 1;
    assert.notEqual(from, 0, `${line} does not follow in\n${whole}`);
  }
}

function steps(lines) {
  return [...lines.join('\n').matchAll(/"progress":(\d)/g)].map(([, step]) => step);
}

for (const { program, config, check } of [
  {
    program: 'nginx',
    config: shown => `events {}\nhttp { server { listen 127.0.0.1:1;\n${shown}} }\n`,
    check: file => ['-t', '-q', '-g', 'pid /dev/null;', '-c', file],
  },
  {
    program: 'haproxy',
    config: shown => shown,
    check: file => ['-c', '-q', '-f', file],
  },
]) {
  test(`${program} takes its settings in operations.md`, { timeout: 30_000 }, async t => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, program);
    writeFileSync(file, config(block('docs/operations.md', program)));

    await run(program, check(file), { env });
  });
}
