// A headless Chromium, and a page in it that speaks HTTP+SSE to a gateway of the page's own origin.
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const PAGE = readFileSync(new URL('sse-page.html', import.meta.url), 'utf8');
const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

/** Starts Chromium, with further flags if any are given; fails where there is none. */
export function startBrowser(...more) {
  return chromium.launch({ executablePath: CHROMIUM, args: [...FLAGS, ...more] });
}

/** Opens the page at the origin of `url` and connects its `client` to the gateway there. */
export async function openPage(browser, url) {
  const address = new URL('/page', url).href;
  const page = await browser.newPage();
  await page.route(address, route => route.fulfill({ contentType: 'text/html', body: PAGE }));
  await page.goto(address);
  await page.unrouteAll(); // from here on nothing stands between the page and the network
  await page.evaluate(() => client.open('/sse'));
  return page;
}

/** What the page's client has on record. */
export function record(page) {
  return page.evaluate(() => {
    const { logs, responses, endpoints, statuses, asked, breaks } = client;
    return { logs, responses, endpoints, statuses, asked, breaks };
  });
}
