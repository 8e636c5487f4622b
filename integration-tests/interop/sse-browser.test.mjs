// A browser's own EventSource: beside a Streamable HTTP client, and through a cut every second for 30 s.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openPage, record, startBrowser } from './browser.mjs';
import { connect, postTo } from './clients.mjs';
import { CUTS, CuttingProxy } from './cutting-proxy.mjs';
import { startGateway } from './gateway.mjs';
import { assertEachRanOnce, assertNothingLost, callSeries, upTo } from './series.mjs';
import { waitFor } from './wait.mjs';

const TIMEOUT = { timeout: 240_000 };
const CUT_MS = 30_000;
const BURST = 20;

let browser;
before(async () => (browser = await startBrowser()));
after(() => browser?.close());

test('tools, notifications and elicitation, while a Streamable HTTP client uses the same server', TIMEOUT, async t => {
  const gateway = await startGateway({ flags: ['--heartbeat', '1h'] }); // no heartbeat tells it that the page is closed
  t.after(() => gateway.stop());
  const other = await connect('v1', gateway.url);
  t.after(() => other.close());
  const page = await openPage(browser, gateway.url);

  const series = callSeries(other, { calls: 10 });
  const calls = await page.evaluate(async () => {
    client.answer = 'forty-two';
    const echo = await client.call('echo', { text: 'hello' });
    const slow = await Promise.all([1, 2, 3].map(() => client.call('slow', { ms: 1000, steps: 5 })));
    const notify = await client.call('notify', { count: 100, tag: 'page' });
    const elicit = await client.call('elicit');
    return { echo, slow, notify, elicit };
  });
  const done = await series;
  await assertNothingLost(other, done, { calls: 10 });
  assert.equal(calls.echo.text, 'hello');
  for (const { progress } of calls.slow) assert.deepEqual(progress, upTo(5));
  assertEachRanOnce([...calls.slow, ...done].map(each => each.text));
  assert.equal(calls.elicit.text, 'forty-two');

  const { logs, asked, breaks, endpoints, statuses } = await record(page);
  assert.deepEqual(logs, upTo(100).map(i => `page#${i}`));
  assert.deepEqual({ asked, breaks, endpoints: endpoints.length }, { asked: 1, breaks: 0, endpoints: 1 });
  assert.ok(statuses.every(status => status === 202));

  await page.close();
  await gateway.sessionsAre(1); // that of the other client
  assert.equal(await postTo(new URL(endpoints[0], gateway.url)), 404, 'a POST when the session is gone');
  assert.doesNotMatch(gateway.log, /WARN|ERROR/);
});

describe('a cut every second for 30 s', { concurrency: CUTS.length }, () => {
  for (const by of CUTS) {
    test(`a cut every second for 30 s loses and doubles nothing, ${by}`, TIMEOUT, async t => {
      const gateway = await startGateway({ flags: ['--sse-reconnect-grace', '1m', '--retry', '300ms'] });
      t.after(() => gateway.stop());
      const proxy = await CuttingProxy.to(gateway.port);
      t.after(() => proxy.close());
      const page = await openPage(browser, proxy.url);
      t.after(() => page.close());

      // a browser that came back this very moment may drop what it has not read yet: only what the page has seen is cut
      let told = 0;
      const look = setInterval(() => record(page).then(({ endpoints }) => (told = endpoints.length), () => {}), 50);
      t.after(() => clearInterval(look));
      const begun = () => proxy.exchanges.filter(each => each.method === 'GET' && each.headAt).length;
      proxy.cutEvery(1000, by, ({ headAt }) => told === begun() && Date.now() - headAt > 250);
      const telling = page.evaluate(([ms, count]) => Promise.all([
        client.stream(count),
        client.ask(),
        Promise.all(Array.from({ length: 10 }, () => client.call('slow', { ms, steps: 100 }))),
      ]), [CUT_MS, BURST]);
      telling.catch(() => {}); // awaited below
      await delay(CUT_MS);
      await waitFor('ten cuts', () => cutsOf(proxy).length >= 10, 90_000).catch(() => {}); // told apart below
      await page.evaluate(() => (client.enough = true));
      const [bursts, asked, slow] = await telling;
      await proxy.calm();
      await waitFor('the page has come back from the last cut', () => record(page).then(seen => cameBack(proxy, seen))).catch(() => {}); // told apart below
      const seen = await record(page);
      t.diagnostic(`${by}: ${proxy.counts.cuts} cuts, ${seen.responses.length} responses, ${seen.logs.length} notifications, ${asked} questions`);

      const expected = upTo(bursts).flatMap(burst => upTo(BURST).map(i => `${burst - 1}#${i}`));
      assert.deepEqual(seen.logs, expected);
      for (const { progress } of slow) assert.deepEqual(progress, upTo(100));
      assert.equal(seen.asked, asked, 'times the user was asked');
      assert.equal(new Set(seen.responses).size, seen.responses.length, 'responses that came twice');
      assert.ok(seen.statuses.every(status => status === 202), 'no POST failed');
      assertCameBack(proxy, seen);
    });
  }
});

function cutsOf(proxy) {
  return proxy.exchanges.filter(each => each.cutBy);
}

/** The page has seen each cut, and its stream has begun anew after each. */
function cameBack(proxy, { breaks, endpoints }) {
  const cuts = cutsOf(proxy).length;
  return breaks === cuts && endpoints.length === cuts + 1;
}

/** The cuts have hit the stream, and after each the browser came back by itself to the same endpoint. */
function assertCameBack(proxy, { breaks, endpoints }) {
  const gets = proxy.exchanges.filter(each => each.method === 'GET' && each.status === 200 && each.events.length > 0);
  const cuts = cutsOf(proxy);
  assert.ok(cuts.length >= 10, `${cuts.length} cuts`);
  assert.ok(cuts.every(each => each.method === 'GET'), 'a POST is answered in one piece, and so never cut');
  assert.equal(breaks, cuts.length, 'breaks that the page saw');
  assert.ok(gets.slice(1).every(each => each.lastEventId), 'every return named an event');
  assert.equal(endpoints.length, gets.length, 'endpoint events');
  assert.equal(new Set(endpoints).size, 1, 'endpoints');
}
