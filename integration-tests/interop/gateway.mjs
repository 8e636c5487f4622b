// Starts `./holdfast serve` on a free loopback port and sees to it that nothing it started stays behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { randomInt, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import net from 'node:net';
import { waitFor } from './wait.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** What people call. */
export const COMMAND = process.env.HOLDFAST ?? fileURLToPath(new URL('../../holdfast', import.meta.url));
/** By this variable the processes of a gateway are known; servers of a file need to be given it. */
export const MARK = 'HOLDFAST_INTEROP_RUN';
const running = new Set();

process.on('exit', () => running.forEach(gateway => gateway.destroy()));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** A stdio server behind the gateway, by the launcher that people use; found in node_modules, so nothing is downloaded. */
export const EVERYTHING = ['npx', '-y', '@modelcontextprotocol/server-everything', 'stdio'];

/**
 * Serves the demo, or `command` when one is given, until `stop()`; `env` goes beside its own environment. Its sessions are in a
 * folder of its own, as users have it, unless `store` names another place.
 */
export async function startGateway({ flags = [], command = [], env = {}, store } = {}) {
  const gateway = new Gateway(await freePort(), flags, command, env, store);
  running.add(gateway);
  await gateway.served();
  return gateway;
}

class Gateway {
  log = '';
  #mark = randomUUID();
  #store = mkdtempSync(join(tmpdir(), 'holdfast-store-'));
  #args;
  #env;
  #process;
  #exit;

  constructor(port, flags, command, env, store) {
    this.port = port;
    this.#env = env;
    this.#args = ['serve', '--port', String(port), '--store', store ?? `rocksdb:${this.#store}`, ...flags, ...(command.length ? ['--', ...command] : [])];
    this.#start();
  }

  #start() {
    this.#process = spawn(COMMAND, this.#args, { cwd: HERE, env: { ...process.env, ...this.#env, [MARK]: this.#mark }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exit = once(this.#process, 'exit').then(([code, signal]) => ({ code, signal }));
    for (const stream of [this.#process.stdout, this.#process.stderr]) stream.on('data', text => (this.log += text));
  }

  get url() {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  get exited() {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Resolves when it answers. */
  served() {
    return waitFor('GET /healthz answers', () => this.healthy(), 90_000);
  }

  async healthy() {
    if (this.exited) throw new Error(`the gateway ended at once:\n${this.log}`);
    return fetch(`http://127.0.0.1:${this.port}/healthz`).then(response => response.ok, () => false);
  }

  /** Resolves when it has so many sessions. */
  sessionsAre(count) {
    const sessions = async () => (await (await fetch(`http://127.0.0.1:${this.port}/healthz`)).json()).sessions;
    return waitFor(`${count} sessions`, async () => (await sessions()) === count);
  }

  terminate() {
    this.#process.kill('SIGTERM');
  }

  /** Ends it without a word, and none of its children. */
  async crash() {
    this.#process.kill('SIGKILL');
    await this.#exit;
  }

  freeze() {
    this.#process.kill('SIGSTOP');
  }

  thaw() {
    this.#process.kill('SIGCONT');
  }

  /** Starts it again once it has ended: on the same port, with the same sessions. */
  async restart() {
    this.#start();
    await this.served();
  }

  /** How the process ended: `{code, signal}`. */
  ended() {
    return this.#exit;
  }

  /** Every process that descends from this gateway, however it was regrouped or orphaned since: `{pid, parent, command}`. */
  descendants() {
    return markedProcesses(this.#mark).filter(each => each.pid !== this.#process.pid);
  }

  /** The children it started itself. */
  launchers() {
    return this.descendants().filter(each => each.parent === this.#process.pid);
  }

  /** The last processes of each line of descent. */
  leaves() {
    const all = this.descendants();
    return all.filter(each => !all.some(other => other.parent === each.pid));
  }

  kill() {
    markedProcesses(this.#mark).forEach(each => killQuietly(each.pid));
  }

  /** Leaves nothing of it behind. */
  destroy() {
    this.kill();
    rmSync(this.#store, { recursive: true, force: true });
  }

  /** Ends it in order, then by force, with all that it started. */
  async stop() {
    this.terminate();
    const late = setTimeout(() => this.kill(), 25_000);
    await this.#exit;
    clearTimeout(late);
    this.destroy();
    running.delete(this);
  }
}

export function killQuietly(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it has ended meanwhile
  }
}

function markedProcesses(mark) {
  return readdirSync('/proc').filter(name => /^\d+$/.test(name)).flatMap(pid => {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${mark}`)) return [];
      const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /s, '').split(' ');
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
      return state === 'Z' ? [] : [{ pid: Number(pid), parent: Number(parent), command }];
    } catch {
      return []; // ended while we looked, or not ours to read
    }
  });
}

/** Each suite is a process, and looks among ports of its own: a server holds its place among them. */
const PORTS = 300;
const PLACES = 33;
const FIRST_PORT = 20_000 + (await place()) * PORTS;
const given = new Set();

async function place() {
  for (let place = process.pid % PLACES; ; place = (place + 1) % PLACES) {
    const holder = net.createServer().listen(19_900 + place, '127.0.0.1');
    holder.unref();
    if (await once(holder, 'listening').then(() => true, () => false)) return place;
  }
}

/** A port below those that the kernel gives to connections, so that no client of another suite has it before the server does; none twice. */
export async function freePort() {
  while (given.size < PORTS) {
    const port = FIRST_PORT + randomInt(PORTS);
    if (given.has(port)) continue;
    given.add(port); // before anything waits: tests look for ports side by side
    const server = net.createServer().listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(() => true, () => false);
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error(`all ${PORTS} ports of this suite are given away`);
}
