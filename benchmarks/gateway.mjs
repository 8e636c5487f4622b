// A gateway in a process of its own, for the scripts beside this.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const holdfast = fileURLToPath(new URL('../holdfast', import.meta.url));

/** Starts it in a folder, with its sessions in memory; resolves to its port, and to what ends it. */
export async function serve(folder, ...flags) {
  const gateway = spawn(holdfast, ['serve', '--port', '0', '--store', 'memory', ...flags], { cwd: folder });
  const over = once(gateway, 'exit');
  let said = '';
  for (const output of [gateway.stderr, gateway.stdout]) output.on('data', chunk => (said += chunk));
  while (!/listens on \S+:(\d+)\//.test(said)) {
    if ((gateway.exitCode ?? gateway.signalCode) !== null) throw new Error(said);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  const stop = async () => {
    gateway.kill('SIGTERM');
    await over;
  };
  return { port: Number(/listens on \S+:(\d+)\//.exec(said)[1]), stop };
}
