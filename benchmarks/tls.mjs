#!/usr/bin/env node
// What TLS costs the gateway, and the time until a cut stream goes on: node benchmarks/tls.mjs [ROUNDS].
// It needs openssl, and the gateway that `./holdfast --version` builds.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from './gateway.mjs';

const rounds = Number(process.argv[2] ?? 5);
const AT_ONCE = 8;
const MILLIS = 3_000;
const CUTS = 20;
const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const [cert, key] = ['cert.pem', 'key.pem'].map(name => join(folder, name));
execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' };
const INITIALIZE = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'tls', version: '1' } } };
const call = (id, name, args, _meta) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta } });

/** A request by HTTP/1.1: its headers, and its body as a stream. */
async function sent(module, agent, port, method, headers, message) {
  const body = message && JSON.stringify(message);
  const request = module.request({ host: '127.0.0.1', port, path: '/mcp', method, agent, rejectUnauthorized: false, headers: { ...HEADERS, ...headers, ...(body && { 'content-length': Buffer.byteLength(body) }) } });
  request.end(body);
  const [response] = await once(request, 'response');
  return { headers: response.headers, body: response, cut: () => request.destroy() };
}

/** Clients by their protocols: each keeps its connections for calls, and takes a fresh one for a stream that is cut. */
const ways = {
  'HTTP/1.1': { tls: false, open: port => byAgent(http, port) },
  'TLS, HTTP/1.1': { tls: true, open: port => byAgent(https, port) },
  'TLS, HTTP/2': { tls: true, open: port => bySession(port) },
};

function byAgent(module, port) {
  const agent = new module.Agent({ keepAlive: true, maxSockets: AT_ONCE });
  return {
    send: (...what) => sent(module, agent, port, ...what),
    fresh: (...what) => sent(module, new module.Agent(), port, ...what),
    close: () => agent.destroy(),
  };
}

function bySession(port) {
  const connect = () => http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false }).on('error', () => {});
  const over = async (session, method, headers, message) => {
    const stream = session.request({ ':path': '/mcp', ':method': method, ...HEADERS, ...headers });
    stream.end(message && JSON.stringify(message));
    const [answer] = await once(stream, 'response');
    return { headers: answer, body: stream };
  };
  const session = connect();
  return {
    send: (...what) => over(session, ...what),
    fresh: async (...what) => {
      const own = connect();
      return { ...(await over(own, ...what)), cut: () => own.destroy() };
    },
    close: () => session.destroy(),
  };
}

async function text(body) {
  let all = '';
  for await (const chunk of body) all += chunk;
  return all;
}

async function opened(client) {
  const { headers, body } = await client.send('POST', {}, INITIALIZE);
  await text(body);
  const session = { 'mcp-session-id': headers['mcp-session-id'] };
  await text((await client.send('POST', session, { jsonrpc: '2.0', method: 'notifications/initialized' })).body);
  return session;
}

let ids = 0;

async function callsPerSecond(client, session) {
  const end = performance.now() + MILLIS;
  let done = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (; performance.now() < end; done++) {
      const answer = await text((await client.send('POST', session, call(++ids, 'echo', { text: 'hello' }))).body);
      if (!answer.includes('hello')) throw new Error(answer);
    }
  }));
  return done / (MILLIS / 1000);
}

/** The body up to the first event that has this in it; the id of the last event with one. */
async function until(body, wanted) {
  let all = '';
  for await (const chunk of body.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    all += chunk;
    if (all.includes(wanted)) return /^id: ?(.*)$/m.exec(all.slice(all.lastIndexOf('id:')))[1];
  }
  throw new Error(`the stream has ended without ${wanted}: ${all}`);
}

/** Milliseconds from the cut of a call's stream to its next event on a fresh connection, which was sent meanwhile. */
async function resumed(client, session) {
  const id = ++ids;
  const first = await client.fresh('POST', session, call(id, 'slow', { ms: 60, steps: 3 }, { progressToken: id }));
  first.body.on('error', () => {});
  const last = await until(first.body, '"progress"');
  first.cut();
  await new Promise(resolve => setTimeout(resolve, 150));
  const began = performance.now();
  const rest = await client.fresh('GET', { ...session, accept: 'text/event-stream', 'last-event-id': last });
  rest.body.on('error', () => {});
  await until(rest.body, '"result"');
  const took = performance.now() - began;
  rest.cut();
  return took;
}

const gateways = [];
const rates = Object.fromEntries(Object.keys(ways).map(way => [way, []]));
const returns = Object.fromEntries(Object.keys(ways).map(way => [way, []]));
try {
  for (const flags of [[], ['--tls-cert', cert, '--tls-key', key]]) gateways.push(await serve(folder, ...flags));
  const clients = {};
  for (const [way, { tls, open }] of Object.entries(ways)) {
    const client = open(gateways[tls ? 1 : 0].port);
    clients[way] = { client, session: await opened(client) };
  }
  for (let round = -3; round < rounds; round++) {
    for (const [way, { client, session }] of Object.entries(clients)) {
      const rate = await callsPerSecond(client, session);
      if (round >= 0) rates[way].push(rate);
    }
  }
  for (let cut = -5; cut < CUTS; cut++) {
    for (const [way, { client, session }] of Object.entries(clients)) {
      const took = await resumed(client, session);
      if (cut >= 0) returns[way].push(took);
    }
  }
  Object.values(clients).forEach(({ client }) => client.close());
} finally {
  for (const gateway of gateways) await gateway.stop();
  rmSync(folder, { recursive: true });
}
const median = all => [...all].sort((a, b) => a - b)[all.length >> 1];
const plain = rates['HTTP/1.1'];
console.log(`| ${AT_ONCE} calls at once | calls/s | of those without TLS | a cut stream goes on after, ms |\n|---|---|---|---|`);
for (const way of Object.keys(ways)) {
  const ratio = median(rates[way].map((rate, round) => rate / plain[round]));
  console.log(`| ${way} | ${median(rates[way]).toFixed(0)} | ${ratio.toFixed(2)} | ${median(returns[way]).toFixed(1)} |`);
}
