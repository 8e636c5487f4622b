// What pages in a real browser can do to a gateway: those of a foreign origin nothing, those of an allowed one with a token
// everything, and a page whose name was rebound to the gateway's address nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { startGateway } from './gateway.mjs';

const TIMEOUT = { timeout: 240_000 };
const TOKEN = 'trust-test-0123456789abcdef';
const REBOUND = 'rebound.example';
const PAGE = '<!doctype html><link rel="icon" href="data:,"><title>a page</title>';

let browser;
let pages;
let trusted;
let foreign;
before(async () => {
  browser = await startBrowser('--host-resolver-rules=MAP *.example 127.0.0.1');
  // Pages come over the network: a browser lets those that it cannot place nowhere near a loopback address.
  pages = http.createServer((request, response) => response.setHeader('content-type', 'text/html').end(PAGE));
  await once(pages.listen(0, '127.0.0.1'), 'listening');
  trusted = `http://app.example:${pages.address().port}`;
  foreign = `http://evil.example:${pages.address().port}`;
});
after(async () => {
  await browser?.close();
  pages?.closeAllConnections();
  pages?.close();
});

/** Opens a page of an origin; of a gateway's own, its one page for everybody. */
async function pageOf(origin, t, path = '/') {
  const page = await browser.newPage();
  t.after(() => page.close());
  await page.goto(new URL(path, origin).href);
  assert.equal(await page.evaluate(() => location.origin), origin);
  return page;
}

function tokenFile(t) {
  const folder = mkdtempSync(join(tmpdir(), 'trust-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'tokens');
  writeFileSync(file, `page ${TOKEN}\n`, { mode: 0o600 });
  return file;
}

/** Has a page try all it can; says for each what came of it: a status it could read, or the name of the error. */
function attempts(page, gateway, token) {
  return page.evaluate(async ([url, sse, authorization]) => {
    const headers = {
      'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(authorization && { authorization }),
    };
    const rpc = (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const initialize = rpc('initialize', {
      protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' },
    });
    const status = (to, init) => fetch(to, init).then(response => response.status, error => error.name);
    const heard = await new Promise(done => {
      const source = new EventSource(sse);
      const end = what => (source.close(), done(what));
      source.onopen = () => end('open');
      source.onerror = () => end('error');
    });
    return {
      initialize: await status(url, { method: 'POST', headers, body: initialize }),
      // what a page may send without asking: it must not have an effect either
      simple: await status(url, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: initialize }),
      blind: await fetch(url, { method: 'POST', mode: 'no-cors', body: initialize }).then(response => response.type, error => error.name),
      list: await status(url, { method: 'POST', headers: { ...headers, 'mcp-session-id': 'x' }, body: rpc('tools/list', {}) }),
      read: await status(url, { headers: { accept: 'text/event-stream', 'mcp-session-id': 'x' } }),
      plain: await status(url, {}),
      end: await status(url, { method: 'DELETE', headers: { 'mcp-session-id': 'x' } }),
      heard,
    };
  }, [gateway, new URL('/sse', gateway).href, token && `Bearer ${token}`]);
}

async function sessions(gateway) {
  return (await (await fetch(new URL('/healthz', gateway.url))).json()).sessions;
}

test('a page of a foreign origin can neither initialize, list nor read, with a token or without', TIMEOUT, async t => {
  for (const [flags, token] of [[[], ''], [['--auth-token-file', tokenFile(t)], TOKEN], [['--allowed-origin', trusted], '']]) {
    const gateway = await startGateway({ flags });
    t.after(() => gateway.stop());
    const page = await pageOf(foreign, t);

    assert.deepEqual(await attempts(page, gateway.url, token), {
      initialize: 'TypeError', simple: 'TypeError', blind: 'opaque', list: 'TypeError',
      read: 'TypeError', plain: 'TypeError', end: 'TypeError', heard: 'error',
    });
    assert.equal(await sessions(gateway), 0, 'sessions that the page has opened');
    assert.match(gateway.log, /refused: a request of origin "http:\/\/evil\.example:\d+"; .*--allowed-origin/);
    assert.doesNotMatch(gateway.log, new RegExp(TOKEN));
  }
});

test('a page of an allowed origin with a token initializes, reads its session id, calls a tool and reads a stream', TIMEOUT, async t => {
  const gateway = await startGateway({ flags: ['--allowed-origin', trusted, '--auth-token-file', tokenFile(t)] });
  t.after(() => gateway.stop());
  const page = await pageOf(trusted, t);

  const seen = await page.evaluate(async ([url, token]) => {
    const headers = {
      'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: `Bearer ${token}`,
    };
    const post = (message, more = {}) =>
      fetch(url, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
    const events = text => text.split('\n').filter(line => line.startsWith('data: {')).map(line => JSON.parse(line.slice(6)));
    const unknown = await fetch(url, { method: 'POST', headers: { ...headers, authorization: 'Bearer wrong' }, body: '{}' });
    const opened = await post({ id: 1, method: 'initialize', params: {
      protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } } });
    const session = { 'mcp-session-id': opened.headers.get('Mcp-Session-Id'), 'mcp-protocol-version': '2025-11-25' };
    const initialized = await post({ method: 'notifications/initialized' }, session);
    const call = await post({ id: 2, method: 'tools/call', params: {
      name: 'slow', arguments: { ms: 500, steps: 5 }, _meta: { progressToken: 'p' } } }, session);
    const messages = events(await call.text());
    const listening = await fetch(url, { headers: { ...headers, ...session } });
    const reader = listening.body.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    const ended = await fetch(url, { method: 'DELETE', headers: { ...headers, ...session } });
    while (!(await reader.read()).done); // fails unless the stream ends in order
    return {
      unknown: [unknown.status, unknown.headers.get('WWW-Authenticate')],
      opened: opened.status, session: session['mcp-session-id'], initialized: initialized.status,
      progress: messages.filter(each => each.method).map(each => each.params.progress),
      result: messages.at(-1).result.isError, first, ended: ended.status,
    };
  }, [gateway.url, TOKEN]);

  assert.deepEqual(seen.unknown, [401, 'Bearer error="invalid_token"']);
  assert.equal(seen.opened, 200);
  assert.match(seen.session, /^[\w-]{20,}$/);
  assert.equal(seen.initialized, 202);
  assert.deepEqual(seen.progress, [1, 2, 3, 4, 5]);
  assert.equal(seen.result, false);
  assert.match(seen.first, /^retry: \d+/);
  assert.equal(seen.ended, 200);
  assert.equal(await sessions(gateway), 0);
  assert.doesNotMatch(gateway.log, new RegExp(`WARN|ERROR|${TOKEN}|${seen.session}`));
});

test('a page of an allowed origin opens nothing without a token, and can read why', TIMEOUT, async t => {
  const gateway = await startGateway({ flags: ['--allowed-origin', trusted, '--auth-token-file', tokenFile(t)] });
  t.after(() => gateway.stop());
  const page = await pageOf(trusted, t);

  assert.deepEqual(await attempts(page, gateway.url, ''), {
    initialize: 401, simple: 401, blind: 'opaque', list: 401, read: 401, plain: 401, end: 401, heard: 'error',
  });
  assert.equal(await sessions(gateway), 0);
});

test('a page whose name was rebound to the gateway is refused, though it is of the same origin', TIMEOUT, async t => {
  const gateway = await startGateway();
  t.after(() => gateway.stop());
  const rebound = `http://${REBOUND}:${gateway.port}`;
  const page = await pageOf(rebound, t, '/healthz');

  assert.deepEqual(await attempts(page, `${rebound}/mcp`, ''), {
    initialize: 403, simple: 403, blind: 'basic', list: 403, read: 403, plain: 403, end: 403, heard: 'error',
  });
  const why = await page.evaluate(() => fetch('/mcp').then(response => response.json()));
  assert.equal(why.error.message, 'the Host header names no host of this server');
  assert.equal(await sessions(gateway), 0);
  assert.match(gateway.log, /refused: a request for host "rebound\.example:\d+"; .*--allowed-host/);
});

test('a name that is listed is served, as that of a reverse proxy would be', TIMEOUT, async t => {
  const gateway = await startGateway({ flags: ['--allowed-host', REBOUND] });
  t.after(() => gateway.stop());
  const own = `http://${REBOUND}:${gateway.port}`;
  const page = await pageOf(own, t, '/healthz');

  const { initialize, heard } = await attempts(page, `${own}/mcp`, '');

  assert.deepEqual({ initialize, heard }, { initialize: 200, heard: 'open' });
});
