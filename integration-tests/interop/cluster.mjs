// Three gateways over one Redis, behind an nginx that gives each request to the next of them and cuts what is silent for 5 s.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, killQuietly, startGateway } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const NODES = ['one', 'two', 'three'];
const PATH = `${process.env.PATH}:/usr/sbin`;

/** Starts all of it, until `stop()`; `flags` are those of every gateway, `command` is what they serve, the demo unless there is one. */
export async function startCluster({ flags = [], command = [] } = {}) {
  const cluster = new Cluster();
  await cluster.start(flags, command);
  return cluster;
}

class Cluster {
  /** The gateways, in the order in which nginx takes them. */
  nodes = [];
  #folder = mkdtempSync(join(tmpdir(), 'holdfast-cluster-'));
  #programs = [];
  #balancer;

  async start(flags, command) {
    const port = await freePort();
    const keeps = ['--appendonly', 'yes', '--save', '', '--dir', this.#folder];
    this.redis = await this.#run(port, 'redis-server', ['--port', String(port), '--bind', '127.0.0.1', ...keeps]);
    for (const name of NODES) {
      this.nodes.push(await startGateway({ store: `redis://127.0.0.1:${port}`, flags: ['--node-name', name, ...flags], command }));
    }
    this.port = await freePort();
    this.#writeBalancer();
    this.#balancer = await this.#run(this.port, 'nginx', ['-p', this.#folder, '-c', join(this.#folder, 'nginx.conf')]);
  }

  /** Lets the balancer give requests to all nodes but this one, as it is done before a node ends in order. */
  async serveWithout(node) {
    this.#writeBalancer(node);
    const before = this.#balancer.children();
    this.#balancer.reload();
    const wanted = this.#ports(node);
    const served = () => fetch(`http://127.0.0.1:${this.port}/ports`).then(answer => answer.text(), () => 'none'); // its connection is closed
    await waitFor('nginx has read its settings', async () => (await served()) === wanted);
    // they serve by the old settings what they have accepted, a connection whose request is still to come too
    await waitFor('the workers before are gone', () => before.every(pid => commandOf(pid) === ''));
  }

  get url() {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** What all nodes have logged. */
  get log() {
    return this.nodes.map(node => node.log).join('');
  }

  async #run(port, program, args) {
    const running = new Program(port, program, args);
    this.#programs.push(running);
    await running.start();
    return running;
  }

  #nodesBut(node) {
    return this.nodes.filter(each => each !== node);
  }

  #ports(but) {
    return this.#nodesBut(but).map(node => node.port).join(' ');
  }

  #writeBalancer(but) {
    const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${this.#folder}/${kind};`);
    const text = `daemon off; pid nginx.pid; error_log stderr crit; worker_processes 1; worker_shutdown_timeout 1s;
      events { worker_connections 512; }
      http {
        access_log off; ${folders.join(' ')}
        upstream nodes { ${this.#nodesBut(but).map(node => `server 127.0.0.1:${node.port} fail_timeout=1s;`).join(' ')} }
        server {
          listen 127.0.0.1:${this.port};
          location = /ports { return 200 "${this.#ports(but)}"; }
          location / {
            proxy_pass http://nodes;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Connection "";
            proxy_connect_timeout 1s;
            proxy_read_timeout 5s;
          }
        }
      }`;
    writeFileSync(join(this.#folder, 'nginx.conf'), text);
  }

  async stop() {
    await Promise.all(this.nodes.map(node => node.stop()));
    await Promise.all(this.#programs.map(program => program.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A server that listens on one port. */
export class Program {
  static #running = new Set();

  static {
    process.on('exit', () => Program.#running.forEach(program => killQuietly(program.#process.pid)));
  }

  #port;
  #program;
  #args;
  #process;
  #exit;
  #log = '';

  constructor(port, program, args) {
    this.#port = port;
    this.#program = program;
    this.#args = args;
    Program.#running.add(this);
  }

  async start() {
    this.#process = spawn(this.#program, this.#args, { env: { ...process.env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exit = once(this.#process, 'exit');
    for (const stream of [this.#process.stdout, this.#process.stderr]) stream.on('data', text => (this.#log += text));
    await waitFor(`${this.#program} listens`, () => this.#listens());
  }

  async #listens() {
    if (this.#process.exitCode !== null) throw new Error(`${this.#program} ended at once:\n${this.#log}`);
    const socket = net.connect(this.#port, '127.0.0.1');
    const answer = await once(socket, 'connect').then(() => true, () => false);
    socket.destroy();
    return answer;
  }

  /** The processes that it has started. */
  children() {
    const { pid } = this.#process;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  }

  /** Lets it read its settings again. */
  reload() {
    this.#process.kill('SIGHUP');
  }

  freeze() {
    this.#process.kill('SIGSTOP');
  }

  thaw() {
    this.#process.kill('SIGCONT');
  }

  /** Ends it without a word, and starts it again. */
  async restart() {
    this.#process.kill('SIGKILL');
    await this.#exit;
    await this.start();
  }

  async stop() {
    this.thaw();
    this.#process.kill('SIGTERM');
    await this.#exit;
    Program.#running.delete(this);
  }
}

/** What a process calls itself; nothing when it has ended. */
function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
