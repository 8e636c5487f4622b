// The examples that a script starts, under cuts every 700 ms, and over a restart; the client of Spring AI over a restart; a task over kill -9; the project that docs/spring.md writes; the example of a cluster.
// Runs alone, for it builds in the folders that others run from.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CLIENTS, connect } from './clients.mjs';
import { EXAMPLES, blocks, buildSpringExample, runExample, serveWrittenProject, startSpringClient, startSpringExample, underCuts } from './examples.mjs';
import { freePort } from './gateway.mjs';
import { assertOneSession } from './series.mjs';

const run = promisify(execFile);

for (const name of Object.keys(EXAMPLES)) {
  test(`examples/${name}/run`, { timeout: 420_000 }, async t => {
    const example = await runExample(name);
    t.after(() => example.stop());
    await Promise.all(CLIENTS.map(flavour => underCuts(example, flavour, t)));

    const client = await connect(CLIENTS[0], example.url, { listens: false });
    t.after(() => client.close());
    assert.match((await client.call('forecast', { city: 'Bern' })).text, /sunny in Bern/);
    example.terminate();
    await example.ended();
    await example.restart();

    assert.match((await client.call('forecast', { city: 'Thun' })).text, /run=1: sunny in Thun/);
    assertOneSession(client);
  });
}

test('examples/spring-ai-client/run', { timeout: 420_000 }, async t => {
  const server = await runExample('plain-sdk');
  t.after(() => server.stop());
  const client = startSpringClient(new URL(server.url).origin);
  t.after(() => client.stop());
  await client.says(/^day 3:/m, 300_000);
  server.terminate();
  await server.ended();
  await server.restart();

  assert.equal(await client.ended(), 0, client.log);

  const answered = [...client.log.matchAll(/^day \d+: \S*run=\d+: sunny in Bern/gm)].length;
  assert.ok(answered >= 19, client.log); // a call that was sent as the server ended may have been executed or not
});

for (const more of [[], ['redis']]) test(['examples/durable-task/run', ...more].join(' '), { timeout: 120_000 }, async () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const { stdout } = await run('examples/durable-task/run', more, { cwd, timeout: 110_000, env: { ...process.env, PORT: String(await freePort()) } });

  const told = stdout.slice(stdout.lastIndexOf('# what the client was told')).trim().split('\n').slice(1);
  const ids = new Set(told.slice(0, -1).map(line => line.split(' ')[1]));
  assert.deepEqual([told[0].split(' ')[0], told.at(-2).split(' ')[0], told.at(-1)], ['working', 'completed', 'read in 6 steps'], stdout);
  assert.equal(ids.size, 1, stdout);
});

test('the project of docs/spring.md, and its client', { timeout: 420_000 }, async t => {
  const server = await serveWrittenProject('docs/spring.md');
  t.after(() => server.stop());
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-client-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [client] = blocks('docs/spring.md', 'sh');

  const { stdout } = await run('bash', ['-c', client.replace('http://127.0.0.1:8080/mcp', server.url).replace('-m 5', '-m 8')], { cwd: folder });

  const beforeTheCut = readFileSync(join(folder, 'cut'), 'utf8');
  assert.match(beforeTheCut, /"progress":1/);
  assert.doesNotMatch(beforeTheCut, /"progress":5|sunny/);
  assert.deepEqual([...stdout.matchAll(/"progress":(\d)/g)].map(([, step]) => step), ['1', '2', '3', '4', '5']);
  assert.match(stdout.slice(beforeTheCut.length), /"text":"\W*sunny in Bern/);
});

for (const [name, example] of [['examples/cluster/run', 'spring-ai'], ['springAi5983_aSessionOfSpringAi11OutlivesItsNode', 'spring-ai-1.1']]) test(name, { timeout: 420_000 }, async () => {
  // longer than any standstill of the machine: what a node refuses meanwhile counts as not taken
  const env = { ...process.env, EXAMPLE: example, PORT: String(await freePort()), HOLDFAST_NODE_LEASE: '12s', HOLDFAST_STORE_REDIS_TIMEOUT: '8s' };
  const { stdout } = await run('bash', [fileURLToPath(new URL('../../examples/cluster/run', import.meta.url)), '1'], { env });

  assert.match(stdout, /^# kill -9 of node 0$/m);
  const [, answered] = /^# (\d+) answered, \d+ ended by an error, \d+ cut at the balancer, 0 not taken; still session \S+$/m.exec(stdout) ?? [];
  assert.ok(Number(answered) > 0, stdout);
});

test('springAi5983_withoutHoldfastTheSessionIsUnknownToTheOtherNodes', { timeout: 420_000 }, async t => {
  const example = 'spring-ai-1.1';
  await buildSpringExample(example);
  const nodes = await Promise.all([0, 1, 2].map(() => startSpringExample({ example, holdfast: false })));
  t.after(() => Promise.all(nodes.map(node => node.stop())));
  const url = await roundRobin(nodes, t);

  const opened = await post(url, { id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'any', version: '1' } } });
  assert.equal(opened.status, 200);
  const session = opened.headers.get('mcp-session-id');
  const statuses = [];
  for (let i = 0; i < nodes.length; i++) statuses.push((await post(url, { id: 1, method: 'tools/list' }, session)).status);

  assert.deepEqual(statuses, [404, 404, 200], 'only the node that has opened it knows the session');
  await assert.rejects(connect(CLIENTS[0], url), /404|Session not found/i);
});

/** A balancer that gives each request to the next node. */
async function roundRobin(nodes, t) {
  let turn = 0;
  const balancer = http.createServer((asked, answer) => {
    const { port } = nodes[turn++ % nodes.length];
    const passed = http.request({ port, host: '127.0.0.1', path: asked.url, method: asked.method, headers: asked.headers }, response => {
      answer.writeHead(response.statusCode, response.headers);
      response.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise(resolve => balancer.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    balancer.close();
    balancer.closeAllConnections();
  });
  return `http://127.0.0.1:${balancer.address().port}/mcp`;
}

async function post(url, message, session) {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(session && { 'mcp-session-id': session }) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  await response.text();
  return response;
}
