// Just enough HTTP/1.1 and SSE to follow a connection byte by byte: where a message's head ends, what its body says, when it is over.

const EMPTY = Buffer.alloc(0);
const CRLF = '\r\n';

/** Follows one direction of a connection. Calls `head({line, headers})`, `body(bytes)` and `end()` of its listener, in order. */
export class HttpReader {
  #listener;
  #rest = EMPTY;
  #step = this.#head;
  #left = 0;
  #taken = 0;
  /** Where the head or chunk that is being reported begins, in bytes from the start of the connection. */
  start = 0;

  constructor(listener) {
    this.#listener = listener;
  }

  push(bytes) {
    this.#rest = this.#rest.length ? Buffer.concat([this.#rest, bytes]) : bytes;
    while (this.#step());
  }

  #take(length) {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    this.#taken += length;
    return taken;
  }

  #line() {
    const at = this.#rest.indexOf(CRLF);
    if (at < 0) return undefined;
    const line = this.#take(at).toString('latin1');
    this.#take(2);
    return line;
  }

  #head() {
    this.start = this.#taken;
    const at = this.#rest.indexOf(CRLF + CRLF);
    if (at < 0) return false;
    const [line, ...fields] = this.#take(at).toString('latin1').split(CRLF);
    this.#take(4);
    const headers = Object.fromEntries(fields.map(field => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }));
    this.#listener.head({ line, headers });
    this.#afterHead(line, headers);
    return true;
  }

  #afterHead(line, headers) {
    const response = line.startsWith('HTTP/');
    const bodiless = response && /^\S+ (1\d\d|204|304)/.test(line);
    if (!bodiless && /chunked/i.test(headers['transfer-encoding'] ?? '')) {
      this.#step = this.#chunkSize;
    } else if (!bodiless && headers['content-length'] === undefined && response) {
      this.#left = Infinity; // until the connection closes
      this.#step = this.#sized;
    } else {
      this.#left = bodiless ? 0 : Number(headers['content-length'] ?? 0);
      this.#step = this.#sized;
    }
  }

  #sized() {
    if (this.#left > 0 && !this.#part()) return false;
    return this.#left > 0 ? false : this.#over();
  }

  #chunkSize() {
    this.start = this.#taken;
    const line = this.#line();
    if (line === undefined) return false;
    this.#left = parseInt(line, 16);
    this.#step = this.#left === 0 ? this.#trailer : this.#chunk;
    return true;
  }

  #chunk() {
    if (this.#left > 0 && !this.#part()) return false;
    if (this.#left > 0 || this.#rest.length < 2) return false;
    this.#take(2);
    this.#step = this.#chunkSize;
    return true;
  }

  #trailer() {
    const line = this.#line();
    if (line === undefined) return false;
    return line === '' ? this.#over() : true;
  }

  #part() {
    if (!this.#rest.length) return false;
    const part = this.#take(Math.min(this.#left, this.#rest.length));
    this.#left -= part.length;
    this.#listener.body(part);
    return true;
  }

  #over() {
    this.#step = this.#head;
    this.#listener.end();
    return true;
  }
}

/**
 * Splits an SSE body into events `{id, type, message, data}`; `message` is the parsed JSON-RPC message, absent when the event
 * carries none, and `data` what an event with a type of its own carries instead.
 */
export class SseReader {
  #text = '';

  push(bytes) {
    this.#text += bytes.toString('utf8').replaceAll('\r', '');
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop();
    return blocks.map(parseEvent);
  }
}

function parseEvent(block) {
  const event = {};
  let data = '';
  for (const line of block.split('\n')) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === 'id') event.id = value;
    if (field === 'event') event.type = value;
    if (field === 'data') data += value;
  }
  if (data && (event.type ?? 'message') === 'message') event.message = JSON.parse(data);
  else if (data) event.data = data;
  return event;
}
