// java-sdk 920 as its reporter has it: mcp-core 1.1.0 in Tomcat 11 of Spring Boot 4, behind a balancer that ends every response after
// 60 s, here 5 s.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { CuttingProxy } from './cutting-proxy.mjs';
import { buildJavaSdk920, startJavaSdk920 } from './examples.mjs';
import { assertOneSession, upTo } from './series.mjs';
import { waitFor } from './wait.mjs';

const LIMIT_MS = 5_000;
const STEPS = 25; // of 300 ms each
const OFFICIAL = 'io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider';
const OURS = 'dev.holdfast.mcp.HoldfastTransportProvider';

describe('java-sdk 920', { concurrency: 2 }, () => {
  before(buildJavaSdk920);

  test('with the official transport the session is gone', { timeout: 120_000 }, async t => {
    const { client, proxy } = await behindTheLimit(CLIENTS[0], await started(t, source => source), t);
    await waitFor('the proxy has ended the listening GET', () => proxy.counts.cuts > 0);

    const refused = () => client.list().then(() => false, failure => /Session not found/i.test(failure.message));
    await waitFor('the session is gone', refused);
    assert.equal(client.requests.findLast(each => each.rpc === 'tools/list').status, 404);
  });

  test('with one class name changed nothing is lost', { timeout: 120_000 }, async t => {
    const server = await started(t, source => source.replace(OFFICIAL, OURS).replaceAll(simple(OFFICIAL), simple(OURS)));
    await Promise.all(CLIENTS.map(async flavour => {
      const { client, proxy } = await behindTheLimit(flavour, server, t);
      const calls = await Promise.all([client.call('count'), client.call('count')]);
      await waitFor('the proxy has ended the call, and the listening GET twice', () => proxy.counts.cuts >= 4);

      const told = client.logs.length;
      await waitFor('something is told after that', () => client.logs.length > told);
      await client.list();
      for (const { text, progress } of calls) {
        assert.equal(text, `counted to ${STEPS}`);
        assert.deepEqual(progress, upTo(STEPS));
      }
      const first = Number(client.logs[0]);
      assert.deepEqual(client.logs.map(Number), client.logs.map((_, i) => first + i));
      assertOneSession(client);
      t.diagnostic(`${flavour}: ${JSON.stringify(proxy.counts)}, ${client.logs.length} notifications, ${client.resumes} resumes`);
    }));
  });
});

async function started(t, change) {
  const server = await startJavaSdk920(change);
  t.after(() => server.stop());
  assert.deepEqual(server.jars.filter(name => /^(mcp-core|tomcat-embed-core)-/.test(name)).map(name => name.replace(/\.\d+\.jar$/, '')).sort(), ['mcp-core-1.1', 'tomcat-embed-core-11.0']);
  return server;
}

/** A client, through a proxy of its own that ends each response so long after its request. */
async function behindTheLimit(flavour, server, t) {
  const proxy = await CuttingProxy.to(server.port);
  t.after(() => proxy.close());
  proxy.cutEvery(100, 'fin', exchange => Date.now() - exchange.askedAt >= LIMIT_MS);
  const client = await connect(flavour, proxy.url);
  t.after(() => client.close());
  return { client, proxy };
}

const simple = name => name.slice(name.lastIndexOf('.') + 1);
