// The OAuth client of the TypeScript SDK against Spring Authorization Server and a gateway that takes its tokens: from the first 401 over
// metadata, login and token to calls, and on through refreshed tokens, new keys and a provider that is away.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { buildAuthorizationServer, startAuthorizationServer } from './examples.mjs';
import { startGateway } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const CALLBACK = 'http://127.0.0.1:9/callback';
const INFO = { name: 'holdfast-interop', version: '1.0.0' };
const FLAVOURS = { v1: [ClientV1, TransportV1], v2: [ClientV2, TransportV2] };
/** The gateway takes a token for 30 s more than it says. */
const SKEW_MS = 30_000;

/** A user with a browser that logs in by a password at once. */
class Login {
  redirectUrl = CALLBACK;
  clientMetadata = { redirect_uris: [CALLBACK], scope: 'tools' };
  refreshes = 0;
  #user;
  #tokens;
  #verifier;

  constructor(user) {
    this.#user = user;
  }

  clientInformation() {
    return { client_id: 'client', client_secret: 'client-secret', token_endpoint_auth_method: 'client_secret_post' };
  }

  tokens() {
    return this.#tokens;
  }

  saveTokens(tokens) {
    if (this.#tokens) this.refreshes++;
    this.#tokens = tokens;
  }

  saveCodeVerifier(verifier) {
    this.#verifier = verifier;
  }

  codeVerifier() {
    return this.#verifier;
  }

  async redirectToAuthorization(url) {
    this.asked = url;
    const body = new URLSearchParams({ username: this.#user, password: 'secret' });
    const login = await fetch(new URL('/login', url), { method: 'POST', body, redirect: 'manual' });
    const cookie = login.headers.getSetCookie().map(each => each.split(';')[0]).join('; ');
    const response = await fetch(url, { headers: { cookie }, redirect: 'manual' });
    const location = new URL(response.headers.get('location') ?? assert.fail(`${response.status} of ${url}`));
    assert.equal(location.origin + location.pathname, CALLBACK, location.href);
    this.code = location.searchParams.get('code') ?? assert.fail(location.href);
  }
}

/** Logs in, and connects with what that gives. */
async function loggedIn(flavour, user, url, t) {
  const [Client, Transport] = FLAVOURS[flavour];
  const login = new Login(user);
  const first = new Transport(new URL(url), { authProvider: login });
  await assert.rejects(new Client(INFO).connect(first), failure => /Unauthorized/.test(failure.constructor.name + failure.name));
  await first.finishAuth(login.code);
  const statuses = [];
  const recorded = async (to, init) => {
    const response = await fetch(to, init);
    if (String(to) === url) statuses.push(`${init?.method ?? 'GET'} ${response.status}`);
    return response;
  };
  const client = new Client(INFO);
  const transport = new Transport(new URL(url), { authProvider: login, fetch: recorded });
  await client.connect(transport);
  t.after(() => client.close());
  return { client, transport, login, statuses };
}

const echo = async (client, text) => (await client.callTool({ name: 'echo', arguments: { text } })).content[0].text;

describe('OAuth', { concurrency: 1 }, () => {
  let provider;
  let gateway;

  before(async () => {
    await buildAuthorizationServer();
    // a second, so that each token ends when the difference of the clocks is over
    provider = await startAuthorizationServer({ 'token-time': '1s' });
    gateway = await startGateway({ flags: ['--oauth-issuer', provider.issuer, '--oauth-scope', 'tools'] });
  }, { timeout: 300_000 });
  after(async () => {
    await gateway?.stop();
    await provider?.stop();
  });

  for (const flavour of Object.keys(FLAVOURS)) {
    test(`${flavour}: from the first 401 to a call, and no session of another`, { timeout: 120_000 }, async t => {
      const alice = await loggedIn(flavour, 'alice', gateway.url, t);
      assert.equal(alice.login.asked.searchParams.get('resource'), gateway.url);
      assert.equal(alice.login.asked.searchParams.get('scope'), 'tools');
      assert.match(await echo(alice.client, 'hello'), /hello/);
      assert.deepEqual(alice.statuses.filter(each => / 4/.test(each)), []);

      const bob = await loggedIn(flavour, 'bob', gateway.url, t);
      const headers = token => ({
        authorization: `Bearer ${token}`, 'mcp-session-id': alice.transport.sessionId, accept: 'text/event-stream',
      });
      const status = async token => {
        const response = await fetch(gateway.url, { method: 'GET', headers: headers(token) });
        await response.body?.cancel();
        return response.status;
      };
      assert.equal(await status(bob.login.tokens().access_token), 404);
      assert.equal(await status('x'), 401);
      assert.match(await echo(alice.client, 'again'), /again/);
    });
  }

  test('a client refreshes its token when that ends, and keeps session, stream and call', { timeout: 180_000 }, async t => {
    const clients = await Promise.all(Object.keys(FLAVOURS).map(flavour => loggedIn(flavour, 'alice', gateway.url, t)));
    const begun = Date.now();
    const late = clients.map(({ client }) => client.callTool({ name: 'slow', arguments: { ms: SKEW_MS + 8_000, steps: 2 } }, ...options(client)));
    for (const { statuses } of clients) {
      await waitFor('the listening stream has ended and been opened again', () => statuses.filter(each => each === 'GET 200').length >= 2, SKEW_MS + 30_000);
    }
    assert.ok(Date.now() - begun > SKEW_MS - 5_000, 'it ended with the token');

    for (const { client, transport, login, statuses } of clients) {
      const session = transport.sessionId;
      assert.match(await echo(client, 'after'), /after/);
      assert.equal(transport.sessionId, session);
      assert.ok(login.refreshes >= 1, `refreshed ${login.refreshes} times`);
      assert.ok(statuses.includes('GET 401') || statuses.includes('POST 401'), 'it was told');
    }
    for (const call of await Promise.all(late)) assert.match(call.content[0].text, /38000 ms in 2 steps/);
  });

  test('new keys count at once, and a provider that is away keeps nobody out', { timeout: 180_000 }, async t => {
    await fetch(`${provider.issuer}/rotate`, { method: 'POST' });
    const { client } = await waitFor('a token by the new key is taken', () => loggedIn('v1', 'alice', gateway.url, t).catch(() => false), 60_000);
    assert.match(await echo(client, 'new key'), /new key/);

    await provider.crash();
    assert.match(await echo(client, 'alone'), /alone/);
  });
});

/** What the two generations of the SDK call with. */
function options(client) {
  const timeout = { timeout: 120_000 };
  return client instanceof ClientV1 ? [undefined, timeout] : [timeout];
}
