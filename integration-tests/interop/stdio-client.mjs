// The TypeScript SDK's stdio client with `./holdfast connect` as its server, as a desktop application runs it.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { COMMAND } from './gateway.mjs';

/** Longer than any test stops a server or a bridge. */
const CALL_TIMEOUT_MS = 180_000;

/** What a client is told of a call that the bridge must not send again. */
export const UNKNOWN = /nobody knows whether the server executed the request/;

/** How often the bridge has introduced itself through this proxy. */
export const initializes = proxy => proxy.exchanges.filter(each => each.request?.method === 'initialize').length;

/** A client on stdio, with the record that the checks of a series want. */
export class StdioClient {
  logs = [];
  received = [];
  errors = [];
  requests = [];
  /** What it sends; what the bridge makes of it is counted where it arrives. */
  initializes = 1;
  /** Of what came in one piece the SDK takes a response before the notification in front of it: so each has a turn of its own. */
  #turn = Promise.resolve();
  #client = new Client({ name: 'holdfast-interop', version: '1.0.0' }, { capabilities: {} });

  static async to(t, url, flags = []) {
    const client = new StdioClient();
    client.transport = new StdioClientTransport({ command: COMMAND, args: ['connect', url, ...flags], env: process.env, stderr: 'ignore' });
    client.#client.onerror = error => client.errors.push(error);
    client.#client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => client.logs.push(params.data));
    await client.#client.connect(client.transport, { timeout: 120_000 });
    const deliver = client.transport.onmessage.bind(client.transport);
    client.transport.onmessage = message => {
      client.received.push(message);
      client.#turn = client.#turn.then(() => new Promise(resolve => setImmediate(resolve))).then(() => deliver(message));
    };
    t.after(() => client.close());
    return client;
  }

  async call(name, args = {}, { onprogress = () => {} } = {}) {
    const progress = [];
    const seen = ({ progress: value }) => {
      progress.push(value);
      onprogress(value);
    };
    const result = await this.#client.callTool({ name, arguments: args }, undefined, { onprogress: seen, timeout: CALL_TIMEOUT_MS });
    return { text: result.content?.map(part => part.text).join('\n'), progress };
  }

  /** The names of the server's tools. */
  async tools() {
    return (await this.#client.listTools()).tools.map(tool => tool.name);
  }

  close() {
    return this.#client.close();
  }
}
