// Runs one scenario for every client and every kind of cut, against one gateway, each with a proxy and a session of its own.
import { after, before, describe, test } from 'node:test';
import { CLIENTS, connect } from './clients.mjs';
import { CUTS, CuttingProxy } from './cutting-proxy.mjs';
import { startGateway } from './gateway.mjs';

/**
 * `scenario({gateway, proxy, client, by, t})` is the body of each test; `client` is connected through `proxy` and listens.
 * `gateway` and `client` in the options go to `startGateway` and `connect`; `clients` and `cuts` narrow the matrix down.
 */
export function forEachClientAndCut(title, options, scenario) {
  const cuts = options.cuts ?? CUTS;
  const clients = options.clients ?? CLIENTS;
  describe(title, { concurrency: 1 }, () => {
    let gateway;
    before(async () => (gateway = await startGateway(options.gateway)));
    after(() => gateway?.stop());

    describe('cuts', { concurrency: cuts.length * clients.length }, () => {
      for (const [by, flavour] of cuts.flatMap(by => clients.map(flavour => [by, flavour]))) {
        test(`${title}: ${flavour}, ${by}`, { timeout: options.timeout ?? 120_000 }, async t => {
          const proxy = await CuttingProxy.to(gateway.port);
          t.after(() => proxy.close());
          const client = await connect(flavour, proxy.url, options.client);
          t.after(() => client.close());
          t.after(() => t.diagnostic(`${flavour}, ${by}: ${JSON.stringify(proxy.counts)}, ${client.resumes} resumes`));
          await scenario({ gateway, proxy, client, by, t });
        });
      }
    });

    options.finally?.();
  });
}
