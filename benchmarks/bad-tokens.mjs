#!/usr/bin/env node
// How many bad access tokens the gateway refuses, and how long a call with a good one takes meanwhile:
// node benchmarks/bad-tokens.mjs [ROUNDS]. It needs the gateway that `./holdfast --version` builds.
import { createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from './gateway.mjs';

const rounds = Number(process.argv[2] ?? 3);
const MILLIS = 5_000;
const WARMUP_MILLIS = 30_000;
const AT_ONCE = 32;
const [known, foreign] = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }));
const encoded = part => Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');

const provider = http.createServer((request, response) => {
  const jwk = { ...known.publicKey.export({ format: 'jwk' }), kid: 'known', alg: 'RS256', use: 'sig' };
  const said = request.url === '/keys' ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys`, authorization_endpoint: `${issuer}/a`, token_endpoint: `${issuer}/t`, response_types_supported: ['code'] };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(said));
});
provider.listen(0, '127.0.0.1');
await once(provider, 'listening');
const issuer = `http://127.0.0.1:${provider.address().port}`;

function token(claims = {}, { key = known, head = {} } = {}) {
  const now = Math.floor(Date.now() / 1000);
  const content = `${encoded({ alg: 'RS256', kid: 'known', typ: 'at+jwt', ...head })}.${encoded({ iss: issuer, aud: 'bench', sub: 'somebody', client_id: 'bench', jti: randomUUID(), iat: now, exp: now + 3600, ...claims })}`;
  return `${content}.${createSign('RSA-SHA256').update(content).sign(key.privateKey, 'base64url')}`;
}

const BAD = {
  expired: () => token({ exp: 1_000_000_000 }),
  'for another audience': () => token({ aud: 'another' }),
  'of another issuer': () => token({ iss: 'https://another.example' }),
  'by another key of the same name': () => token({}, { key: foreign }),
  'by a key that nobody knows': () => token({}, { head: { kid: randomUUID() } }),
  'alg none': () => token({}, { head: { alg: 'none' } }).replace(/[^.]*$/, ''),
  'no JWT': () => randomUUID(),
};

/** Sends these requests in turn, each over a connection of its own, as a refusal ends it; resolves to the answers per second by their status. */
async function flood(port, requests) {
  const counts = {};
  const end = performance.now() + MILLIS;
  let next = 0;
  const ask = () =>
    new Promise((resolve, reject) => {
      let said = '';
      const socket = connect({ port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1').on('error', reject);
      socket.on('data', chunk => (said += chunk)).on('close', () => resolve(said.slice(9, 12)));
      socket.write(requests[next++ % requests.length]);
    });
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (performance.now() < end) {
      const status = await ask();
      counts[status] = (counts[status] ?? 0) + 1;
    }
  }));
  return Object.fromEntries(Object.entries(counts).map(([status, count]) => [status, Math.round(count / (MILLIS / 1000))]));
}

const median = all => [...all].sort((a, b) => a - b)[all.length >> 1];
const folder = mkdtempSync(join(tmpdir(), 'bad-tokens-'));
let gateway;
try {
  gateway = await serve(folder, '--oauth-issuer', issuer, '--oauth-audience', 'bench');
  const { port } = gateway;
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25', authorization: `Bearer ${token()}` };
  const post = async (message, more) => {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return response.headers;
  };
  const opened = await post({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'good', version: '1' } } });
  const session = { 'mcp-session-id': opened.get('mcp-session-id') };
  await post({ method: 'notifications/initialized' }, session);

  let ids = 0;
  const called = async ms => {
    const took = [];
    for (const end = performance.now() + ms; performance.now() < end; ) {
      const began = performance.now();
      await post({ id: ++ids, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } }, session);
      took.push(performance.now() - began);
    }
    return median(took);
  };
  const line = bearer => `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nAuthorization: Bearer ${bearer}\r\nContent-Length: 2\r\n\r\n{}`;
  console.log('| bad tokens | refused per second | a call with a good one takes, ms | without them, ms |\n|---|---|---|---|');
  const requests = Object.fromEntries(Object.entries(BAD).map(([kind, make]) => [kind, Array.from({ length: 500 }, () => line(make()))]));
  for (let warm = 0; warm < WARMUP_MILLIS; warm += MILLIS) await flood(port, Object.values(requests).flat());
  for (const kind of Object.keys(BAD)) {
    const results = [];
    for (let round = 0; round < rounds; round++) {
      const alone = await called(1_000);
      const [counts, beside] = await Promise.all([flood(port, requests[kind]), called(MILLIS)]);
      results.push({ counts, alone, beside });
    }
    const rate = status => median(results.map(({ counts }) => counts[status] ?? 0));
    const statuses = [...new Set(results.flatMap(({ counts }) => Object.keys(counts)))];
    console.log(`| ${kind} | ${statuses.map(status => `${rate(status)} (${status})`).join(', ')} | ${median(results.map(each => each.beside)).toFixed(1)} | ${median(results.map(each => each.alone)).toFixed(1)} |`);
  }
} finally {
  await gateway?.stop();
  provider.close();
  rmSync(folder, { recursive: true });
}
