// Real clients behind one face, each with a record of what reached its user.
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as SseTransportV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, SSEClientTransport as SseTransportV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { SseReader } from './http-reader.mjs';
import { waitFor } from './wait.mjs';

const INFO = { name: 'holdfast-interop', version: '1.0.0' };

const STREAMABLE = {
  'v1': capabilities => v1(new ClientV1(INFO, { capabilities })),
  'v2-legacy': capabilities => v2(new ClientV2(INFO, { capabilities, versionNegotiation: { mode: 'legacy' } })),
};

// It speaks the newest revision that a server has, which may be one without sessions.
const NEWEST = {
  'v2-auto': capabilities => v2(new ClientV2(INFO, { capabilities, versionNegotiation: { mode: 'auto' } })),
};

const HTTP_SSE = {
  'v1-sse': capabilities => overSse(SseTransportV1, STREAMABLE['v1'](capabilities)),
  'v2-sse': capabilities => overSse(SseTransportV2, STREAMABLE['v2-legacy'](capabilities)),
};

// SSEClientTransport replaces all headers that its EventSource asks for, Last-Event-ID among them (typescript-sdk 339, 2475):
// alone it can only come back as a stranger. These put it back, in the fetch that a user may give to the transport.
const HTTP_SSE_RESUMING = {
  'v1-sse-resuming': capabilities => ({ ...HTTP_SSE['v1-sse'](capabilities), fetch: withLastEventId() }),
  'v2-sse-resuming': capabilities => ({ ...HTTP_SSE['v2-sse'](capabilities), fetch: withLastEventId() }),
};

const FLAVOURS = { ...STREAMABLE, ...NEWEST, ...HTTP_SSE, ...HTTP_SSE_RESUMING };

/** Those with sessions. */
export const CLIENTS = Object.keys(STREAMABLE);
export const SSE_CLIENTS = Object.keys(HTTP_SSE);
export const RESUMING_SSE_CLIENTS = Object.keys(HTTP_SSE_RESUMING);

/**
 * Connects the client and waits until its listening GET is answered, unless `listens` is false.
 * With `elicits` it offers elicitation, and its `answer` is asked.
 */
export async function connect(flavour, url, { elicits = false, listens = true } = {}) {
  const client = new RecordedClient(FLAVOURS[flavour](elicits ? { elicitation: {} } : {}), elicits);
  await client.open(url);
  if (listens) await waitFor(`${flavour} listens`, () => client.requests.some(each => each.method === 'GET' && each.status === 200));
  return client;
}

/** The status of a POST to the endpoint of an HTTP+SSE session, by somebody who has nothing but the address. */
export async function postTo(endpoint) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'late', method: 'ping' });
  const response = await fetch(endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await response.arrayBuffer();
  return response.status;
}

class RecordedClient {
  /** Every HTTP request: `{url, method, lastEventId, message, rpc, status, headAt}`, and `failure` where no answer has begun. */
  requests = [];
  /** `data` of every `notifications/message` that reached the user, in order. */
  logs = [];
  /** Every JSON-RPC message that the transport handed up, in order. */
  received = [];
  errors = [];
  /** Answers an elicitation, given its params. */
  answer = async () => ({ action: 'cancel' });
  #sdk;

  constructor(sdk, elicits) {
    this.#sdk = sdk;
    sdk.onLog(params => this.logs.push(params.data));
    if (elicits) sdk.onElicit(params => this.answer(params));
    sdk.client.onerror = error => this.errors.push(error);
  }

  async open(url) {
    const { fetch: ownFetch = (input, init, send) => send(input, init) } = this.#sdk;
    const send = (input, init) => this.#fetch(input, init);
    this.transport = this.#sdk.transport(new URL(url), { fetch: (input, init) => ownFetch(input, init, send) });
    await this.#sdk.client.connect(this.transport, { timeout: 120_000 });
    const deliver = this.transport.onmessage.bind(this.transport);
    this.transport.onmessage = (message, extra) => {
      this.received.push(message);
      this.#sdk.turn(() => deliver(message, extra));
    };
  }

  get sessionId() {
    return this.transport.sessionId;
  }

  /** Where an HTTP+SSE client posts to: every address that it ever used. */
  get endpoints() {
    return [...new Set(this.requests.filter(each => each.method === 'POST').map(each => each.url))];
  }

  get initializes() {
    return this.requests.filter(each => each.rpc === 'initialize').length;
  }

  get resumes() {
    return this.requests.filter(each => each.lastEventId !== undefined).length;
  }

  /** Calls a tool; `progress` of the answer holds the progress values in order of arrival, which `onprogress` sees as they come. */
  async call(name, args = {}, { onprogress = () => {}, timeout = 120_000 } = {}) {
    const progress = [];
    const seen = ({ progress: value }) => {
      progress.push(value);
      onprogress(value);
    };
    const result = await this.#sdk.call({ name, arguments: args }, { onprogress: seen, timeout });
    return { text: result.content?.map(part => part.text).join('\n'), progress, result };
  }

  /** Asks which tools there are, and what they promise. */
  async list() {
    return (await this.#sdk.client.listTools()).tools;
  }

  /** Ends the session of a Streamable HTTP client on the server, then the client. */
  async end() {
    await this.transport.terminateSession().catch(failure => {
      throw new Error(`DELETE: ${failure.message}: ${failure.cause}`, { cause: failure });
    });
    await this.close();
  }

  async close() {
    await this.#sdk.client.close();
  }

  async #fetch(input, init = {}) {
    const headers = new Headers(init.headers);
    const request = { url: String(input), method: init.method ?? 'GET', lastEventId: headers.get('last-event-id') ?? undefined };
    if (init.body) request.message = JSON.parse(init.body);
    request.rpc = request.message?.method;
    this.requests.push(request);
    const response = await fetch(input, init).catch(failure => {
      request.failure = failure;
      throw failure;
    });
    request.status = response.status;
    request.headAt = Date.now();
    return response;
  }
}

function v1(client) {
  return {
    client,
    turn: deliver => deliver(),
    transport: (url, options) => new TransportV1(url, options),
    onLog: handler => client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => handler(params)),
    onElicit: handler => client.setRequestHandler(ElicitRequestSchema, ({ params }) => handler(params)),
    call: (params, options) => client.callTool(params, undefined, options),
  };
}

function v2(client) {
  return {
    client,
    turn: deliver => deliver(),
    transport: (url, options) => new TransportV2(url, options),
    onLog: handler => client.setNotificationHandler('notifications/message', ({ params }) => handler(params)),
    onElicit: handler => client.setRequestHandler('elicitation/create', ({ params }) => handler(params)),
    call: (params, options) => client.callTool(params, options),
  };
}

/**
 * The same client by HTTP+SSE, on the same gateway. Its transport hands up all that came in one piece at once, and the client
 * takes a response a moment earlier than a notification before it: it would drop the last progress. So each gets its own turn.
 */
function overSse(Transport, sdk) {
  let last = Promise.resolve();
  const turn = deliver => (last = last.then(() => new Promise(resolve => setImmediate(resolve))).then(deliver));
  return { ...sdk, turn, transport: (url, options) => new Transport(new URL('/sse', url), options) };
}

/** Puts the id of the last event that was read into the header of every later GET, as an EventSource does. */
function withLastEventId() {
  let lastEventId;
  return async (input, init, send) => {
    if (init?.method === 'POST') return send(input, init);
    const headers = new Headers(init?.headers);
    if (lastEventId) headers.set('last-event-id', lastEventId);
    const response = await send(input, { ...init, headers });
    return new Response(tapped(response.body, id => (lastEventId = id)), response);
  };
}

/** The same bytes, none of them taken before it is asked for: what a cut keeps from the reader must not count as read. */
function tapped(body, onId) {
  const reader = body.getReader();
  const events = new SseReader();
  const pull = async controller => {
    const { done, value } = await reader.read();
    if (done) {
      controller.close();
      return;
    }
    events.push(Buffer.from(value)).filter(event => event.id).forEach(event => onId(event.id));
    controller.enqueue(value);
  };
  return new ReadableStream({ pull, cancel: reason => reader.cancel(reason) }, { highWaterMark: 0 });
}
