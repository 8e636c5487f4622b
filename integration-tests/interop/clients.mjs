// Three real clients behind one face, each with a record of what reached its user.
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { waitFor } from './wait.mjs';

const INFO = { name: 'holdfast-interop', version: '1.0.0' };

const FLAVOURS = {
  'v1': capabilities => v1(new ClientV1(INFO, { capabilities })),
  'v2-legacy': capabilities => v2(new ClientV2(INFO, { capabilities, versionNegotiation: { mode: 'legacy' } })),
  'v2-auto': capabilities => v2(new ClientV2(INFO, { capabilities, versionNegotiation: { mode: 'auto' } })),
};

export const CLIENTS = Object.keys(FLAVOURS);

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

class RecordedClient {
  /** Every HTTP request: `{method, lastEventId, rpc, status}`. */
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
    this.transport = this.#sdk.transport(new URL(url), { fetch: (input, init) => this.#fetch(input, init) });
    await this.#sdk.client.connect(this.transport, { timeout: 30_000 });
    const deliver = this.transport.onmessage;
    this.transport.onmessage = (message, extra) => {
      this.received.push(message);
      deliver.call(this.transport, message, extra);
    };
  }

  get sessionId() {
    return this.transport.sessionId;
  }

  get initializes() {
    return this.requests.filter(each => each.rpc === 'initialize').length;
  }

  get resumes() {
    return this.requests.filter(each => each.lastEventId !== undefined).length;
  }

  /** Calls a tool; `progress` of the answer holds the progress values in order of arrival, which `onprogress` sees as they come. */
  async call(name, args = {}, { onprogress = () => {}, timeout = 30_000 } = {}) {
    const progress = [];
    const seen = ({ progress: value }) => {
      progress.push(value);
      onprogress(value);
    };
    const result = await this.#sdk.call({ name, arguments: args }, { onprogress: seen, timeout });
    return { text: result.content?.map(part => part.text).join('\n'), progress, result };
  }

  /** Ends the session on the server, then the client. */
  async end() {
    await this.transport.terminateSession();
    await this.close();
  }

  async close() {
    await this.#sdk.client.close();
  }

  async #fetch(input, init = {}) {
    const headers = new Headers(init.headers);
    const request = { method: init.method ?? 'GET', lastEventId: headers.get('last-event-id') ?? undefined };
    if (init.body) request.rpc = JSON.parse(init.body).method;
    this.requests.push(request);
    const response = await fetch(input, init);
    request.status = response.status;
    return response;
  }
}

function v1(client) {
  return {
    client,
    transport: (url, options) => new TransportV1(url, options),
    onLog: handler => client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => handler(params)),
    onElicit: handler => client.setRequestHandler(ElicitRequestSchema, ({ params }) => handler(params)),
    call: (params, options) => client.callTool(params, undefined, options),
  };
}

function v2(client) {
  return {
    client,
    transport: (url, options) => new TransportV2(url, options),
    onLog: handler => client.setNotificationHandler('notifications/message', ({ params }) => handler(params)),
    onElicit: handler => client.setRequestHandler('elicitation/create', ({ params }) => handler(params)),
    call: (params, options) => client.callTool(params, options),
  };
}
