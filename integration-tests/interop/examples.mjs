// Starts the examples, each on a free port and in a folder of its own, and lets real clients call them while connections are cut.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connect } from './clients.mjs';
import { CuttingProxy } from './cutting-proxy.mjs';
import { freePort, killQuietly } from './gateway.mjs';
import { assertNothingLost, callSeries } from './series.mjs';
import { waitFor } from './wait.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const springJar = example => join(ROOT, 'examples', example, 'target/weather-server.jar');
const REPORT = join(ROOT, 'integration-tests/interop/java-sdk-920');
const REPORT_JAR = join(REPORT, 'target/gateway.jar');
const LOGIN = join(ROOT, 'integration-tests/interop/authorization-server');
const LOGIN_JAR = join(LOGIN, 'target/authorization-server.jar');
const BUILD_MS = 300_000;
const CALLS = 10;

/** What it waits for may take long: meanwhile other tests of this process go on. */
const run = promisify(execFile);
const maven = (words, folder) => run('mvn', ['-B', '-ntp', '-q', 'package', '-DskipTests', ...words], { cwd: folder });

/** What tells an example of Spring its port and a folder: `run` starts it in another one than it starts in again. */
const rocksDb = port => [`--server.port=${port}`, '--holdfast.store.type=rocksdb', `--holdfast.store.rocksdb.folder=${join(tmpdir(), `holdfast-example-${port}`)}`];

/** The examples that `run` starts: how they are told their port, and how they start again without being built. */
export const EXAMPLES = {
  'plain-sdk': { args: port => [`${port}`], again: port => ['java', '-jar', join(ROOT, 'examples/plain-sdk/target/weather-server.jar'), `${port}`] },
  'spring-ai-1.1': {
    args: rocksDb,
    again: port => ['java', '-jar', join(ROOT, 'examples/spring-ai-1.1/target/weather-server.jar'), ...rocksDb(port)],
  },
  'stdio': { args: port => ['--port', `${port}`] },
};

/** Serves an example, as a reader starts it, until `stop()`. */
export async function runExample(name) {
  const { args, again } = EXAMPLES[name];
  const port = await freePort();
  const first = [join(ROOT, 'examples', name, 'run'), ...args(port)];
  return serve(port, mkdtempSync(join(tmpdir(), 'holdfast-example-')), first, again?.(port) ?? first);
}

/** Builds and runs the client of Spring AI, as a reader does, at the server with this base URL. */
export function startSpringClient(base) {
  const url = `--spring.ai.mcp.client.streamable-http.connections.weather.url=${base}`;
  // a group of its own: the script builds first, in processes of its own
  const running = spawn(join(ROOT, 'examples/spring-ai-client/run'), [url], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(running, 'exit').then(([code]) => code);
  process.on('exit', () => killQuietly(-running.pid));
  const client = {
    log: '',
    says: (line, within) =>
      waitFor(
        `the client says ${line}`,
        () => {
          if (running.exitCode !== null) throw new Error(`the client has ended:\n${client.log}`);
          return line.test(client.log);
        },
        within,
      ),
    ended: () => exit,
    async stop() {
      if (running.exitCode === null) killQuietly(-running.pid);
      await exit;
    },
  };
  for (const stream of [running.stdout, running.stderr]) stream.on('data', text => (client.log += text));
  return client;
}

/** The blocks of a page in a language. */
export function blocks(page, language) {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block]) => block);
}

/** Builds and serves the project that a page writes file by file, with Holdfast from this tree, until `stop()`. */
export async function serveWrittenProject(page) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'));
  const text = readFileSync(join(ROOT, page), 'utf8');
  for (const [, name, content] of text.matchAll(/^`(\S+)`:\n\n```\w+\n(.*?)^```$/gms)) {
    mkdirSync(dirname(join(folder, 'weather', name)), { recursive: true });
    writeFileSync(join(folder, 'weather', name), content);
  }
  // Beside Holdfast in one build, so that nothing has to be installed.
  const modules = ['weather', relative(realpathSync(folder), ROOT)].map(module => `<module>${module}</module>`).join('');
  const all = `<groupId>all</groupId><artifactId>all</artifactId><version>1</version><packaging>pom</packaging>`;
  writeFileSync(join(folder, 'pom.xml'), `<project><modelVersion>4.0.0</modelVersion>${all}<modules>${modules}</modules></project>`);
  cpSync(join(ROOT, '.mvn'), join(folder, '.mvn'), { recursive: true }); // what the compiler of Holdfast needs
  await maven(['-pl', 'weather', '-am'], folder);
  const port = await freePort();
  const command = ['java', '-jar', join(folder, 'weather/target/weather-1.0.0.jar'), `--server.port=${port}`];
  return serve(port, folder, command, command);
}

/** Builds an example of Spring AI where it is missing. */
export async function buildSpringExample(example = 'spring-ai') {
  if (!statSync(springJar(example), { throwIfNoEntry: false })) await maven(['-Pexamples', '-pl', `examples/${example}`, '-am'], ROOT);
}

/**
 * Serves an example of Spring AI until `stop()`; without Holdfast, its jars are not there. With `more`, a Java file, its beans are
 * there too.
 */
export async function startSpringExample({ example = 'spring-ai', holdfast = true, properties = {}, more } = {}) {
  const folder = await extracted(springJar(example));
  const jars = join(folder, 'lib');
  const ours = readdirSync(jars).filter(name => name.startsWith('holdfast-'));
  if (!holdfast) ours.forEach(name => rmSync(join(jars, name)));
  const port = await freePort();
  const settings = Object.entries({ 'server.port': port, ...properties }).map(([name, value]) => `--${name}=${value}`);
  const classPath = [join(folder, 'weather-server.jar'), join(folder, 'more')].join(':');
  if (more) {
    const source = fileURLToPath(new URL(more, import.meta.url));
    await run('javac', ['-parameters', '-proc:none', '-cp', `${classPath}:${jars}/*`, '-d', join(folder, 'more'), source]);
  }
  const command = ['java', '-cp', classPath, 'com.example.weather.WeatherApplication', ...settings];
  return Object.assign(await serve(port, folder, command, command), { ours });
}

/** Builds what the report of java-sdk 920 ran where it is missing. */
export async function buildJavaSdk920() {
  if (!statSync(REPORT_JAR, { throwIfNoEntry: false })) await maven(['-Pexamples', '-pl', relative(ROOT, REPORT), '-am'], ROOT);
}

/** Serves it until `stop()`, its one source as it is or as `change` makes it of its text. */
export async function startJavaSdk920(change) {
  const folder = await extracted(REPORT_JAR);
  const jars = readdirSync(join(folder, 'lib'));
  const classes = join(folder, 'changed');
  const source = join(folder, 'GatewayApplication.java');
  const original = readFileSync(join(REPORT, 'src/main/java/com/example/gateway/GatewayApplication.java'), 'utf8');
  writeFileSync(source, change(original));
  await run('javac', ['-parameters', '-proc:none', '-cp', `${folder}/lib/*`, '-d', classes, source]);
  const port = await freePort();
  const classPath = [classes, join(folder, 'lib/*')].join(':');
  const command = ['java', '-cp', classPath, 'com.example.gateway.GatewayApplication', `--server.port=${port}`];
  return Object.assign(await serve(port, folder, command, command), { jars });
}

/** Builds Spring Authorization Server with its users where it is missing. */
export async function buildAuthorizationServer() {
  if (!statSync(LOGIN_JAR, { throwIfNoEntry: false })) await maven([], LOGIN);
}

/** Serves it until `stop()`. */
export async function startAuthorizationServer(properties = {}) {
  const port = await freePort();
  const settings = Object.entries({ 'server.port': port, ...properties }).map(([name, value]) => `--${name}=${value}`);
  const command = ['java', '-jar', LOGIN_JAR, ...settings];
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'));
  return Object.assign(await serve(port, folder, command, command), { issuer: `http://127.0.0.1:${port}` });
}

/** A new folder with the classes of an executable jar, and its libraries in `lib`. */
async function extracted(jar) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-example-'));
  await run('java', ['-Djarmode=tools', '-jar', jar, 'extract', '--destination', folder]);
  return folder;
}

async function serve(port, folder, command, again) {
  const example = new Example(port, folder, again);
  await example.start(command);
  return example;
}

class Example {
  log = '';
  #folder;
  #again;
  #process;
  #exit;

  constructor(port, folder, again) {
    this.port = port;
    this.#folder = folder;
    this.#again = again;
    process.on('exit', () => killQuietly(this.#process.pid));
  }

  get url() {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  async start([program, ...args]) {
    const running = spawn(program, args, { cwd: this.#folder, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = running;
    this.#exit = once(running, 'exit').then(([code, signal]) => ({ code, signal }));
    for (const stream of [running.stdout, running.stderr]) stream.on('data', text => (this.log += text));
    await waitFor(
      'the example answers',
      () => {
        if (running.exitCode !== null) throw new Error(`the example ended at once:\n${this.log}`);
        return fetch(this.url).then(() => true, () => false);
      },
      BUILD_MS,
    );
  }

  terminate() {
    this.#process.kill('SIGTERM');
  }

  /** Ends it without a word. */
  async crash() {
    this.#process.kill('SIGKILL');
    await this.#exit;
  }

  /** How the process ended: `{code, signal}`. */
  ended() {
    return this.#exit;
  }

  /** Starts it again once it has ended: on the same port, in the same folder. */
  async restart() {
    await this.start(this.#again);
  }

  /** Ends it in order, then by force, and leaves nothing of it behind. */
  async stop() {
    this.terminate();
    const late = setTimeout(() => this.#process.kill('SIGKILL'), 10_000);
    await this.#exit;
    clearTimeout(late);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The calls of one client, each of which has so many milliseconds, and whose connections are cut every 700 ms meanwhile. */
export async function underCuts(example, flavour, t, timeout = 120_000) {
  const forecast = (client, onprogress) => client.call('forecast', { city: 'Bern' }, { onprogress, timeout });
  const proxy = await CuttingProxy.to(example.port);
  t.after(() => proxy.close());
  const client = await connect(flavour, proxy.url, { listens: false });
  t.after(() => client.close());
  proxy.cutEvery(700, 'rst');
  const done = await callSeries(client, { tool: forecast, notes: 0, calls: CALLS });
  await proxy.calm();
  t.diagnostic(`${flavour}: ${JSON.stringify(proxy.counts)}, ${client.resumes} resumes`);
  assert.ok(proxy.counts.cuts >= 4, 'the proxy has cut');
  await assertNothingLost(client, done, { notes: 0, calls: CALLS });
  return done;
}
