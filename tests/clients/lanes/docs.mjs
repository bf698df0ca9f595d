// A person opens /docs/rest in a browser. What it looks like is kept as docs.png beside the lane's log.
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
  const response = await page.goto(`${url}/docs/rest`, { waitUntil: 'networkidle' });
  assert.equal(response.status(), 200);
});

after(async () => {
  await browser?.close();
});

for (const path of ['/catalog/search', '/catalog/lookup', '/catalog/product']) {
  test(`shows POST ${path}`, async () => {
    await page.locator(`[data-path="${path}"]`).waitFor();
    // Zero-width spaces let a long path wrap; they are no part of it.
    const shown = await page.evaluate(() => document.body.innerText.replaceAll('\u200b', ''));
    assert.ok(shown.includes(path), shown);
  });
}

test('looks as it should', async () => {
  const picture = await page.screenshot({ path: join(process.env.LANE_DIR, 'docs.png') });
  assert.ok(picture.length > 10_000, 'the page is not blank');
});

test('calls the gateway from the page', async () => {
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  const agent = page.locator('.auth-container', { hasText: 'UcpAgent' }).first();
  await agent.locator('input').fill('profile="https://agent.example.com/.well-known/ucp"');
  await agent.locator('button.authorize').click();
  await page.locator('.modal-ux .close-modal').click();
  const operation = page.locator('.opblock', { hasText: 'Search catalog' });
  await operation.locator('.opblock-summary').click();
  await operation.locator('textarea.body-param__text').fill('{"query": "runner pro"}');
  await operation.getByRole('button', { name: 'Execute' }).click();
  await operation.locator('.live-responses-table .response', { hasText: 'prod_abc123' }).first().waitFor({ timeout: 10_000 });
});

test('needs nothing but the gateway', () => {
  const foreign = requests.filter((request) => !/^(data|blob):/.test(request) && new URL(request).origin !== url);
  assert.deepEqual(foreign, []);
  assert.ok(requests.length > 1, 'it loads the document it shows');
});

test('the browser has no complaint', () => {
  assert.deepEqual(complaints, []);
});
