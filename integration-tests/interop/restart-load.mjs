// What a client does all day, noted call by call, and what must be true of it though the server has died under it.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { upTo } from './series.mjs';
import { waitFor } from './wait.mjs';

const WORKERS = 4;
const NOTES = 3;
const REST_MS = 150;
/** As long as a client may take to be back, and more. */
const BACK_MS = 90_000;
/** What their tools promise to be harmless when it is done twice. */
const HARMLESS = ['slow_read', 'echo'];
/** What a balancer answers for a node that says nothing, or dies, before the head of its answer. */
const CUT_BY_BALANCER = [502, 504];
const INTERRUPTED = { code: -32603, message: /whether it had any effect is not known/ };

let count = 0;

/** Arguments that no other slow call has, so that its executions can be told from those of others. */
const unlike = () => ({ ms: 200 + (++count % 1500), steps: 2 + Math.floor(count / 1500) });

const ACTIONS = {
  slow: unlike,
  slow_read: unlike,
  notify: () => ({ count: NOTES, tag: `note-${++count}` }),
  echo: () => ({ text: `echo-${++count}` }),
};

export class Load {
  /**
   * Every call: `{name, args, progress, listedAt, outcome}`, where the outcome is one of
   * `finished` (with its `text`), `failed` (with its `error`), `refused` (it never reached a session),
   * `cut` (its POST broke before the head of an answer: nobody can tell).
   */
  calls = [];
  #client;
  #busy = true;
  #workers;

  /** Begins to call the tools named, a few at a time. */
  constructor(client, tools) {
    this.#client = client;
    this.#workers = upTo(WORKERS).map(() => this.#work(tools));
  }

  /** Makes no more calls, and waits for those that run and for every notification. */
  async end() {
    this.#busy = false;
    await Promise.all(this.#workers);
    let last;
    const finished = async () => {
      last = { name: 'notify', args: { count: 1, tag: `last-${++count}` }, progress: [] };
      this.calls.push(last);
      await this.#make(last);
      return last.outcome === 'finished';
    };
    await waitFor('a last call is answered', finished, BACK_MS);
    const { logs } = this.#client;
    await waitFor('the last notification', () => logs.includes(`${last.args.tag}#1`), BACK_MS);
    const told = this.#with('notify', 'finished').flatMap(({ args }) => notesOf(args));
    await waitFor('every notification', () => told.every(note => logs.includes(note))).catch(() => {}); // told apart below
  }

  async #work(tools) {
    while (this.#busy) {
      const name = tools[Math.floor(Math.random() * tools.length)];
      const call = { name, args: ACTIONS[name](), progress: [] };
      if (HARMLESS.includes(name)) await this.#list(call); // a new server does not know yet what it may do twice
      this.calls.push(call);
      await this.#make(call);
      await delay(call.outcome === 'finished' ? Math.random() * REST_MS : REST_MS);
    }
  }

  async #list(call) {
    const asked = Date.now();
    await this.#client.list().then(() => (call.listedAt = asked), () => {});
  }

  async #make(call) {
    try {
      const { text } = await this.#client.call(call.name, call.args, { onprogress: value => call.progress.push(value) });
      Object.assign(call, { outcome: 'finished', text });
    } catch (error) {
      Object.assign(call, { outcome: this.#fate(call), error });
    }
  }

  #request({ args }) {
    const own = JSON.stringify(args);
    return this.#client.requests.findLast(each => JSON.stringify(each.message?.params?.arguments) === own);
  }

  /** Of a call without a result, by how far its POST came. */
  #fate(call) {
    const { status, failure } = this.#request(call);
    if (status === 503 || failure?.cause?.code === 'ECONNREFUSED') return 'refused';
    return status && !CUT_BY_BALANCER.includes(status) ? 'failed' : 'cut';
  }

  #with(name, outcome) {
    return this.calls.filter(call => call.name === name && call.outcome === outcome);
  }

  /** The harmless calls that were taken by a server that had told this client so: none of `starts`, the times, lies between. */
  promised(starts) {
    return this.calls.filter(call => {
      const { headAt } = this.#request(call) ?? {};
      return call.listedAt && headAt && !starts.some(at => call.listedAt <= at && at <= headAt);
    });
  }

  /** How many calls had which outcome, and how many were executed again. */
  counts(executions) {
    const counts = { finished: 0, failed: 0, refused: 0, cut: 0, resumes: this.#client.resumes };
    this.calls.forEach(({ outcome }) => counts[outcome]++);
    counts.again = this.calls.filter(({ args }) => executions(args) > 1).length;
    return counts;
  }

  /** One session, nothing lost, nothing twice; `executions` tells how often a slow call was begun. */
  assertHeld(executions, { inOrder }) {
    const { initializes, requests, received, errors } = this.#client;
    const wrong = requests.filter(({ status, rpc }) => status >= 400 && ![503, ...CUT_BY_BALANCER].includes(status) && rpc !== 'server/discover');
    const told = this.calls.flatMap(({ outcome, error }) => (outcome === 'failed' && error.code !== INTERRUPTED.code ? [String(error)] : []));
    assert.deepEqual(wrong.map(({ method, rpc, status }) => ({ method, rpc, status })), [], `requests that were refused: ${told}`);
    assert.equal(initializes, 1, 'initialize requests');
    assert.deepEqual(errors.map(String).filter(text => /unknown/i.test(text)), [], 'what the client could not place');
    const answered = received.filter(each => each.method === undefined).map(each => each.id);
    assert.equal(new Set(answered).size, answered.length, 'responses handed up twice');
    this.calls.forEach(call => assertEnd(call));
    this.#assertExecutions(executions);
    this.#assertNotes(inOrder);
  }

  #assertExecutions(executions) {
    for (const { name, args, outcome } of this.calls.filter(call => call.name.startsWith('slow'))) {
      const times = executions(args);
      const what = `executions of a ${outcome} ${name}`;
      if (outcome === 'refused') assert.equal(times, 0, what);
      if (outcome === 'finished') assert.ok(times >= 1, `${times} ${what}`);
      if (name === 'slow') assert.ok(times <= 1, `${times} ${what}`);
    }
  }

  /** All notifications of a call that was answered; of any other call the first few, or none. */
  #assertNotes(inOrder) {
    const { logs } = this.#client;
    assert.equal(new Set(logs).size, logs.length, 'notifications handed up twice');
    for (const { args, outcome } of this.calls.filter(call => call.name === 'notify')) {
      const got = logs.filter(data => data.startsWith(`${args.tag}#`));
      const all = notesOf(args);
      if (!inOrder) got.sort();
      assert.deepEqual(got, outcome === 'finished' ? all : all.slice(0, got.length), `notifications of a ${outcome} call`);
    }
  }
}

function notesOf({ count: notes, tag }) {
  return upTo(notes).map(i => `${tag}#${i}`);
}

/** A call whose answer has begun ends with its result, or with the error that says that nobody can know. */
function assertEnd({ name, args, progress, outcome, text, error }) {
  const what = `${outcome} ${name} ${JSON.stringify(args)}`;
  if (outcome === 'failed') {
    assert.equal(error.code, INTERRUPTED.code, `${what}: ${error}`);
    assert.match(error.message, INTERRUPTED.message, what);
  }
  if (outcome === 'finished' && name !== 'notify') assert.match(text, new RegExp(args.text ?? `${args.ms} ms in ${args.steps} steps`), what);
  const steps = outcome === 'finished' && args.steps ? args.steps : progress.length;
  assert.deepEqual(progress, upTo(steps), `progress of ${what}`);
}
