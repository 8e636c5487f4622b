// One proxied connection: a client's socket, its socket to the server, and the HTTP exchange now on it.
import net from 'node:net';
import { HttpReader, SseReader } from './http-reader.mjs';

const LAST_CHUNK = '0\r\n\r\n';

export class Link {
  /** The latest exchange: method, lastEventId, request (parsed body), status, events, askedAt, headAt, endedAt, cutBy. */
  exchange;
  closed = () => {};
  #client;
  #server;
  #proxy;
  #muted = false;
  #sse;
  #arrived;

  constructor(client, target, proxy) {
    this.#client = client;
    this.#proxy = proxy;
    this.#server = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
    this.#join(client, this.#server, new HttpReader(this.#requests()), bytes => this.#server.write(bytes));
    this.#join(this.#server, client, new HttpReader(this.#responses()), bytes => this.#fromServer(bytes));
  }

  get #pending() {
    return !this.#muted && this.exchange !== undefined && this.exchange.endedAt === undefined;
  }

  get awaitsHead() {
    return this.#pending && this.exchange.headAt === undefined;
  }

  /** The response head has passed, and the response is not finished. */
  get underWay() {
    return this.#pending && this.exchange.headAt !== undefined;
  }

  cut(by) {
    if (this.exchange) this.exchange.cutBy = by;
    this.#muted = true;
    if (by === 'fin') {
      this.destroy();
    } else if (by === 'rst') {
      this.#client.resetAndDestroy();
      this.#server.resetAndDestroy();
    } else {
      this.#server.pause();
      if (by === 'vanish') this.#client.resetAndDestroy();
      else this.#client.pause();
      return; // the half-open rest goes when the proxy closes
    }
    this.closed();
  }

  destroy() {
    this.#client.destroy();
    this.#server.destroy();
    this.closed();
  }

  #join(from, to, reader, forward) {
    let passed = 0;
    from.on('data', bytes => {
      this.#arrived = { reader, passed, events: [], first: false };
      reader.push(bytes);
      forward(bytes);
      passed += bytes.length;
    });
    from.on('end', () => to.end());
    from.on('error', () => this.#muted || to.resetAndDestroy());
    from.on('close', () => this.#muted || this.closed());
  }

  #fromServer(bytes) {
    if (this.#muted) return;
    const verdict = this.#proxy.verdict(this, this.#arrived);
    if (!verdict) {
      this.#client.write(bytes);
      return;
    }
    this.#muted = true;
    const { before, cut } = verdict;
    this.#client.write(before ? this.#until(before, bytes) : withoutEnd(bytes), cut);
  }

  /** The bytes before an event; where it comes in one piece with others, the piece is broken in the middle. */
  #until(event, bytes) {
    const at = event.apart ? event.start - this.#arrived.passed : bytes.indexOf(`id: ${event.id}\n`);
    return bytes.subarray(0, Math.max(0, at));
  }

  #requests() {
    let body = '';
    return {
      head: ({ line, headers }) => {
        body = '';
        this.exchange = { method: line.split(' ')[0], lastEventId: headers['last-event-id'], events: [], askedAt: Date.now() };
        this.#proxy.exchanges.push(this.exchange);
      },
      body: bytes => (body += bytes),
      end: () => body && (this.exchange.request = JSON.parse(body)),
    };
  }

  #responses() {
    return {
      head: ({ line, headers }) => {
        this.exchange.status = Number(line.split(' ')[1]);
        this.exchange.headAt = Date.now();
        this.#sse = headers['content-type']?.startsWith('text/event-stream') ? new SseReader() : undefined;
      },
      body: bytes => {
        const { start } = this.#arrived.reader;
        this.exchange.bodyStart ??= start;
        this.#arrived.first ||= this.exchange.bodyStart === start;
        const events = (this.#sse?.push(bytes) ?? []).map(event => ({ ...event, start, apart: start > this.exchange.bodyStart }));
        this.exchange.events.push(...events);
        this.#arrived.events.push(...events);
      },
      end: () => (this.exchange.endedAt = Date.now()),
    };
  }
}

function withoutEnd(bytes) {
  return bytes.toString('latin1').endsWith(LAST_CHUNK) ? bytes.subarray(0, -LAST_CHUNK.length) : bytes;
}
