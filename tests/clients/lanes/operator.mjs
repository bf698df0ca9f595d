// An operator sees a gateway in a browser, and does what there is to do, with the keyboard alone: a gateway that asks for the
// token, one with several shops, and one of which nothing is known yet. The screenshots are kept beside the lane's log.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { fine, named, picture, screens, startBrowser, tabTo } from '../lib/browser.mjs';
import { freePort, startGateway } from '../lib/gateway.mjs';
import { buy } from '../lib/purchase.mjs';
import { newest } from '../lib/shop.mjs';

const TOKEN = 'operator-of-the-lane-8a1f03bd52c94e76';
const DEVELOPMENT = '[callers]\npolicy = "development"\n';
const SEVERAL = `${DEVELOPMENT}[data]\nsample = "flower-shop"\n[server]\nprobes = true\n`
  + ['one', 'two', 'three'].map((name) => `[[shop]]\nname = "${name}"\npath = "/shops/${name}"\n`).join('');

let browser;
/** A gateway with orders, one with a token and no call, and one with several shops. */
let sold;
let guarded;
let several;

/** Starts a gateway with an admin listener. */
async function start(name, toml, ready) {
  const admin = `127.0.0.1:${await freePort()}`;
  return { ...(await startGateway(name, toml, ['--admin-listen', admin], ready)), admin: `http://${admin}` };
}

/** A call of a gateway, as a platform makes it. */
async function call(base, method, path, body, key = randomUUID()) {
  const answer = await fetch(`${base}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', 'UCP-Agent': 'profile="https://agent.example.com/profile.json"', 'Idempotency-Key': key },
    body: body && JSON.stringify(body),
  });
  return answer.json();
}

const routes = {
  create_cart: ['POST', '/carts'], get_cart: ['GET', '/carts/{id}'], create_checkout: ['POST', '/checkout-sessions'],
  get_checkout: ['GET', '/checkout-sessions/{id}'], update_checkout: ['PUT', '/checkout-sessions/{id}'],
  complete_checkout: ['POST', '/checkout-sessions/{id}/complete'], get_order: ['GET', '/orders/{id}'],
  cancel_cart: ['POST', '/carts/{id}/cancel'], cancel_checkout: ['POST', '/checkout-sessions/{id}/cancel'],
};

before(async () => {
  process.env.UCP_LANE_TOKEN = TOKEN;
  sold = await start('sold', DEVELOPMENT);
  guarded = await start('guarded', `${DEVELOPMENT}[server]\nprobes = true\nadmin_token_env = "UCP_LANE_TOKEN"\n`, '/readyz');
  several = await start('several', SEVERAL, '/readyz');
  browser = await startBrowser();
  await buy((operation, id, asked, key) => {
    const [method, path] = routes[operation];
    return call(sold.url, method, path.replace('{id}', id), asked, key);
  }, newest);
  for (const body of [{ query: 'boots' }, { query: 7 }, { query: 'runner' }]) await call(sold.url, 'POST', '/catalog/search', body);
});

after(async () => {
  await browser?.close();
  await Promise.all([sold, guarded, several].map((gateway) => gateway?.stop()));
});

const see = async (page, name, look, options = { fullPage: true }) => {
  await fine(page, name);
  await picture(page, `${name.replaceAll(' ', '-')}-${named(look)}`, options);
};

for (const look of screens) {
  test(`the token, and what is empty, on a screen ${named(look)}`, async () => {
    const page = await browser.open(`${guarded.admin}/operator`, look);
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await see(page, 'login', look);
    await tabTo(page, '#token');
    // A network has few wrong tokens in a minute.
    if (screens.indexOf(look) % 2 === 0) {
      await page.keyboard.type('guessed');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').filter({ hasText: 'Wrong admin token' }).waitFor();
      await see(page, 'login that failed', look);
    }
    await page.locator('#token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Shops' }).waitFor();
    assert.ok(!(await page.content()).includes(TOKEN));
    await page.goto(`${guarded.admin}/operator/metrics`);
    await page.getByText('No requests yet.').first().waitFor();
    await see(page, 'empty metrics', look);
    await page.goto(`${guarded.admin}/operator/audit?action=block`);
    await page.getByText('No matching entries.').waitFor();
    await see(page, 'empty audit', look);
    await page.goto(`${guarded.admin}/operator/shops/default`);
    for (const empty of ['No orders yet.', 'No webhooks yet.', 'No requests yet.']) await page.getByText(empty).first().waitFor();
    await see(page, 'empty shop', look);
    await tabTo(page, '.top button');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.context().close();
  });

  test(`several shops on a screen ${named(look)}`, async () => {
    const page = await browser.open(`${several.admin}/operator`, look);
    await page.locator('th a[href="operator/shops/three"]').waitFor();
    await tabTo(page, 'form:has(input[value="two"]) button');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'The shop is paused' }).waitFor();
    assert.equal((await fetch(`${several.url}/shops/two/.well-known/ucp`)).status, 503);
    await see(page, 'several shops', look);
    await page.getByRole('button', { name: 'Resume two' }).press('Enter');
    await page.getByRole('status').filter({ hasText: 'is resumed' }).waitFor();
    await tabTo(page, 'a[href="operator/shops/one"]');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Backend' }).waitFor();
    await see(page, 'one of several', look);
    await page.goto(`${several.admin}/operator/metrics`);
    await page.getByLabel('Shop').selectOption('one');
    await page.getByRole('button', { name: 'Show' }).press('Enter');
    await page.waitForURL(/shop=one/);
    assert.equal(await page.getByLabel('Shop').inputValue(), 'one');
    await page.goto(`${several.admin}/operator/audit`);
    await page.getByLabel('Log of').selectOption('two');
    await page.getByRole('button', { name: 'Show' }).press('Enter');
    await page.locator('td', { hasText: 'resume' }).first().waitFor();
    await see(page, 'audit of a shop', look, {});
    await page.context().close();
  });

  test(`a shop and an order on a screen ${named(look)}`, async () => {
    const page = await browser.open(`${sold.admin}/operator`, look);
    await page.getByRole('heading', { name: 'Shops' }).waitFor();
    await see(page, 'shops', look);
    await tabTo(page, 'th a[href^="operator/shops/"]');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor();
    await tabTo(page, 'input[name="profile"]');
    await page.keyboard.type('https://blocked.example.com/profile.json');
    await page.keyboard.press('Enter');
    await page.getByText('The platform is blocked').waitFor();
    await see(page, 'a shop', look);
    await page.getByRole('button', { name: 'Unblock https://blocked.example.com/profile.json' }).press('Enter');
    await page.getByText('The platform is unblocked').waitFor();
    // An address that is none.
    await page.locator('input[name="profile"]').fill('https://10.0.0.7/profile.json');
    await page.locator('input[name="profile"]').press('Enter');
    await page.getByRole('heading', { name: 'Action failed' }).waitFor();
    await see(page, 'a form that failed', look);
    await page.goto(`${sold.admin}/operator/shops/default`);
    await tabTo(page, 'a[href*="/orders/"]');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Order / }).waitFor();
    await page.locator('summary', { hasText: 'refund' }).press('Enter');
    await page.getByLabel('Amount in minor units').fill('1');
    await see(page, 'an order', look);
    await page.getByLabel('Amount in minor units').press('Enter');
    await page.getByText('The order was updated.').waitFor();
    await page.locator('.events strong', { hasText: 'refund' }).first().waitFor();
    await page.context().close();
  });

  test(`figures and the audit log on a screen ${named(look)}`, async () => {
    const page = await browser.open(`${sold.admin}/operator`, look);
    await tabTo(page, 'a[href$="operator/metrics"]');
    await page.keyboard.press('Enter');
    await page.locator('th code', { hasText: 'search_catalog' }).waitFor();
    await see(page, 'metrics', look);
    await tabTo(page, 'a[href$="operator/audit"]');
    await page.keyboard.press('Enter');
    await page.locator('td', { hasText: 'order refund' }).first().waitFor();
    await see(page, 'audit', look, {});
    await page.getByLabel('Action').selectOption('block');
    await page.getByLabel('Subject').fill('blocked.example');
    await page.getByLabel('Subject').press('Enter');
    await page.waitForURL(/action=block/);
    await page.locator('td', { hasText: 'https://blocked.example.com/profile.json' }).first().waitFor();
    assert.equal(await page.locator('td', { hasText: 'order refund' }).count(), 0);
    await page.context().close();
  });
}

test('the audit log page by page', async () => {
  for (let round = 0; round < 30; round += 1) {
    for (const action of ['pause', 'resume']) {
      assert.equal((await fetch(`${sold.admin}/shops/default/${action}`, { method: 'POST' })).status, 200);
    }
  }
  const page = await browser.open(`${sold.admin}/operator/audit`);
  assert.equal(await page.locator('tbody tr').count(), 50);
  await page.getByRole('link', { name: 'Older' }).press('Enter');
  await page.getByRole('link', { name: 'Newest' }).waitFor();
  await fine(page, 'older lines');
  await page.getByRole('link', { name: 'Newest' }).press('Enter');
  await page.waitForURL(/audit\?$/);
  await page.context().close();
});

test('pages need nothing but the gateway, and the browser has no complaint', () => {
  const own = [sold, guarded, several].map(({ admin }) => admin);
  assert.deepEqual(browser.requests.filter((request) => !own.includes(new URL(request).origin)), []);
  assert.deepEqual(browser.complaints, []);
});
