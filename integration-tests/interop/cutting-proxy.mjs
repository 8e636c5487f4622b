// A TCP proxy on loopback that knows just enough HTTP to cut connections at chosen moments, and counts what it did.
import net from 'node:net';
import { once } from 'node:events';
import { freePort } from './gateway.mjs';
import { Link } from './link.mjs';
import { waitFor } from './wait.mjs';

/**
 * The kinds of cut. `rst`: both sides see a reset. `fin`: both sides see an orderly close in the middle of a response.
 * `vanish`: the client sees a reset, the server sees nothing at all (a half-open peer that has stopped reading).
 * `hang`: neither side sees anything, and nothing passes any more.
 */
export const CUTS = ['rst', 'fin'];

export class CuttingProxy {
  /** `spared` are the cuts not made: the response head had not passed, and no server can save such a call. */
  counts = { connections: 0, cuts: 0, spared: 0 };
  /** Every HTTP exchange that came through, in order of their requests. */
  exchanges = [];
  /** True while new connections are accepted. */
  serving = false;
  #links = new Set();
  #rules = [];
  #timers = new Set();
  #serviceEnds = Infinity;
  #target;
  #server;
  #port;

  static async to(target) {
    const proxy = new CuttingProxy();
    proxy.#target = target;
    proxy.#port = await freePort(); // nobody else is given it while connections are refused
    await proxy.#listen();
    return proxy;
  }

  get port() {
    return this.#port;
  }

  get url() {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Cuts, every `ms`, each connection whose response head has passed and whose response is not finished, where `matches(exchange)`. */
  cutEvery(ms, by, matches = () => true) {
    this.#every(ms, () => this.cutNow(matches, by));
  }

  /** Cuts such connections once, now, where `matches(exchange)`; says how many. */
  cutNow(matches, by) {
    const found = [...this.#links].filter(link => link.exchange && matches(link.exchange));
    const ready = found.filter(link => link.underWay);
    this.counts.spared += found.filter(link => link.awaitsHead).length;
    ready.forEach(link => this.#cut(link, by));
    return ready.length;
  }

  /** Cuts such a connection as soon as there is one. */
  async cutSoon(matches, by) {
    await this.underWay(matches);
    this.cutNow(matches, by);
  }

  /** Resolves when there is such a connection. */
  async underWay(matches) {
    await waitFor('a response that is under way', () => [...this.#links].some(link => link.underWay && matches(link.exchange)));
  }

  /**
   * Cuts the next `times` exchanges that match, each at the first event for which `sees(event)`, or at the first
   * bytes of its body when `sees` is absent. With `swallow` that event never reaches the client; without it the client
   * has it, and nothing after it, not even the end of the stream. The first event in one piece with the head is not swallowed.
   */
  cutAt({ matches, sees, swallow = false, times = 1, by }) {
    const rule = { matches, sees, swallow, by, left: times, cuts: 0 };
    this.#rules.push(rule);
    return { done: () => rule.cuts === times };
  }

  /** Over and over: `serviceMs` of service, then every connection is cut and new ones are refused for `refuseMs`. */
  outages({ serviceMs, refuseMs, by }) {
    this.#serviceEnds = Date.now() + serviceMs;
    this.#every(serviceMs + refuseMs, () => this.#outage(serviceMs, refuseMs, by), serviceMs);
  }

  /** True when connections are accepted and will be for at least `ms` more. */
  serves(ms) {
    return this.serving && this.#serviceEnds - Date.now() >= ms;
  }

  /** No further cut, rule or outage; what is connected stays so. */
  async calm() {
    this.#timers.forEach(stop => stop());
    this.#timers.clear();
    this.#rules = [];
    this.#serviceEnds = Infinity;
    if (!this.serving) await this.#listen();
  }

  async close() {
    await this.calm();
    this.#links.forEach(link => link.destroy());
    this.#server.close();
  }

  /**
   * Called by a link with the events that the server has just sent, before they are passed on. Answers undefined to
   * pass all on; else all is passed, or what is `before` an event, but not the end of the stream, and then comes `cut()`.
   */
  verdict(link, { events, first }) {
    const rule = this.#rules.find(each => each.left > 0 && each.matches(link.exchange) && (each.sees ? events.some(each.sees) : first));
    if (!rule) return undefined;
    const event = events.find(rule.sees ?? (() => true));
    if (rule.swallow && !event.apart && event === events[0]) {
      this.counts.spared++;
      return undefined;
    }
    rule.left--;
    const cut = () => {
      this.#cut(link, rule.by);
      rule.cuts++;
    };
    return { before: rule.swallow ? event : undefined, cut };
  }

  #cut(link, by) {
    if (!this.#links.has(link)) return;
    this.counts.cuts++;
    link.cut(by);
  }

  async #outage(serviceMs, refuseMs, by) {
    const ends = Date.now() + refuseMs + serviceMs; // the next one is due then, however late this one ends
    this.serving = false;
    this.#server.close();
    this.cutNow(() => true, by);
    [...this.#links].filter(link => link.exchange?.endedAt !== undefined).forEach(link => link.destroy());
    const reopen = setTimeout(() => {
      this.#serviceEnds = ends;
      this.#listen();
    }, refuseMs);
    this.#timers.add(() => clearTimeout(reopen));
  }

  #every(ms, action, firstMs = ms) {
    let timer = setTimeout(function again() {
      timer = setTimeout(again, ms);
      action();
    }, firstMs);
    this.#timers.add(() => clearTimeout(timer));
  }

  async #listen() {
    this.#server = net.createServer({ noDelay: true }, client => this.#accept(client));
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.serving = true;
  }

  #accept(client) {
    this.counts.connections++;
    const link = new Link(client, this.#target, this);
    this.#links.add(link);
    link.closed = () => this.#links.delete(link);
  }
}
