// The official conformance suite, and the server that has all that it asks for.
import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts that server on a free port; resolves to its URL. */
export async function startConformanceServer(t, flags = []) {
  const server = spawn(fileURLToPath(new URL('../conformance-server', import.meta.url)), ['--port', '0', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => server.kill());
  let output = '';
  server.stderr.on('data', text => (output += text));
  for await (const [text] of on(server.stdout, 'data', { close: ['end'] })) {
    output += text;
    const url = /listens on (\S+)\n/.exec(output)?.[1];
    if (url) return url;
  }
  throw new Error(`the conformance server has ended: ${output}`);
}

/** Runs it: its exit code, and what it says. */
export async function conformance(args, signal, suite = '@modelcontextprotocol/conformance') {
  const bin = fileURLToPath(new URL(`node_modules/${suite}/dist/index.js`, import.meta.url));
  const run = spawn(process.execPath, [bin, ...args], { signal, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [run.stdout, run.stderr]) stream.on('data', text => (output += text));
  const [code] = await once(run, 'close');
  return { code, output };
}
