// A buyer finishes in a browser what an agent has begun: with the keyboard alone, on small screens and large ones, in the
// light and in the dark. What the pages look like is kept as *.png beside the lane's log.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { objections, scrollsSideways, tabTo } from '../lib/browser.mjs';
import { meta, startGateway, url } from '../lib/gateway.mjs';
import { item, paying, wanted } from '../lib/purchase.mjs';

const requests = [];
const complaints = [];
const origins = new Set([url]);
let browser;

/** A call of the agent. */
async function call(method, path, payload, at = url) {
  const headers = {
    'Content-Type': 'application/json',
    'UCP-Agent': `profile="${meta['ucp-agent'].profile}"`,
    'Idempotency-Key': randomUUID(),
  };
  const answer = await fetch(at + path, { method, headers, body: payload && JSON.stringify(payload) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

const look = ({ id }, at = url) => call('GET', `/checkout-sessions/${id}`, undefined, at);

/** A shop of its own with one mug, which sells on these terms. */
async function shopOn(name, terms, toml = '') {
  const file = (suffix) => join(process.env.LANE_DIR, `gateway-${name}.${suffix}`);
  const run = (...args) => promisify(execFile)(process.env.UCP_GATEWAY_BIN, [...args, '--data-dir', file('data')]);
  const mug = { id: 'mug', price: { amount: 60_000, currency: 'USD' }, digital: true };
  const goods = { id: 'p', title: 'A mug of silver', description: { plain: 'Holds tea.' }, variants: [mug] };
  await writeFile(file('jsonl'), `${JSON.stringify(goods)}\n`);
  await run('import', file('jsonl'), '--name', 'Mugs & more', '--currency', 'USD');
  await writeFile(file('terms'), JSON.stringify(terms));
  await run('terms', file('terms'));
  const gateway = await startGateway(name, toml);
  origins.add(gateway.url);
  return gateway;
}

const mug = { line_items: [{ item: { id: 'mug' }, quantity: 1 }], buyer: { email: 'bea@example.com' } };

/** How a page looks on small screens, in the light and in the dark: pictures of it, and nothing to object to. */
async function small(name, address, heading) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(address, { viewport: { width: 320, height: 640 }, colorScheme });
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    assert.equal(await scrollsSideways(page), false, `${name} scrolls sideways`);
    assert.deepEqual(await objections(page), [], name);
    await picture(page, `small-${colorScheme}-${name}`);
    await page.context().close();
  }
}

/** A page as a buyer has it in front of them. */
async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options });
  const page = await context.newPage();
  // Pictures of the goods are the shop's, and not there.
  await context.route(({ origin }) => !origins.has(origin), (route) => {
    const body = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>';
    return route.request().resourceType() === 'image' ? route.fulfill({ contentType: 'image/svg+xml', body }) : route.abort();
  });
  page.on('request', (request) => {
    if (request.resourceType() !== 'image') requests.push(request.url());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  // Violations of the content security policy are reported here.
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(address);
  return page;
}

async function type(page, id, text) {
  await tabTo(page, `#${id}`);
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}

const picture = (page, name) => page.screenshot({ path: join(process.env.LANE_DIR, `${name}.png`), fullPage: true });

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
});

after(async () => {
  await browser?.close();
});

test('a buyer finishes a purchase with the keyboard', async () => {
  const checkout = await call('POST', '/checkout-sessions', { line_items: [{ item: { id: item }, quantity: 2 }] });
  assert.equal(checkout.status, 'incomplete');
  const page = await open(checkout.continue_url);
  assert.deepEqual(await objections(page), []);
  await picture(page, 'missing');

  // The list of what is missing leads to the fields.
  await tabTo(page, 'a[href="#email"]');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'email', 'the link leads into the field');
  await page.keyboard.type('bea@example.com');
  await type(page, 'street_address', '1 Main St');
  await type(page, 'postal_code', '97401');
  await type(page, 'address_locality', 'Eugene');
  await type(page, 'address_region', 'OR');
  await tabTo(page, '#address_country');
  await page.keyboard.type('United States of');
  await tabTo(page, 'button');
  await page.keyboard.press('Enter');
  await page.getByText('Your details are saved.').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'status', 'it is read out');
  assert.deepEqual(await objections(page), []);
  await picture(page, 'ready');
  const ready = await look(checkout);
  assert.equal(ready.status, 'ready_for_complete', JSON.stringify(ready.messages));

  await tabTo(page, 'input[name^="option:"]');
  await page.keyboard.press('ArrowDown');
  await tabTo(page, 'button');
  await page.keyboard.press('Enter');
  await page.getByText('Your delivery choice is saved.').waitFor();
  const [group] = (await look(checkout)).fulfillment.methods[0].groups;
  assert.equal(group.selected_option_id, group.options[1].id);

  await tabTo(page, 'a[href*="view=confirm"]');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Confirm your payment' }).waitFor();
  assert.deepEqual(await objections(page), []);
  await picture(page, 'confirmation');
  await tabTo(page, 'button');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Thank you for your order' }).waitFor();
  assert.deepEqual(await objections(page), []);
  await picture(page, 'completed');
  const completed = await look(checkout);
  assert.equal(completed.status, 'completed');

  // Going back and sending the form once more buys nothing.
  await page.goBack();
  await page.getByRole('button', { name: /Confirm/ }).click().catch(() => undefined);
  assert.deepEqual((await look(checkout)).order, completed.order);

  await page.goto(completed.order.permalink_url);
  await page.getByRole('heading', { name: `Order ${completed.order.label}` }).waitFor();
  assert.deepEqual(await objections(page), []);
  await picture(page, 'order');
  await page.context().close();
});

test('a buyer confirms what the bank asks an agent for', async () => {
  const checkout = await call('POST', '/checkout-sessions', wanted);
  const asked = await call('POST', `/checkout-sessions/${checkout.id}/complete`, paying(checkout, 'challenge_token'));
  assert.equal(asked.status, 'requires_escalation');
  assert.ok(asked.messages.some(({ code }) => code === 'requires_3ds'));
  const page = await open(asked.continue_url);
  await page.getByRole('link', { name: /bank asks/ }).waitFor();
  assert.deepEqual(await objections(page), []);
  await picture(page, 'challenge');
  await page.getByRole('link', { name: 'Continue to payment' }).click();
  await page.getByRole('button', { name: /Confirm and pay/ }).click();
  await page.getByRole('heading', { name: 'Thank you for your order' }).waitFor();
  assert.equal((await look(checkout)).status, 'completed');
  await page.context().close();
});

test('a buyer approves what the shop wants to be looked at, and the agent goes on', async () => {
  const reason = 'Orders from 500 dollars need your own word.';
  const terms = { reviews: [{ code: 'high_value_order', reason, min_total: 50_000 }] };
  const shop = await shopOn('strict', terms);
  const checkout = await call('POST', '/checkout-sessions', mug, shop.url);
  assert.equal(checkout.status, 'requires_escalation');
  const [{ code, severity }] = checkout.messages;
  assert.deepEqual([code, severity], ['high_value_order', 'requires_buyer_review']);
  await small('review', checkout.continue_url, 'Please review your purchase');
  await small('approval', `${checkout.continue_url}?view=confirm`, 'Confirm your order');

  const back = new URL('/chat', meta['ucp-agent'].profile).href;
  const page = await open(`${checkout.continue_url}?continue_to=${encodeURIComponent(back)}`);
  assert.deepEqual(await objections(page), []);
  await picture(page, 'review');
  await tabTo(page, 'a[href*="view=confirm"]');
  await page.keyboard.press('Enter');
  await page.getByText(reason).waitFor();
  await picture(page, 'approval');
  await tabTo(page, 'button');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'I approve this purchase');
  await page.keyboard.press('Enter');
  await page.getByText('Your assistant can continue now').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'status', 'it is read out');
  assert.deepEqual(await objections(page), []);
  await picture(page, 'approved');
  const home = await page.getByRole('link', { name: /^Back to/ }).first().getAttribute('href');
  assert.equal(home, back, 'and then it goes back to the agent');
  await page.context().close();

  const approved = await look(checkout, shop.url);
  assert.equal(approved.status, 'ready_for_complete', JSON.stringify(approved.messages));
  const paid = await call('POST', `/checkout-sessions/${checkout.id}/complete`, paying(approved), shop.url);
  assert.equal(paid.status, 'completed');
  await shop.stop();
});

test('whoever comes late, or too often, is told so', async () => {
  const terms = { lifetimes: { cart_seconds: 1, checkout_seconds: 1 } };
  const late = await shopOn('hasty', terms, '[server]\nstorefront = "https://mugs.example/"\n');
  const checkout = await call('POST', '/checkout-sessions', mug, late.url);
  const cart = await call('POST', '/carts', mug, late.url);
  for (const address of [checkout.continue_url, cart.continue_url]) {
    for (let tries = 0; (await fetch(address)).status !== 410; tries += 1) {
      assert.ok(tries < 300, 'it expires');
      await new Promise((wake) => setTimeout(wake, 200));
    }
  }
  await small('expired', checkout.continue_url, 'This purchase has expired');
  await small('expired-cart', cart.continue_url, 'This cart has expired');
  const page = await open(checkout.continue_url);
  assert.equal(await page.getByRole('link', { name: 'Go to Mugs & more' }).getAttribute('href'), 'https://mugs.example/');
  await page.context().close();
  await late.stop();

  const limits = '[callers]\npolicy = "development"\n[limits]\nanonymous = { per_second = 1, burst = 1 }\n';
  const busy = await shopOn('busy', {}, limits);
  for (const colorScheme of ['light', 'dark']) {
    const visit = await open(`${busy.url}/continue/nothing`, { viewport: { width: 320, height: 640 }, colorScheme });
    for (let tries = 0; (await visit.title()) !== 'Please wait a moment – Mugs & more'; tries += 1) {
      assert.ok(tries < 50, 'it is too much');
      await visit.reload();
    }
    assert.equal(await scrollsSideways(visit), false);
    assert.deepEqual(await objections(visit), []);
    await picture(visit, `small-${colorScheme}-too-much`);
    await visit.context().close();
  }
  await busy.stop();
});

test('what was canceled is still shown', async () => {
  const wish = await call('POST', '/checkout-sessions', wanted);
  await call('POST', `/checkout-sessions/${wish.id}/cancel`);
  await small('canceled', wish.continue_url, 'This purchase was canceled');
});

for (const colorScheme of ['light', 'dark']) {
  test(`small screens in the ${colorScheme}`, async () => {
    const small = { viewport: { width: 320, height: 640 }, colorScheme };
    const missing = await call('POST', '/checkout-sessions', { line_items: wanted.line_items });
    const ready = await call('POST', '/checkout-sessions', wanted);
    for (const [name, address] of Object.entries({
      missing: missing.continue_url,
      ready: ready.continue_url,
      confirmation: `${ready.continue_url}?view=confirm`,
      nothing: `${url}/continue/nothing`,
    })) {
      const page = await open(address, small);
      assert.equal(await scrollsSideways(page), false, `${name} scrolls sideways`);
      assert.deepEqual(await objections(page), [], name);
      await picture(page, `small-${colorScheme}-${name}`);
      await page.context().close();
    }
  });
}

test('a dark page on a large screen', async () => {
  const ready = await call('POST', '/checkout-sessions', wanted);
  const page = await open(ready.continue_url, { colorScheme: 'dark' });
  assert.deepEqual(await objections(page), []);
  await picture(page, 'dark');
  await page.context().close();
});

test('it works without scripts', async () => {
  const ready = await call('POST', '/checkout-sessions', wanted);
  const page = await open(ready.continue_url, { javaScriptEnabled: false });
  await page.getByText("I don't want this").click();
  await page.getByRole('button', { name: 'Cancel the purchase' }).click();
  await page.getByRole('heading', { name: 'This purchase was canceled' }).waitFor();
  assert.equal((await look(ready)).status, 'canceled');
  await page.context().close();
});

test('a platform shows the bank in a frame of its own page', async (t) => {
  const extension = 'dev.ucp.common.payment.authentication';
  const version = '2026-08-25';
  const names = ['dev.ucp.shopping.checkout', 'dev.ucp.shopping.fulfillment', extension];
  const capabilities = Object.fromEntries(names.map((name) => [name, [{ version, spec: `https://ucp.dev/${name}`, schema: `https://ucp.dev/${name}.json` }]]));
  capabilities[extension][0].extends = 'dev.ucp.shopping.checkout';
  // What a platform does, at an origin of its own: it answers the handshake, and notes what it is told.
  const holder = (surface) => `<!doctype html><html lang="en"><title>Platform</title><script>
    const heard = [];
    addEventListener('message', ({ source, origin, data }) => {
      if (source !== document.querySelector('iframe').contentWindow || origin !== ${JSON.stringify(url)}) return;
      heard.push(data);
      if (data.method === 'action.ready') source.postMessage({ jsonrpc: '2.0', id: data.id, result: {} }, origin);
    });
    </script><main><h1>Platform</h1><iframe src="${surface}" width="600" height="400" title="Bank"></iframe></main></html>`;
  const platform = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://platform');
    const isProfile = pathname === '/profile.json';
    response.setHeader('Content-Type', isProfile ? 'application/json' : 'text/html');
    response.end(isProfile ? JSON.stringify({ ucp: { version, capabilities } }) : holder(searchParams.get('surface')));
  }).listen(0, '127.0.0.1');
  t.after(() => platform.close().closeAllConnections());
  await once(platform, 'listening');
  const own = `http://127.0.0.1:${platform.address().port}`;
  const asked = async (method, path, payload) => {
    const headers = { 'Content-Type': 'application/json', 'UCP-Agent': `profile="${own}/profile.json"`, 'Idempotency-Key': randomUUID() };
    const answer = await fetch(url + path, { method, headers, body: payload && JSON.stringify(payload) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const buy = async (token) => {
    const checkout = await asked('POST', '/checkout-sessions', wanted);
    const begun = await asked('POST', `/checkout-sessions/${checkout.id}/complete`, paying(checkout, token));
    assert.equal(begun.status, 'complete_in_progress', JSON.stringify(begun));
    return begun;
  };
  const outstanding = ({ actions }) => {
    const [[type, [{ id, config }]]] = Object.entries(actions);
    return { type: type.split('.').at(-1), id, config };
  };
  const hold = async (surface) => {
    const page = await (await browser.newContext()).newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && !/favicon|404/.test(message.text()) && complaints.push(message.text()));
    await page.goto(`${own}/?surface=${encodeURIComponent(surface)}`);
    return page;
  };
  const told = (page, method) => page.waitForFunction((name) => heard.find((message) => message.method === name), method, { timeout: 30_000 });
  const read = ({ id }) => asked('GET', `/checkout-sessions/${id}`);

  for (const [button, status] of [['Confirm and pay', 'completed'], ['Back without paying', 'incomplete']]) {
    const begun = await buy('three_ds_token');
    const { type, id, config } = outstanding(begun);
    assert.equal(type, 'three_ds_challenge');
    const page = await hold(config.url);
    const frame = page.frameLocator('iframe');
    await frame.getByRole('heading', { name: 'The test bank asks' }).waitFor();
    assert.deepEqual(await objections(page.frames().at(-1)), []);
    await picture(page, `action-${status}`);
    const ready = await told(page, 'action.ready');
    assert.deepEqual((await ready.jsonValue()).params, { id, version });
    await frame.getByRole('button', { name: button }).click();
    assert.deepEqual((await (await told(page, 'action.done')).jsonValue()).params, { id });
    assert.equal((await read(begun)).status, status);
    await page.context().close();
    // An occurrence that is over says so.
    const late = await hold(config.url);
    const { error } = (await (await told(late, 'action.error')).jsonValue()).params;
    assert.equal(error.messages[0].code, 'action_expired');
    await late.context().close();
  }

  const begun = await buy('device_data_token');
  const device = outstanding(begun);
  assert.equal(device.type, 'device_data_collection');
  const page = await hold(device.config.url);
  assert.deepEqual((await (await told(page, 'action.done')).jsonValue()).params, { id: device.id });
  assert.equal(outstanding(await read(begun)).type, 'three_ds_challenge');
  await page.context().close();

  // Without a platform around it, the surface leads to the page of the purchase.
  const alone = await open(outstanding(await read(begun)).config.url);
  await alone.getByRole('heading', { name: 'Your bank asks you to confirm' }).waitFor();
  await alone.context().close();
});

test('nothing is loaded but the pages themselves and pictures', () => {
  const foreign = requests.filter((request) => {
    const { origin, pathname } = new URL(request);
    return !origins.has(origin) || !/^\/(continue|order)\//.test(pathname);
  });
  assert.deepEqual(foreign.filter((request) => !request.endsWith('/favicon.ico')), []);
  assert.ok(requests.length > 10);
});

test('the browser has no complaint', () => {
  assert.deepEqual(complaints, []);
});
