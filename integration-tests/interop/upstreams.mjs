// MCP servers over HTTP for the gateway or a bridge to stand in front of, each a process on a free loopback port.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { freePort } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const here = path => fileURLToPath(new URL(path, import.meta.url));
const EVERYTHING = here('node_modules/@modelcontextprotocol/server-everything/dist/index.js');

/** What to run, by name, and the path of its endpoint. */
const SERVERS = {
  'server-everything': { words: [EVERYTHING, 'streamableHttp'], path: '/mcp' },
  'server-everything over HTTP+SSE': { words: [EVERYTHING, 'sse'], path: '/sse' },
  'a server with event ids': { words: [here('plain-server.mjs'), 'events'], path: '/mcp' },
  'a server without event ids': { words: [here('plain-server.mjs')], path: '/mcp' },
  'a server without sessions': { words: [here('modern-server.mjs')], path: '/mcp' },
};

const running = new Set();
process.on('exit', () => running.forEach(server => server.kill()));

/** Starts one of them; resolves when it accepts connections. */
export async function startUpstream(name) {
  const server = new Upstream(SERVERS[name], await freePort());
  await server.start();
  return server;
}

class Upstream {
  log = '';
  #words;
  #process;

  constructor({ words, path }, port) {
    this.#words = words;
    this.path = path;
    this.port = port;
  }

  /** Starts it, or starts it again on the same port: it has forgotten every session. */
  async start() {
    this.#process = spawn(process.execPath, this.#words, { env: { ...process.env, PORT: String(this.port) }, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(this);
    for (const stream of [this.#process.stdout, this.#process.stderr]) stream.on('data', text => (this.log += text));
    await waitFor('the upstream accepts connections', () => accepts(this.port), 30_000);
  }

  kill() {
    this.#process.kill('SIGKILL');
  }

  async crash() {
    const exit = once(this.#process, 'exit');
    this.kill();
    await exit;
    running.delete(this);
  }

  /** The endpoint, at this port: its own, or that of a proxy before it. */
  url(port = this.port) {
    return `http://127.0.0.1:${port}${this.path}`;
  }
}

async function accepts(port) {
  const socket = net.connect(port, '127.0.0.1');
  const open = await once(socket, 'connect').then(() => true, () => false);
  socket.destroy();
  return open;
}
