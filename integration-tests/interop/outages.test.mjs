// Every cut is followed by 1 s in which connections are refused and 3 s of service. Requests start only in service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from './wait.mjs';
import { forEachClientAndCut } from './matrix.mjs';
import { assertEachRanOnce, assertNothingLost, callSeries } from './series.mjs';

const texts = [];
const options = {
  timeout: 240_000,
  finally: () => test('each call was executed once', () => assertEachRanOnce(texts)),
};

forEachClientAndCut('cuts with outages, default retry', options, async ({ proxy, client, by }) => {
  proxy.outages({ serviceMs: 3000, refuseMs: 1000, by });
  const ready = () => waitFor('service', () => proxy.serves(1200));
  const done = await callSeries(client, { ready });
  await proxy.calm();
  texts.push(...done.map(each => each.text));
  await assertNothingLost(client, done);
  assert.ok(proxy.counts.cuts >= 5, 'the proxy has cut');
  await client.end();
});
