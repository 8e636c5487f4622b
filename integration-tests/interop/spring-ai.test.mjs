// The example of Spring AI under cuts every 700 ms: with Holdfast's starter on the class path every call succeeds, without it the
// same run fails.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CLIENTS } from './clients.mjs';
import { buildSpringExample, startSpringExample, underCuts } from './examples.mjs';
import { assertEachRanOnce } from './series.mjs';

describe('a Spring AI server', { concurrency: 2 }, () => {
  before(() => buildSpringExample());

  test('with Holdfast: nothing is lost', { timeout: 360_000 }, async t => {
    const example = await startSpringExample();
    t.after(() => example.stop());
    const done = await Promise.all(CLIENTS.map(flavour => underCuts(example, flavour, t)));
    assertEachRanOnce(done.flat().map(each => each.text));
  });

  test('without Holdfast: the same run fails', { timeout: 360_000 }, async t => {
    const example = await startSpringExample({ holdfast: false });
    t.after(() => example.stop());
    assert.notEqual(example.ours.length, 0, 'jars of Holdfast that were taken away');
    await assert.rejects(underCuts(example, CLIENTS[0], t, 12_000), /timed out|timeout|fetch failed|terminated|aborted|closed/i);
  });
});
