// The proxy itself, against a plain Node server: it cuts where it says and nowhere else.
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { CUTS, CuttingProxy } from './cutting-proxy.mjs';
import { waitFor } from './wait.mjs';

let server;
let open; // the response that the server is now writing
before(async () => {
  server = http.createServer((request, response) => (open = response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

const all = () => true;
const saysTwo = event => event.message?.result === 2;

for (const by of CUTS) {
  proxied(`${by}: a response under way is cut, and both sides notice`, async (proxy, get) => {
    const { text, closed } = await get(true);
    await proxy.cutSoon(all, by);
    await assert.rejects(text);
    await closed;
    assert.equal(proxy.exchanges[0].cutBy, by);
  });

  proxied(`${by}: an event can be swallowed`, async (proxy, get) => {
    const cut = proxy.cutAt({ matches: all, sees: saysTwo, swallow: true, by });
    const { text, seen } = await get(true);
    event(2);
    await assert.rejects(text);
    assert.deepEqual([seen(1), seen(2)], [true, false]);
    assert.ok(cut.done());
  });

  proxied(`${by}: or be the last to pass, without the end of the stream`, async (proxy, get) => {
    proxy.cutAt({ matches: all, sees: saysTwo, by });
    const { text, seen } = await get(true);
    event(2);
    open.end();
    await assert.rejects(text);
    assert.deepEqual([seen(1), seen(2)], [true, true]);
  });
}

proxied('nothing is cut before its head or after its end', async (proxy, get) => {
  const waiting = get(false);
  await waitFor('the request, on its whole way', () => open && proxy.exchanges.length === 1);
  assert.equal(proxy.cutNow(all, 'rst'), 0);
  event(1);
  open.end();
  await (await waiting).text;
  assert.equal(proxy.cutNow(all, 'rst'), 0);
  assert.deepEqual(proxy.counts, { connections: 1, cuts: 0, spared: 1 });
});

proxied('a vanished client is not noticed by the server', async (proxy, get) => {
  const { text, closed } = await get(true);
  await proxy.cutSoon(all, 'vanish');
  await assert.rejects(text);
  open.write('more');
  let noticed = false;
  closed.then(() => (noticed = true));
  const other = await get(true); // what the server hears goes by meanwhile
  open.end();
  await other.text;
  assert.ok(!noticed);
  await proxy.close();
  await closed;
});

proxied('an outage refuses new connections, then service returns', async (proxy, get) => {
  const { text } = await get(true);
  proxy.outages({ serviceMs: 4000, refuseMs: 6000, by: 'rst' });
  await assert.rejects(text);
  await assert.rejects(fetch(proxy.url), error => error.cause.code === 'ECONNREFUSED');
  await waitFor('service', () => proxy.serves(1500));
  await proxy.calm();
  const again = await get(true);
  open.end();
  await again.text;
  assert.equal(again.status, 200);
});

test('proxies that start side by side have a port each', async t => {
  const started = await Promise.allSettled(Array.from({ length: 200 }, async (_, place) => {
    for (let ticks = place % 7; ticks > 0; ticks--) await new Promise(done => process.nextTick(done));
    return CuttingProxy.to(server.address().port);
  }));
  t.after(() => Promise.all(started.map(({ value }) => value?.close())));
  assert.deepEqual(started.flatMap(({ reason }) => reason ?? []), []);
});

/** `get(begun)` starts a request; with `begun` the server has answered it with a head and a first event. */
function proxied(title, body) {
  test(title, { timeout: 60_000 }, async t => {
    const proxy = await CuttingProxy.to(server.address().port);
    t.after(() => proxy.close());
    await body(proxy, async begun => {
      open = undefined;
      const answer = fetch(proxy.url);
      await waitFor('the request', () => open);
      const closed = once(open, 'close');
      if (begun) event(1);
      const response = await answer;
      let so = '';
      const text = (async () => {
        for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) so += bytes;
      })();
      return { status: response.status, text, closed, seen: n => so.includes(`"result":${n}}`) };
    });
  });
}

function event(n) {
  if (!open.headersSent) open.writeHead(200, { 'content-type': 'text/event-stream' });
  open.write(`id: ${n}\ndata: {"jsonrpc":"2.0","id":1,"result":${n}}\n\n`);
}
