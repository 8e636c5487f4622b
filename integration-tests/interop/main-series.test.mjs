// Cuts every 700 ms, through 20 calls of 1.5 s with 5 progress steps each and 3 listening notifications per call.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forEachClientAndCut } from './matrix.mjs';
import { assertEachRanOnce, assertNothingLost, callSeries } from './series.mjs';

// The default retry; and one so short that the cuts fall on streams that were just resumed, again and again.
for (const retry of ['2s', '300ms']) {
  const texts = [];
  const options = {
    gateway: { flags: ['--retry', retry] },
    timeout: 240_000,
    finally: () => test('each call was executed once', () => assertEachRanOnce(texts)),
  };

  forEachClientAndCut(`cuts every 700 ms, retry ${retry}`, options, async ({ proxy, client, by }) => {
    proxy.cutEvery(700, by);
    const done = await callSeries(client);
    await proxy.calm();
    texts.push(...done.map(each => each.text));
    await assertNothingLost(client, done);
    assert.ok(proxy.counts.cuts >= 10, 'the proxy has cut');
    await client.end();
  });
}
