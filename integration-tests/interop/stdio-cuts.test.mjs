// A stdio server behind the gateway, one child per session, under cuts every 700 ms.
import assert from 'node:assert/strict';
import { EVERYTHING } from './gateway.mjs';
import { forEachClientAndCut } from './matrix.mjs';
import { assertNothingLost, callSeries } from './series.mjs';

const CALLS = 10;
const tool = (client, onprogress) => client.call('trigger-long-running-operation', { duration: 1.5, steps: 5 }, { onprogress });

for (const retry of ['2s', '300ms']) {
  const options = { gateway: { flags: ['--retry', retry, '--start-timeout', '2m'], command: EVERYTHING }, timeout: 240_000 };

  forEachClientAndCut(`server-everything, cuts every 700 ms, retry ${retry}`, options, async ({ proxy, client, by }) => {
    proxy.cutEvery(700, by);
    const done = await callSeries(client, { tool, notes: 0, calls: CALLS });
    await proxy.calm();
    for (const { text } of done) assert.match(text, /completed/);
    await assertNothingLost(client, done, { notes: 0, calls: CALLS });
    assert.ok(proxy.counts.cuts >= 5, 'the proxy has cut');
    await client.end();
  });
}
