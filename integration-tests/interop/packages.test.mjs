// What people install, on a root or a folder that has nothing of it: installed, started, called, upgraded with its session, removed.
// Runs alone, for it installs packages, which takes disk and processor from others.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './gateway.mjs';
import { waitFor } from './wait.mjs';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const built = join(root, 'packaging/target');
const NEXT = '9.0.0';
const NOBODY = 65534;

/** The one file in `packaging/target` with such a name. */
function made(name) {
  const found = readdirSync(built).filter(file => name.test(file));
  assert.equal(found.length, 1, `[${found}]: one is wanted`);
  return join(built, found[0]);
}

const archive = made(/^holdfast-.*\.tar\.gz$/);
const deb = made(/^holdfast_.*\.deb$/);

/** A folder that goes with the test, and what was started in it before that. */
async function bare(t) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-'));
  await chmod(folder, 0o755);
  const started = new Set();
  t.after(async () => {
    for (const process of started) {
      process.kill('SIGKILL');
      await process.over;
    }
    await rm(folder, { recursive: true, force: true });
  });
  await copyFile(fileURLToPath(new URL('shell-server.sh', import.meta.url)), join(folder, 'server.sh'));
  await mkdir(join(folder, 'home'));
  return {
    folder,
    env: { PATH: process.env.PATH, HOME: join(folder, 'home') },
    /** Starts a gateway that has `port`; resolves when it serves. */
    async start(command, args, port, options = {}) {
      const gateway = spawn(command, args, { cwd: folder, env: this.env, stdio: ['ignore', 'pipe', 'pipe'], ...options });
      gateway.said = '';
      for (const stream of [gateway.stdout, gateway.stderr]) stream.on('data', text => (gateway.said += text));
      gateway.over = once(gateway, 'exit');
      started.add(gateway);
      await waitFor('it serves', async () => {
        assert.equal(gateway.exitCode, null, gateway.said);
        return fetch(`http://127.0.0.1:${port}/healthz`).then(response => response.ok, () => false);
      }, 120_000);
      return gateway;
    },
  };
}

/** Ends it as systemd does. */
async function stop(gateway) {
  gateway.kill('SIGTERM');
  const [code, signal] = await gateway.over;
  assert.deepEqual([code, signal], [0, null], gateway.said);
}

async function post(url, message, session) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2025-11-25',
      ...(session && { 'Mcp-Session-Id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal: AbortSignal.timeout(30_000),
  });
  const body = await response.text();
  assert.ok(response.ok, `${response.status} ${body}`);
  return { body, session: response.headers.get('Mcp-Session-Id') };
}

/** The id of a new session. */
async function open(url) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'packages', version: '1' } };
  const { session } = await post(url, { id: 0, method: 'initialize', params });
  await post(url, { method: 'notifications/initialized' }, session);
  return session;
}

async function call(url, session) {
  const { body } = await post(url, { id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } }, session);
  assert.match(body, /"text":"hello"/);
}

/** The process runs on class data of this file. */
const maps = (gateway, file) => readFileSync(`/proc/${gateway.pid}/maps`, 'utf8').includes(file);

describe('packages', { concurrency: 3 }, () => {
  test('checksums and the bill of materials', { timeout: 60_000 }, async () => {
    const { stdout } = await run('sh', ['-c', 'sha256sum -c *.sha256'], { cwd: built });
    assert.equal(stdout.match(/: OK$/gm)?.length, 3, stdout);
    const bill = JSON.parse(await readFile(made(/\.cdx\.json$/), 'utf8'));
    const listed = bill.components.map(each => `${each.name}-${each.version}.jar`);
    const { stdout: files } = await run('tar', ['-tzf', archive]);
    const jars = files.match(/(?<=\/lib\/)[^/]+\.jar$/gm);
    assert.deepEqual(jars.filter(jar => !listed.includes(jar)), []);
    assert.ok(jars.length > 50, files);
  });

  test('the archive', { timeout: 300_000 }, async t => {
    const { folder, env, ...its } = await bare(t);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    const unpacked = join(folder, 'opt');
    await mkdir(unpacked);
    const unpack = async name => {
      await run('tar', ['-xzf', archive, '-C', unpacked]);
      const [fresh] = (await readdir(unpacked)).filter(entry => entry.startsWith('holdfast-'));
      await rename(join(unpacked, fresh), join(unpacked, name));
      await rm(join(unpacked, 'holdfast'), { force: true });
      await symlink(name, join(unpacked, 'holdfast'));
    };
    const start = options => its.start.call({ env }, join(unpacked, 'holdfast/bin/holdfast'),
      ['serve', '--port', String(port), '--store', `rocksdb:${join(folder, 'data')}`], port, options);

    await unpack('now');
    const first = await start();
    const session = await open(url);
    await call(url, session);
    await waitFor('class data are made beside it', () => existsSync(join(unpacked, 'now/cache/stamp')), 120_000);
    await stop(first);

    const again = await start();
    assert.ok(maps(again, 'now/cache/classes.jsa'));
    await call(url, session);
    await stop(again);

    await unpack('next');
    const upgraded = await start();
    await call(url, session);
    await waitFor('class data are made anew', () => existsSync(join(unpacked, 'next/cache/stamp')), 120_000);
    await stop(upgraded);

    await rm(unpacked, { recursive: true });
    assert.deepEqual((await readdir(folder)).sort(), ['data', 'home', 'server.sh']);
    assert.deepEqual(await readdir(join(folder, 'home')), [], 'nothing is left in the home of its user');
  });

  test('the archive of another user: class data are in the home', { timeout: 300_000 }, async t => {
    const { folder, env, ...its } = await bare(t);
    const port = await freePort();
    await run('tar', ['-xzf', archive, '-C', folder]);
    const [name] = (await readdir(folder)).filter(entry => entry.startsWith('holdfast-'));
    const home = join(folder, name);
    const [uid, gid] = process.getuid() === 0 ? [NOBODY, NOBODY] : [process.getuid(), process.getgid()];
    if (process.getuid() === 0) await chown(env.HOME, uid, gid);
    else await chmod(home, 0o555);
    t.after(() => chmod(home, 0o755).catch(() => {}));
    const start = () => its.start.call({ env }, join(home, 'bin/holdfast'), ['serve', '--port', String(port), '--store', 'memory'], port, { uid, gid });

    const first = await start();
    const made = await waitFor('class data are made', () => {
      const cache = join(env.HOME, '.cache/holdfast');
      const found = existsSync(cache) ? readdirSync(cache) : [];
      return found.length && existsSync(join(cache, found[0], 'stamp')) ? join(cache, found[0]) : undefined;
    }, 120_000);
    await stop(first);
    const again = await start();
    assert.ok(maps(again, join(made, 'classes.jsa')));
    await stop(again);
    assert.ok(!existsSync(join(home, 'cache')));
  });

  test('the npm package', { timeout: 300_000 }, async t => {
    const its = await bare(t);
    const { folder, env } = its;
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/mcp`;
    await run('tar', ['-xzf', archive, '-C', folder]);
    const [name] = (await readdir(folder)).filter(entry => entry.startsWith('holdfast-'));
    const manifest = join(folder, name, 'package.json');
    const packed = async version => {
      await writeFile(manifest, JSON.stringify({ ...JSON.parse(await readFile(manifest, 'utf8')), version }));
      await run('npm', ['pack', '--silent', join(folder, name)], { cwd: folder, env });
      return join(folder, `holdfast-${version}.tgz`);
    };
    const npm = (...words) => run('npm', [...words, '--no-audit', '--no-fund', '--offline'], { cwd: folder, env });
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const command = ['serve', '--port', String(port), '--store', `rocksdb:${join(folder, 'data')}`, '--', 'sh', 'server.sh'];

    await npm('install', await packed('1.0.0'));
    const first = await its.start('npx', ['--no-install', 'holdfast', ...command], port, { detached: true });
    const session = await open(url);
    await call(url, session);
    await waitFor('class data are made', () => existsSync(join(folder, 'node_modules/holdfast/cache/stamp')), 120_000);
    process.kill(-first.pid, 'SIGTERM'); // as a terminal does: npx, its shell, and the gateway
    await first.over;
    await waitFor('it is gone', () => fetch(url).then(() => false, () => true));

    await npm('install', await packed(NEXT));
    const next = await its.start(join(folder, 'node_modules/.bin/holdfast'), command, port);
    await call(url, session);
    await stop(next);

    await npm('uninstall', 'holdfast');
    assert.ok(!existsSync(join(folder, 'node_modules/holdfast')));
  });

  test('without Java it says what to install', { timeout: 60_000 }, async t => {
    const { folder } = await bare(t);
    await run('tar', ['-xzf', archive, '-C', folder, '--wildcards', '*/bin/holdfast']);
    const [name] = (await readdir(folder)).filter(entry => entry.startsWith('holdfast-'));
    const bin = join(folder, 'bin');
    await mkdir(bin);
    for (const tool of ['bash', 'dirname', 'env', 'readlink']) await symlink((await run('which', [tool])).stdout.trim(), join(bin, tool));
    await assert.rejects(run(join(folder, name, 'bin/holdfast'), ['serve'], { env: { PATH: bin } }), failure => {
      assert.equal(failure.code, 1);
      assert.equal(failure.stderr, 'holdfast: no java found: install Java 17 or newer, or set JAVA_HOME\n');
      return true;
    });
  });

  /** A word of the superuser's. */
  const sudo = process.getuid() === 0 ? [] : ['sudo'];

  test('the Debian package', { timeout: 300_000 }, async t => {
    const its = await bare(t);
    const { folder } = its;
    const clean = join(folder, 'root');
    const suite = /^VERSION_CODENAME=(.*)$/m.exec(await readFile('/etc/os-release', 'utf8'))[1];
    const superuser = (...words) => run([...sudo, ...words][0], [...sudo, ...words].slice(1), { maxBuffer: 1 << 24 });
    t.after(() => superuser('rm', '-rf', clean));
    await superuser('mmdebstrap', '--quiet', '--variant=apt', '--skip=cleanup/apt/lists', suite, clean);

    // with the processes and devices of the machine, which go with the last process in there
    const inside = words => [
      ...sudo, 'unshare', '--mount', '--propagation', 'private', 'sh', '-c',
      'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && root=$0 && exec chroot "$root" "$@"', clean, 'env', '-i',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive', ...words,
    ];
    const chroot = (...words) => run(inside(words)[0], inside(words).slice(1), { maxBuffer: 1 << 24 });
    const there = path => join(clean, path);
    await superuser('cp', deb, there('tmp/holdfast.deb'));
    await chroot('apt-get', 'install', '-q', '-y', '--no-install-recommends', '/tmp/holdfast.deb');
    assert.ok(existsSync(there('var/cache/holdfast/classes.jsa')), 'class data for everybody');

    // what systemd would do
    const unit = await readFile(there('usr/lib/systemd/system/holdfast.service'), 'utf8');
    await writeFile(join(folder, 'holdfast.service'), unit.replaceAll('/usr/bin/holdfast', there('usr/bin/holdfast')));
    await run('systemd-analyze', ['verify', '--man=no', join(folder, 'holdfast.service')]);
    const told = key => new RegExp(`^${key}=-?(.*)$`, 'm').exec(unit)[1];
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/shell/mcp`;
    await superuser('cp', join(folder, 'server.sh'), there('usr/local/bin/server.sh'));
    const options = words => superuser('sh', '-c', 'echo "HOLDFAST_OPTIONS=\\"$0\\"" >"$1"', words, there(told('EnvironmentFile')));
    await options(`--port ${port}`);
    const start = async () => {
      const words = inside(['setpriv', `--reuid=${told('User')}`, `--regid=${told('Group')}`, '--init-groups', '--no-new-privs', 'env', 'HOME=/var/lib/holdfast',
        'sh', '-c', `cd ${told('WorkingDirectory')} && . ${told('EnvironmentFile')} && exec ${told('ExecStart')}`]);
      return its.start(words[0], words.slice(1), port);
    };

    const first = await start();
    const mode = async () => (await superuser('stat', '-c', '%a', there('etc/holdfast/servers.json'))).stdout.trim();
    assert.equal(await mode(), '640');
    await superuser('sh', '-c', 'echo \'{"mcpServers":{"shell":{"command":"sh","args":["/usr/local/bin/server.sh"]}}}\' >"$0"', there('etc/holdfast/servers.json'));
    await waitFor('the server of the file is there', () => fetch(url).then(response => response.status !== 404), 30_000);
    const session = await open(url);
    await call(url, session);
    assert.ok(maps(first, 'var/cache/holdfast/classes.jsa'));
    await stop(first);
    assert.doesNotMatch(first.said, / has mode /, 'nothing is open to others');

    // as the package before had it
    await superuser('chgrp', 'root', there('etc/holdfast/servers.json'));
    await superuser('chmod', '644', there('etc/holdfast/servers.json'));
    await superuser('sh', '-ec', `dpkg-deb -R "$1" "$2" && sed -i 's/^Version: .*/Version: ${NEXT}/' "$2/DEBIAN/control" && dpkg-deb -Zgzip -z1 -b "$2" "$3"`,
      'sh', deb, there('tmp/next'), there('tmp/next.deb'));
    await chroot('dpkg', '-i', '--force-confold', '/tmp/next.deb');
    assert.equal(await mode(), '640');
    const next = await start();
    await call(url, session);
    await stop(next);
    assert.doesNotMatch(next.said, / has mode /, 'nothing is open to others');

    const redisPort = await freePort();
    const redis = spawn('redis-server', ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' });
    t.after(() => redis.kill());
    await options(`--port ${port} --store redis://127.0.0.1:${redisPort}`);
    const elsewhere = await start();
    await call(url, await open(url));
    await stop(elsewhere);

    await chroot('dpkg', '-r', 'holdfast');
    assert.ok(existsSync(there('var/lib/holdfast/holdfast-data/shell')) && existsSync(there('etc/holdfast/servers.json')), 'sessions and settings stay');
    assert.ok(!existsSync(there('usr/share/holdfast')) && !existsSync(there('var/cache/holdfast')));
    await chroot('dpkg', '-P', 'holdfast');
    for (const path of ['var/lib/holdfast', 'etc/holdfast', 'etc/default/holdfast', 'usr/lib/systemd/system/holdfast.service']) {
      assert.ok(!existsSync(there(path)), `${path} is left`);
    }
    assert.doesNotMatch(await readFile(there('etc/passwd'), 'utf8'), /^holdfast:/m);
  });
});
