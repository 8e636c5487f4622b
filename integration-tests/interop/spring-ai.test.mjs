// The example of Spring AI under cuts every 700 ms: with Holdfast's starter on the class path every call succeeds, without it the
// same run fails.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { CuttingProxy } from './cutting-proxy.mjs';
import { assertEachRanOnce, assertNothingLost, callSeries } from './series.mjs';
import { buildExample, startExample } from './spring-ai.mjs';

const CALLS = 10;

const forecast = (client, onprogress) => client.call('forecast', { city: 'Bern' }, { onprogress, timeout: 12_000 });

/** The calls of one client, whose connections are cut meanwhile. */
async function underCuts(example, flavour, t) {
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

describe('a Spring AI server', { concurrency: 1 }, () => {
  before(buildExample);

  test('with Holdfast: nothing is lost', { timeout: 120_000 }, async t => {
    const example = await startExample({ holdfast: true });
    t.after(() => example.stop());
    const done = [];
    for (const flavour of CLIENTS) done.push(...(await underCuts(example, flavour, t)));
    assertEachRanOnce(done.map(each => each.text));
  });

  test('without Holdfast: the same run fails', { timeout: 120_000 }, async t => {
    const example = await startExample({ holdfast: false });
    t.after(() => example.stop());
    assert.notEqual(example.ours.length, 0, 'jars of Holdfast that were taken away');
    await assert.rejects(underCuts(example, CLIENTS[0], t), /timed out|timeout|fetch failed|terminated|aborted|closed/i);
  });
});
