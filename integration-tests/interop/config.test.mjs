// Many servers behind one gateway, of a file as desktop clients have it: under cuts, while the file changes, and after a kill -9.
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect } from './clients.mjs';
import { conformance, startConformanceServer } from './conformance.mjs';
import { CUTS, CuttingProxy } from './cutting-proxy.mjs';
import { startGateway } from './gateway.mjs';
import { assertNothingLost, assertOneSession, callSeries } from './series.mjs';
import { startUpstream } from './upstreams.mjs';
import { waitFor } from './wait.mjs';

const CALLS = 5;
const RETRY_MS = 6000;
const CALL_MS = 300;
/** What the conformance suite asks of a server that need not have any tool of its. */
const SCENARIOS = ['tools-list', 'dns-rebinding-protection'];
const NAMES = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];

const script = path => fileURLToPath(new URL(`node_modules/${path}/dist/index.js`, import.meta.url));
const stdio = (path, env = {}) => ({ command: '${NODE_OF_TEST:-node}', args: [script(path), 'stdio'], env });
const operation = (client, onprogress) => client.call('trigger-long-running-operation', { duration: 1.5, steps: 5 }, { onprogress });
const longOperation = (client, onprogress) => client.call('longRunningOperation', { duration: 1.5, steps: 5 }, { onprogress });
const slow = (client, onprogress) => client.call('slow', { ms: 1500, steps: 5 }, { onprogress });

test('ten servers of one file: cuts, changes of the file, a kill -9 of the gateway, and conformance', { timeout: 420_000 }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
  const file = join(folder, 'servers.json');
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = mcpServers => {
    writeFileSync(`${file}.new`, JSON.stringify({ mcpServers }, null, 2));
    renameSync(`${file}.new`, file);
  };
  const remote = await startUpstream('a server with event ids');
  t.after(() => remote.kill());
  const older = await startUpstream('server-everything over HTTP+SSE');
  t.after(() => older.kill());
  const servers = {
    everything: stdio('@modelcontextprotocol/server-everything'),
    before: stdio('server-everything-2025.12.18'),
    files: { command: '${NODE_OF_TEST:-node}', args: [script('@modelcontextprotocol/server-filesystem'), folder] },
    memory: {
      command: '${NODE_OF_TEST:-node}',
      args: [script('@modelcontextprotocol/server-memory')],
      env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
    },
    far: { type: 'http', url: `http://127.0.0.1:${remote.port}/mcp`, headers: { 'x-team': '${TEAM:-blue}' } },
    older: { type: 'sse', url: `http://127.0.0.1:${older.port}/sse` },
    conformance: { type: 'http', url: await startConformanceServer(t) },
    late: { command: 'sh', args: ['-c', `sleep 3; exec "$0" "$@"`, '${NODE_OF_TEST:-node}', script('@modelcontextprotocol/server-everything'), 'stdio'] },
    none: { command: 'no-such-command' },
    nowhere: { ...stdio('@modelcontextprotocol/server-everything'), cwd: join(folder, 'nowhere') },
  };
  write(servers);
  const gateway = await startGateway({ flags: ['--retry', `${RETRY_MS}ms`, '--config', file], env: { NODE_OF_TEST: process.execPath } });
  t.after(() => gateway.stop());
  const proxy = await CuttingProxy.to(gateway.port);
  t.after(() => proxy.close());
  const at = name => new URL(`/${name}/mcp`, proxy.url).href;

  const tools = { everything: operation, before: longOperation, far: slow, older: operation, late: operation };
  const clients = {
    everything: await connect('v1', at('everything')),
    before: await connect('v2-legacy', at('before'), { listens: false }),
    far: await connect('v2-legacy', at('far'), { listens: false }),
    older: await connect('v1', at('older'), { listens: false }),
    late: await connect('v1', at('late'), { listens: false }),
    files: await connect('v1', at('files')),
    memory: await connect('v2-legacy', at('memory'), { listens: false }),
  };
  t.after(() => Promise.all(Object.values(clients).map(client => client.close())));
  for (const name of ['none', 'nowhere']) assert.equal(await statusOf(at(name)), 503, name);
  assert.equal(await statusOf(at('before'), clients.everything.sessionId), 404, 'a session of another server');

  proxy.cutEvery(700, CUTS[0]);
  const series = Promise.all(Object.entries(tools).map(async ([name, tool]) => {
    const done = await callSeries(clients[name], { tool, notes: 0, calls: CALLS });
    await assertNothingLost(clients[name], done, { notes: 0, calls: CALLS });
  }));
  const kept = Promise.all([saved(clients.files, folder), remembered(clients.memory)]);
  write({ ...servers, everything: stdio('server-everything-2025.12.18'), none: stdio('@modelcontextprotocol/server-everything') });
  await waitFor('the file is taken', () => gateway.log.includes('server everything has changed'));
  await waitFor('a server is there that was not', async () => (await statusOf(at('none'))) !== 503);
  await series;
  await kept;
  await proxy.calm();
  assert.ok(proxy.counts.cuts >= 3, 'the proxy has cut');
  const names = async name => (await fresh(t, at(name))).map(tool => tool.name);
  assert.ok((await names('everything')).includes('longRunningOperation'), 'a new session has the new server');
  assert.ok((await names('none')).includes('trigger-long-running-operation'));
  assert.match((await clients.far.call('headers')).text, /"x-team":"blue"/);

  await gateway.crash();
  await gateway.restart();
  const { entities } = JSON.parse((await clients.memory.call('read_graph')).text);
  assert.deepEqual(entities.map(entity => entity.name), NAMES);
  assert.equal((await clients.files.call('read_text_file', { path: join(folder, NAMES[0]) })).text, 'a text');
  await Promise.all(Object.entries({ ...tools, everything: longOperation }).map(async ([name, tool]) => {
    const answer = await tool(clients[name], () => {});
    assert.equal(answer.progress.length, 5, name);
    assertOneSession({ ...faceOf(clients[name]), requests: clients[name].requests.filter(each => each.status < 500) });
  }));

  const served = Object.keys(servers).filter(name => name !== 'nowhere');
  const wrong = await Promise.all([0, 1, 2, 3].map(async first => {
    const complaints = [];
    for (const name of served.filter((_, i) => i % 4 === first)) {
      const url = new URL(`/${name}/mcp`, gateway.url).href;
      for (const scenario of name === 'conformance' ? [] : SCENARIOS) {
        const { code, output } = await conformance(['server', '--url', url, '--scenario', scenario], t.signal);
        if (code !== 0) complaints.push(`${name}: ${scenario}: ${output}`);
      }
    }
    return complaints;
  }));
  assert.deepEqual(wrong.flat(), []);
  const { code, output } = await conformance(['server', '--url', new URL('/conformance/mcp', gateway.url).href, '--suite', 'all'], t.signal);
  assert.equal(code, 0, output);
});

/** Each name in a file of its own. */
async function saved(client, folder) {
  for (const name of NAMES) {
    await client.call('write_file', { path: join(folder, name), content: 'a text' });
    await delay(CALL_MS);
  }
  const { text } = await client.call('list_directory', { path: folder });
  for (const name of NAMES) assert.ok(text.includes(name), name);
}

/** Each name as an entity of the graph. */
async function remembered(client) {
  for (const name of NAMES) {
    await client.call('create_entities', { entities: [{ name, entityType: 'name', observations: [] }] });
    await delay(CALL_MS);
  }
}

function faceOf(client) {
  return { initializes: client.initializes, received: client.received, errors: client.errors };
}

async function fresh(t, url) {
  const client = await connect('v1', url, { listens: false });
  t.after(() => client.close());
  return client.list();
}

async function statusOf(url, session) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const response = await fetch(url, { method: 'POST', headers: session ? { ...headers, 'mcp-session-id': session } : headers, body });
  await response.arrayBuffer();
  return response.status;
}
