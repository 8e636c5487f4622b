// `./holdfast doctor` through nginx, HAProxy and the cutting proxy, and at other servers: its verdicts are what their settings say.
// Runs alone, for it measures time.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Program } from './cluster.mjs';
import { CuttingProxy } from './cutting-proxy.mjs';
import { buildJavaSdk920, startJavaSdk920 } from './examples.mjs';
import { COMMAND, freePort, startGateway } from './gateway.mjs';
import { startUpstream } from './upstreams.mjs';

const KB = 1024;
const SLOW = ['--tool', 'slow', '--tool-arguments', '{"ms":1500,"steps":5}'];
const REPORTED = 5_000;

let gateway;
const ports = {};
const programs = [];
const folder = mkdtempSync(join(tmpdir(), 'holdfast-doctor-'));

before(async () => {
  [gateway] = await Promise.all([startGateway(), buildJavaSdk920()]);
  for (const name of ['nginx', 'gzip', 'impatient nginx', 'haproxy', 'impatient haproxy']) ports[name] = await freePort();
  await Promise.all([
    run('nginx', ports.nginx, nginx(), file => ['-p', folder, '-c', file]),
    run('haproxy', ports.haproxy, shown('haproxy').replace(':8081', `:${ports.haproxy}`).replace(':8080', `:${gateway.port}`), file => ['-db', '-f', file]),
    run('impatient haproxy', ports['impatient haproxy'], impatientHaproxy(), file => ['-db', '-f', file], 'haproxy'),
  ]);
});
after(async () => {
  await Promise.all(programs.map(program => program.stop()));
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(name, port, config, args, program = name) {
  const file = join(folder, `${name.replace(' ', '-')}.conf`);
  writeFileSync(file, config);
  const running = new Program(port, program, args(file));
  programs.push(running);
  await running.start();
}

/** The settings of a proxy that operations.md shows. */
function shown(language) {
  const page = fileURLToPath(new URL('../../docs/operations.md', import.meta.url));
  return new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(readFileSync(page, 'utf8'))[1];
}

function nginx() {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(kind => `${kind}_temp_path ${folder}/${kind};`);
  const to = `proxy_pass http://127.0.0.1:${gateway.port}; proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection "";`;
  return `daemon off; pid ${folder}/nginx.pid; error_log stderr crit; worker_processes 1;
    events { worker_connections 256; }
    http {
      access_log off; client_body_buffer_size 8m; ${folders.join(' ')}
      server { listen 127.0.0.1:${ports.nginx}; ${shown('nginx').replace(':8080', `:${gateway.port}`)} }
      server {
        listen 127.0.0.1:${ports.gzip};
        large_client_header_buffers 4 4k;
        gzip on; gzip_types text/event-stream; gzip_proxied any;
        location / { ${to} proxy_buffering on; proxy_ignore_headers X-Accel-Buffering; }
      }
      server { listen 127.0.0.1:${ports['impatient nginx']}; client_max_body_size 300k; location / { ${to} proxy_read_timeout 2s; } }
    }`;
}

function impatientHaproxy() {
  return `global
  tune.bufsize 8192
defaults
  mode http
  timeout client 60s
  timeout connect 2s
  timeout server 2s
frontend mcp
  bind 127.0.0.1:${ports['impatient haproxy']}
  http-request deny deny_status 413 if { req.hdr_val(content-length) gt 500000 }
  default_backend holdfast
backend holdfast
  server a 127.0.0.1:${gateway.port}
`;
}

/** What it finds, by check: `{level, found, advice, figures}`, and its `exit` status. */
function examine(url, { time = '8s', args = [] } = {}) {
  return new Promise((done, fail) => {
    execFile(COMMAND, ['doctor', '--json', '--for', time, ...args, url], { timeout: 170_000 }, (error, stdout, stderr) => {
      if (!stdout) return fail(new Error(`${error}\n${stderr}`));
      const report = JSON.parse(stdout);
      assert.equal(error?.code ?? 0, report.exit);
      done({ exit: report.exit, ...Object.fromEntries(report.findings.map(finding => [finding.check, finding])) });
    });
  });
}

/** The checks that are not ok, with their levels. */
function levels({ exit, ...findings }) {
  return Object.fromEntries(Object.values(findings).filter(({ level }) => level !== 'ok').map(({ check, level }) => [check, level]));
}

function assertAbout(figure, wanted, share = 0.15) {
  assert.ok(Math.abs(figure - wanted) <= wanted * share, `${figure}, and ${wanted} was expected`);
}

/** A busy machine sees what ends a stream late. */
function assertTook(figure, wanted, least = wanted * 0.85) {
  assert.ok(least <= figure && figure <= wanted + 2000, `${figure}, and ${wanted} was expected`);
}

const through = name => `http://127.0.0.1:${ports[name]}/mcp`;

describe('doctor', { concurrency: 3 }, () => {
  doctor('java-sdk 920: what its reporter needed to hear', async t => {
    const server = await startJavaSdk920(source => source);
    t.after(() => server.stop());
    const findings = await examine(await cutAfter(REPORTED, 'fin', server.port, t), { time: '20s' });
    assert.equal(findings.age.level, 'problem');
    assert.match(findings.age.found, /^something on the way cuts every response after \d\.\d s; this server loses the session then$/);
    assertTook(findings.age.figures.ageMillis, REPORTED);
    assert.equal(findings.exit, 1);
  });

  for (const name of ['nginx', 'haproxy']) {
    doctor(`${name} with the settings of operations.md is well`, async () => {
      const findings = await examine(through(name));
      assert.deepEqual(levels(findings), {});
      assert.equal(findings.exit, 0);
      assertAbout(findings.body.figures.passesBytes, 4096 * KB, 0.07);
    });
  }

  doctor('nginx that compresses streams and buffers them', async () => {
    const findings = await examine(through('gzip'));
    assert.deepEqual(levels(findings), { compression: 'problem', headers: 'warning', body: 'warning' });
    assert.match(findings.compression.found, /gzip.* holds their events back/);
    assertAbout(findings.headers.figures.passesBytes, 4 * KB, 0.07);
    assertAbout(findings.body.figures.passesBytes, 1024 * KB, 0.07);
    assert.match(findings.body.found, /413, by nginx/);
    assert.equal(findings.exit, 1);
  });

  for (const [name, body, header] of [['impatient nginx', 300 * KB, 8 * KB], ['impatient haproxy', 500_000, 7 * KB]]) {
    doctor(`${name}: what it cuts and refuses`, async () => {
      const findings = await examine(through(name));
      assert.deepEqual(levels(findings), { body: 'warning', idle: 'warning' });
      assertTook(findings.idle.figures.idleMillis, 2000, 1500);
      assert.match(findings.idle.found, /^streams that are silent for \S+ s are cut; this server keeps the session/);
      assert.match(findings.idle.advice, /Holdfast: --heartbeat (\d00ms|1s)/);
      assertAbout(findings.body.figures.passesBytes, body, 0.07);
      assertAbout(findings.headers.figures.passesBytes, header);
    });
  }

  for (const by of ['fin', 'rst', 'vanish']) {
    doctor(`${by}: a limit on the age of a response`, async t => {
      const findings = await examine(await cutAfter(3000, by, gateway.port, t));
      assert.deepEqual(levels(findings), { age: 'warning' });
      assertTook(findings.age.figures.ageMillis, 3000);
      assert.match(findings.age.advice, /Holdfast: --max-connection-age [2-4]s/);
    });
  }

  doctor('hang: a connection that is dropped without a word', async t => {
    const findings = await examine(await cutAfter(3000, 'hang', gateway.port, t), { time: '8s' });
    assert.deepEqual(levels(findings), { age: 'warning' });
    assert.match(findings.age.found, /^nothing comes any more after [2-5]\.\d s/);
  });

  for (const [name, args, expected] of [
    ['a server with event ids', SLOW, { priming: 'ok', resume: 'ok', takeover: 'warning' }],
    ['a server with event ids', [], { resume: 'ok' }],
    ['a server without event ids', SLOW, { priming: 'warning', resume: 'warning', buffering: 'ok' }],
    ['a server without event ids', [], { resume: 'warning', buffering: 'unknown' }],
    ['server-everything', [], { 'unknown-session': 'problem', delete: 'ok', takeover: 'warning' }],
    ['server-everything over HTTP+SSE', [], { 'unknown-session': 'warning', buffering: 'ok', resume: 'warning' }],
  ]) {
    doctor(`${name}${args.length ? ', whose tool may be called' : ''}`, async t => {
      const upstream = await startUpstream(name);
      t.after(() => upstream.crash());
      const findings = await examine(upstream.url(), { time: '2s', args });
      t.diagnostic(JSON.stringify(levels(findings)));
      for (const [check, level] of Object.entries(expected)) assert.equal(findings[check].level, level, JSON.stringify(findings[check]));
    });
  }
});

/** A proxy that ends each response so long after its request. */
async function cutAfter(ms, by, port, t) {
  const proxy = await CuttingProxy.to(port);
  t.after(() => proxy.close());
  proxy.cutEvery(50, by, exchange => Date.now() - exchange.askedAt >= ms);
  return proxy.url;
}

function doctor(title, body) {
  test(title, { timeout: 240_000 }, body);
}
