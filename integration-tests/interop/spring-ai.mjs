// Starts the example of Spring AI on a free port, with the starter on its class path or without.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, killQuietly } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const JAR = join(ROOT, 'examples/spring-ai/target/weather-server.jar');

/** Builds the example where it is missing. */
export function buildExample() {
  if (!statSync(JAR, { throwIfNoEntry: false })) {
    execFileSync('mvn', ['-B', '-ntp', '-q', 'package', '-DskipTests', '-Pexamples', '-pl', 'examples/spring-ai', '-am'], { cwd: ROOT, stdio: 'inherit' });
  }
}

/** Serves the example until `stop()`; without Holdfast, its jars are not there. */
export async function startExample({ holdfast }) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'));
  execFileSync('java', ['-Djarmode=tools', '-jar', JAR, 'extract', '--destination', folder]);
  const jars = join(folder, 'lib');
  const ours = readdirSync(jars).filter(name => name.startsWith('holdfast-'));
  if (!holdfast) ours.forEach(name => rmSync(join(jars, name)));
  const port = await freePort();
  const server = spawn('java', ['-jar', join(folder, 'weather-server.jar'), `--server.port=${port}`], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(server, 'exit');
  let log = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', text => (log += text));
  process.on('exit', () => killQuietly(server.pid));
  await waitFor(
    'the example answers',
    () => {
      if (server.exitCode !== null) throw new Error(`the example ended at once:\n${log}`);
      return fetch(`http://127.0.0.1:${port}/mcp`).then(() => true, () => false);
    },
    60_000,
  );
  return {
    port,
    ours,
    async stop() {
      server.kill('SIGTERM');
      const late = setTimeout(() => server.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(late);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
