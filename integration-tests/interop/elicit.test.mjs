// The server asks the user something during a call, and the stream that carried the question breaks.
import assert from 'node:assert/strict';
import { CLIENTS, RESUMING_SSE_CLIENTS } from './clients.mjs';
import { waitFor } from './wait.mjs';
import { forEachClientAndCut } from './matrix.mjs';
import { assertOneSession } from './series.mjs';

const isQuestion = event => event.message?.method === 'elicitation/create';
const isResult = event => event.message?.result !== undefined;
const carriesQuestion = exchange => exchange.events.some(isQuestion);

elicitation('cut, then answered at once', {
  whenAsked: ({ proxy, by }) => proxy.cutSoon(carriesQuestion, by),
});

elicitation('cut, resumed, then answered', {
  whenAsked: async ({ proxy, client, by }) => {
    const before = client.resumes;
    await proxy.cutSoon(carriesQuestion, by);
    await waitFor('the client is back', () => client.resumes > before && client.requests.at(-1).status === 200);
  },
});

elicitation('the question is swallowed by the cut', {
  beforeCall: ({ proxy, by }) => proxy.cutAt({ matches: () => true, sees: isQuestion, swallow: true, by }),
});

elicitation('the answer is taken, the result swallowed by the cut', {
  whenAsked: ({ proxy, by }) => proxy.cutAt({ matches: carriesQuestion, sees: isResult, swallow: true, by }),
});

function elicitation(title, { beforeCall = () => {}, whenAsked = () => {} }) {
  const gateway = { flags: ['--retry', '300ms', '--sse-reconnect-grace', '1m'] };
  const options = { gateway, client: { elicits: true }, clients: [...CLIENTS, ...RESUMING_SSE_CLIENTS] };
  forEachClientAndCut(title, options, async scenario => {
    const { proxy, client } = scenario;
    await proxy.underWay(exchange => exchange.method === 'GET');
    let asked = 0;
    client.answer = async () => {
      asked++;
      await whenAsked(scenario);
      return { action: 'accept', content: { answer: 'forty-two' } };
    };
    beforeCall(scenario);
    assert.match((await client.call('elicit')).text, /forty-two/);
    assert.equal(asked, 1, 'times the user was asked');
    assert.ok(proxy.counts.cuts >= 1, 'the proxy has cut');
    assertOneSession(client);
  });
}
