// A person reads the documentation of the gateway in a browser. What it looks like is kept as docs.png beside the lane's log.
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { url } from '../lib/gateway.mjs';

const requests = [];
const complaints = [];
let browser;
let page;

before(async () => {
  browser = await chromium.launchPersistentContext(await mkdtemp(join(process.env.LANE_DIR, 'browser-')), {
    executablePath: process.env.CHROMIUM,
    // A browser's own chatter with its vendor is not what is tested here.
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
    viewport: { width: 1280, height: 1600 },
  });
  page = await browser.newPage();
  page.on('request', (request) => requests.push(request.url()));
  page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  // Violations of a content security policy are reported here too.
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  const response = await page.goto(`${url}/docs`, { waitUntil: 'networkidle' });
  assert.equal(response.status(), 200);
});

after(async () => {
  await browser?.close();
});

test('every page of the contents has a heading', async () => {
  const links = await page.getByRole('navigation', { name: 'Documentation' }).getByRole('link').evaluateAll((all) => all.map(({ href }) => href));
  assert.ok(links.length > 10, links.join(' '));
  for (const link of links) {
    await page.goto(link, { waitUntil: 'networkidle' });
    await page.locator('h1').first().waitFor();
  }
});

test('the search finds a section', async () => {
  await page.goto(`${url}/docs/concepts`, { waitUntil: 'networkidle' });
  await page.getByLabel('Search').fill('rehearsal funnel');
  await page.getByLabel('Search').press('Enter');
  await page.locator('main a[href^="/docs/test-an-endpoint#"]').first().waitFor();
});

test('looks as it should', async () => {
  const picture = await page.screenshot({ path: join(process.env.LANE_DIR, 'docs.png') });
  assert.ok(picture.length > 10_000, 'the page is not blank');
});

test('the old address of the reference leads to the reference', async () => {
  await page.goto(`${url}/docs/rest`, { waitUntil: 'networkidle' });
  assert.equal(page.url(), `${url}/docs/api`);
});

test('needs nothing but the gateway', () => {
  const foreign = requests.filter((request) => !/^(data|blob):/.test(request) && new URL(request).origin !== url);
  assert.deepEqual(foreign, []);
  assert.ok(requests.length > 10, 'it has opened pages');
});

test('the browser has no complaint', () => {
  assert.deepEqual(complaints, []);
});
