// A developer opens the gateway in a browser: the first page, and a purchase in the playground, with the keyboard alone, on
// small screens and large ones, in the light and in the dark. What the pages look like is kept as *.png beside the lane's
// log; playground.png is the picture in the README.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { fine, named, picture, screens, startBrowser, tabTo } from '../lib/browser.mjs';
import { startGateway } from '../lib/gateway.mjs';

let browser;
let gateway;
/** A shop elsewhere, which knows a key and is signed for by some. */
let other;
let key;

const open = (path, options) => browser.open(new URL(path, gateway.url).href, options);

const same = (page) => page.getByText('No difference between the responses').waitFor();

before(async () => {
  const { stdout } = await promisify(execFile)(process.env.UCP_GATEWAY_BIN, ['keys', 'api']);
  const [hash] = stdout.match(/sha256:[0-9a-f]{64}/);
  [key] = stdout.match(/ucpk_\S+/);
  const platform = `[[platform]]\nname = "agency"\nprofile = "https://agency.example.com/profile.json"\napi_key_hash = "${hash}"\n`;
  gateway = await startGateway('workbench', `[callers]\npolicy = "development"\n${platform}`);
  other = await startGateway('elsewhere', '[callers]\npolicy = "development"\n[signatures]\nbrowsing = "enforce"\n');
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
  await other?.stop();
});

for (const look of screens) {
  test(`pages on a screen ${named(look)}`, async () => {
    const home = await open('/', look);
    await home.getByRole('heading', { name: 'is open to agents' }).waitFor();
    await fine(home, 'home');
    await picture(home, `home-${named(look)}`, { fullPage: true });
    await home.context().close();

    const page = await open('/playground', look);
    await page.locator('.goods li').first().waitFor();
    await same(page);
    await fine(page, 'search');
    await picture(page, `search-${named(look)}`);
    await page.goto(`${gateway.url}/playground#/product/prod_abc123`);
    await page.getByRole('heading', { name: 'Runner Pro' }).waitFor();
    await same(page);
    await fine(page, 'product');
    await picture(page, `product-${named(look)}`);
    await page.context().close();
  });
}

test('a call can be copied from the first page', async () => {
  const page = await open('/');
  await page.getByRole('button', { name: 'Copy the call over MCP' }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^curl -s http:\/\/127\.0\.0\.1:\d+\/mcp /);
  assert.match(copied, /search_catalog/);
  await page.context().close();
});

test('goods page by page, by category, and by words as they are typed', async () => {
  const page = await open('/playground');
  const goods = page.locator('.goods li');
  await goods.first().waitFor();
  assert.equal(await goods.count(), 12);
  await page.getByRole('button', { name: 'Show more' }).click();
  await goods.nth(12).waitFor();
  await page.getByRole('button', { name: 'Kitchen' }).click();
  await page.getByRole('heading', { name: 'Kitchen' }).waitFor();
  await goods.getByText('Cast-Iron Skillet').waitFor();
  await page.locator('#query').pressSequentially('runnig', { delay: 30 });
  await page.getByRole('heading', { name: 'Results for “runnig”' }).waitFor();
  await page.locator('.note code', { hasText: 'runnig' }).waitFor();
  await same(page);
  const [loaded, pictures] = await goods.locator('img').evaluateAll((all) => [all.filter(({ complete, naturalWidth }) => complete && naturalWidth > 0).length, all.length]);
  assert.ok(pictures > 0 && loaded > 0, `${loaded} of ${pictures} pictures`);
  await page.context().close();
});

test('a purchase with the keyboard', async () => {
  const page = await open('/playground');
  await page.locator('.goods li').first().waitFor();
  await tabTo(page, '#query');
  await page.keyboard.type('runner pro');
  await page.locator('.goods a[href$="prod_abc123"]').waitFor();
  await tabTo(page, '.goods a[href$="prod_abc123"]');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Runner Pro', exact: true }).waitFor();

  // Blue is not made in size 11: the later choice is kept, and what was given up is said.
  const state = (label) => page.locator(`[data-label="${label}"] small`).textContent();
  await tabTo(page, '[data-label="Blue"]');
  await page.keyboard.press('Enter');
  await page.locator('[data-label="Blue"][aria-pressed="true"]').waitFor();
  assert.equal(await state('11'), 'not made');
  assert.equal(await state('Green'), 'sold out');
  await tabTo(page, '[data-label="11"]');
  await page.keyboard.press('Enter');
  await page.getByText('Removed: Color Blue').waitFor();
  assert.equal(await state('Blue'), 'not made');
  await same(page);
  await fine(page, 'relaxed');
  await picture(page, 'relaxed');
  await page.locator('[data-label="Blue"]').press('Enter');
  await page.getByText('Removed: Size 11').waitFor();
  await page.locator('[data-label="10"]').press('Enter');
  await page.getByRole('button', { name: 'Add to cart' }).press('Enter');
  await page.getByRole('heading', { name: 'Cart' }).waitFor();
  await page.getByText('Total', { exact: true }).waitFor();
  await fine(page, 'cart');
  await picture(page, 'cart');
  await page.getByRole('link', { name: 'Go to checkout' }).press('Enter');
  await page.getByRole('heading', { name: 'Checkout' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Pay' }).isDisabled(), true, 'something is missing');
  await page.getByRole('button', { name: 'Fill in an example' }).press('Enter');
  await page.locator('.tag.ready_for_complete').waitFor();
  await page.getByRole('radio', { name: /Express/ }).check();
  await page.getByText('$19.99').first().waitFor();
  await page.getByLabel('Discount code').fill('WELCOME10');
  await page.getByLabel('Discount code').press('Enter');
  await page.locator('p', { hasText: '10% off your order' }).waitFor();
  await same(page);
  await fine(page, 'checkout');
  await picture(page, 'checkout', { fullPage: true });
  await page.getByRole('button', { name: 'Pay' }).press('Enter');
  await page.getByRole('heading', { name: /^Order #/ }).waitFor();
  await same(page);
  await fine(page, 'order');
  await picture(page, 'order');
  await page.context().close();
});

test('a payment that is declined is said, and the checkout stays', async () => {
  const page = await open('/playground#/product/prod_wildflower-honey');
  await page.locator('[data-label="350 g"]').click();
  await page.getByRole('button', { name: 'Add to cart' }).click();
  await page.getByRole('link', { name: 'Go to checkout' }).click();
  await page.getByRole('button', { name: 'Fill in an example' }).click();
  await page.locator('.tag.ready_for_complete').waitFor();
  await page.getByLabel('Sandbox card').selectOption('fail_token');
  await page.getByRole('button', { name: 'Pay' }).click();
  await page.locator('.note').first().waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Checkout' }).isVisible(), true);
  await page.context().close();
});

/** A call that names nobody is answered to an anonymous caller. */
async function unnamed(page) {
  await page.locator('.sides .request', { hasNotText: 'ucp-agent' }).first().waitFor();
  await same(page);
}

test('every release, and copies of the call in every form', async () => {
  const page = await open('/playground');
  await page.locator('.goods li').first().waitFor();
  const releases = await page.locator('#release option').allTextContents();
  assert.ok(releases.length >= 4);
  for (const release of releases) {
    await page.getByLabel('UCP version').selectOption(release);
    await page.locator('.sides .request', { hasText: `/ucp/${release}/mcp` }).waitFor();
    await same(page);
  }
  for (const [form, text] of [['curl', 'curl -s -X POST'], ['curl, MCP', '"tools/call"'], ['ucp-cli', '@shopify/ucp-cli catalog search'],
    ['TypeScript', 'await fetch('], ['Python', 'httpx.request(']]) {
    await page.getByLabel('Copy as').selectOption(form);
    await page.getByRole('button', { name: 'Copy the call' }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.includes(text), `${form}: ${copied}`);
  }
  await page.getByLabel('View').selectOption('compact');
  await page.locator('.sides .request', { hasText: 'view=compact' }).first().waitFor();
  await same(page);
  await page.getByLabel('Caller').selectOption('none');
  await unnamed(page);
  await page.context().close();
});

test('words that are literals elsewhere stay words in a copy for Python', async () => {
  const page = await open('/playground');
  await page.locator('.goods li').first().waitFor();
  await page.locator('#query').fill('true');
  await page.getByRole('heading', { name: 'Results for “true”' }).waitFor();
  await page.getByLabel('Copy as').selectOption('Python');
  await page.locator('#view-wire .code pre', { hasText: '"query": "true"' }).waitFor();
  await page.context().close();
});

test('a transport that gives no answer is not the same as the other', async () => {
  const page = await open('/playground');
  await same(page);
  await page.route('**/mcp', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
  await page.locator('#query').fill('boots');
  await page.getByText('The responses cannot be compared').waitFor();
  await fine(page, 'unread');
  await page.unroute('**/mcp');
  await page.route('**/mcp', (route) => route.abort());
  await page.locator('#query').fill('shoes');
  await page.getByText('No response over MCP').waitFor();
  await fine(page, 'unanswered');
  // The browser says so too, which is no complaint about the page.
  const { complaints } = browser;
  complaints.push(...complaints.splice(0).filter((text) => !/Failed to load resource/.test(text)));
  await page.context().close();
});

for (const look of screens) {
  test(`the inspector on a screen ${named(look)}`, async () => {
    const page = await open('/inspector', look);
    await page.getByRole('heading', { name: 'Calls' }).waitFor();
    // It comes without being asked for.
    const platform = `agent-${named(look)}.example`;
    const call = (body) => fetch(`${gateway.url}/catalog/search`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', 'UCP-Agent': `profile="https://${platform}/profile.json"` }, body,
    });
    await page.getByLabel('Platform').fill(platform);
    await page.getByText('No matching calls yet').waitFor();
    await call('{"query":"boots"}');
    await page.locator('.rows a', { hasText: 'search_catalog' }).waitFor();
    await call('{"query":7}');
    await page.locator('.rows a', { hasText: 'invalid_request' }).waitFor();
    await tabTo(page, '.rows a:not(:has(b))');
    await page.keyboard.press('Enter');
    await page.locator('.way th', { hasText: 'negotiated' }).waitFor();
    assert.doesNotMatch(await page.locator('#detail').innerText(), /"boots"|undefined/);
    await fine(page, 'inspector');
    await picture(page, `inspector-${named(look)}`);
    await page.getByLabel('Compare with').selectOption({ index: 1 });
    await page.getByText(/^Answer: differs at /).waitFor();
    await fine(page, 'a comparison');
    await page.getByLabel('Outcome').selectOption('failed');
    await page.locator('.rows li').nth(1).waitFor({ state: 'detached' });
    assert.equal(await page.locator('.rows li').count(), 1);
    await page.context().close();
  });
}

for (const look of screens) {
  test(`the reference on a screen ${named(look)}`, async () => {
    const page = await open('/docs/api', look);
    await page.getByRole('heading', { name: 'API reference' }).waitFor();
    await fine(page, 'reference');
    await picture(page, `reference-${named(look)}`);
    const product = page.locator('section[aria-labelledby="get_product"]');
    await product.scrollIntoViewIfNeeded();
    await product.getByRole('button', { name: 'Run' }).press('Enter');
    await product.getByText('Both responses are equal').waitFor();
    await fine(page, 'an example that ran');
    await picture(page, `example-${named(look)}`);
    await page.context().close();
  });
}

test('examples of the reference are run with the keyboard, in the chosen release', async () => {
  const page = await open('/docs/api');
  await tabTo(page, '#release');
  await page.keyboard.press('ArrowDown');
  const cart = page.locator('section[aria-labelledby="create_cart"]');
  await cart.locator('.body').focus();
  await tabTo(page, 'section[aria-labelledby="create_cart"] .run');
  await page.keyboard.press('Enter');
  await cart.getByText('Both responses are equal').waitFor();
  // What the answer tells is filled in where it is needed.
  const read = page.locator('section[aria-labelledby="get_cart"]');
  assert.notEqual(await read.locator('.id').inputValue(), '');
  await read.getByRole('button', { name: 'Run' }).press('Enter');
  await read.getByText('Both responses are equal').waitFor();
  await cart.locator('.body').fill('{');
  await cart.getByRole('button', { name: 'Run' }).press('Enter');
  await cart.getByText('The body must be JSON').waitFor();
  await fine(page, 'a body that is none');
  const releases = await page.locator('#release option').evaluateAll((all) => all.map(({ value }) => value).filter((value) => value));
  await page.getByLabel('UCP version').selectOption(releases.at(-1));
  assert.equal(await cart.isVisible(), false, 'the first release has no carts');
  const checkout = page.locator('section[aria-labelledby="create_checkout"]');
  assert.match(await checkout.locator('.code code').first().textContent(), new RegExp(`/ucp/${releases.at(-1)}/checkout-sessions`));
  await page.context().close();
});

test('whoever calls: a profile, a signature, a key, nobody', async () => {
  const page = await open('/playground');
  await page.locator('.goods li').first().waitFor();
  const request = page.locator('.sides .request').first();
  const status = page.locator('.measured td').first();
  await page.getByLabel('Caller').selectOption('profile');
  await page.locator('#profile').fill('https://own.example.com/profile.json');
  await page.locator('#profile').press('Tab');
  await request.filter({ hasText: 'https://own.example.com/profile.json' }).waitFor();
  await same(page);
  await fine(page, 'a profile of one’s own');

  await page.getByLabel('Caller').selectOption('signed');
  await request.filter({ hasText: 'Signature-Input: sig1=(' }).waitFor();
  await same(page);
  assert.match(await request.innerText(), /Content-Digest: sha-256=:/);
  assert.match(await request.innerText(), /playground\/profiles\/[\d-]+\.json/);
  await page.locator('.side summary').first().press('Enter');
  await page.getByText('"@authority": 127.0.0.1').first().waitFor();
  await fine(page, 'a signed call');
  await picture(page, 'signed', { fullPage: true });
  await page.getByLabel('Copy as').selectOption('curl');
  await page.getByRole('button', { name: 'Copy the call' }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  // What is copied is good as it is.
  const { stdout } = await promisify(execFile)('bash', ['-c', copied]);
  assert.ok(JSON.parse(stdout).products.length > 0, stdout);

  await page.getByLabel('Caller').selectOption('key');
  await page.locator('#key').fill(`${key.slice(0, -1)}!`);
  await page.locator('#key').press('Tab');
  await status.filter({ hasText: '401' }).waitFor();
  await page.locator('#key').fill(key);
  await page.locator('#key').press('Tab');
  await status.filter({ hasText: '200' }).waitFor();
  await same(page);
  assert.ok(!(await page.content()).includes(key), 'the key is shown nowhere');
  assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0);
  assert.deepEqual(await page.context().cookies(), []);
  await page.getByLabel('Caller').selectOption('none');
  await unnamed(page);
  await page.context().close();
});

test('a purchase that is signed, in every release with a catalog', async () => {
  for (const release of ['2026-01-11', '2026-01-23', '2026-04-08', '2026-08-25']) {
    const page = await open('/playground#/product/prod_wildflower-honey');
    await page.getByLabel('UCP version').selectOption(release);
    await page.getByLabel('Caller').selectOption('signed');
    await page.locator('.sides .request', { hasText: 'Signature-Input' }).first().waitFor();
    if (release < '2026-04-08') {
      // Who has a profile of a release gets what that release has.
      await page.locator('.note.alarm', { hasText: 'which the platform\'s profile does not declare' }).waitFor();
      await page.context().close();
      continue;
    }
    await page.locator('[data-label="350 g"]').click();
    await page.getByRole('button', { name: 'Add to cart' }).click();
    await page.getByRole('link', { name: 'Go to checkout' }).click();
    await page.getByRole('button', { name: 'Fill in an example' }).click();
    await page.locator('.tag.ready_for_complete').waitFor();
    await page.getByRole('button', { name: 'Pay' }).click();
    await page.getByRole('heading', { name: /^Order/ }).waitFor();
    await same(page);
    await page.context().close();
  }
});

test('a gateway that demands signatures', async () => {
  const page = await browser.open(`${other.url}/playground`);
  await page.locator('.note.alarm', { hasText: 'requires a signed request' }).waitFor();
  await page.getByLabel('Caller').selectOption('signed');
  await page.locator('.goods li').first().waitFor();
  await same(page);
  await page.context().close();
});

test('the shop of another endpoint, with the keyboard', async () => {
  // This lane's own gateway, which every lane has.
  const elsewhere = process.env.UCP_GATEWAY_URL;
  const page = await open('/playground');
  await page.locator('.goods li').first().waitFor();
  await tabTo(page, '#address');
  await page.keyboard.type('https://10.0.0.7');
  await page.keyboard.press('Enter');
  await page.locator('.note.alarm', { hasText: 'special-use address range' }).waitFor();
  await fine(page, 'an address that is refused');
  await picture(page, 'refused-endpoint');
  await page.locator('#address').fill(elsewhere);
  await page.keyboard.press('Enter');
  await page.locator('#endpoint .note', { hasText: 'over REST and MCP' }).waitFor();
  await page.locator('.goods li').first().waitFor();
  await page.locator('.sides .request', { hasText: `${elsewhere}/` }).first().waitFor();
  await same(page);
  assert.equal(await page.locator('#caller [value=signed]').isDisabled(), true, 'the key is for this gateway');
  await fine(page, 'another endpoint');
  await picture(page, 'endpoint');
  await page.getByLabel('UCP version').selectOption('2026-04-08');
  await page.locator('#endpoint .note', { hasText: '2026-04-08' }).waitFor();
  await page.locator('.sides .request', { hasText: `${elsewhere}/ucp/2026-04-08/` }).first().waitFor();
  await same(page);

  // A change goes over one transport, until both are chosen.
  await page.goto(`${gateway.url}/playground#/product/prod_wildflower-honey`);
  await page.locator('[data-label="350 g"]').click();
  await page.getByRole('button', { name: 'Add to cart' }).click();
  await page.getByRole('link', { name: 'Go to checkout' }).click();
  await page.getByText('Over REST alone').waitFor();
  await page.getByLabel('Changes over').selectOption('both');
  await page.getByRole('button', { name: 'Fill in an example' }).click();
  await page.locator('.tag.ready_for_complete').waitFor();
  await same(page);
  await page.getByLabel('Copy as').selectOption('ucp-cli');
  assert.match(await page.locator('#view-wire .code pre').innerText(), new RegExp(`--business ${elsewhere}`));
  await page.getByRole('button', { name: 'Pay' }).click();
  await page.getByRole('heading', { name: /^Order/ }).waitFor();
  await same(page);
  await page.getByRole('button', { name: 'Back to this gateway' }).click();
  await page.getByRole('heading', { name: 'Everything in stock' }).waitFor();
  assert.equal(await page.locator('#endpoint').innerText(), '');
  await page.context().close();
});

test('the picture in docs/debug-requests.md', async () => {
  const page = await open('/playground', { viewport: { width: 1440, height: 860 } });
  await page.locator('.goods li').first().waitFor();
  await page.goto(`${gateway.url}/playground#/product/prod_abc123`);
  await page.locator('[data-label="Red"]').click();
  await page.locator('[data-label="10"]').click();
  await page.getByRole('button', { name: 'Add to cart' }).waitFor();
  await same(page);
  await page.waitForLoadState('networkidle');
  await page.locator('h2').first().click();
  await picture(page, 'playground');
  const { size } = await stat(join(process.env.LANE_DIR, 'playground.png'));
  assert.ok(size > 30_000 && size < 200_000, `${size} bytes`);
  await page.context().close();
});

test('pages need nothing but the gateway, and the browser has no complaint', () => {
  // Pictures of goods are where their shop has them.
  const own = [gateway.url, other.url, process.env.UCP_GATEWAY_URL];
  const foreign = browser.requests.filter((request) => !/^(data|blob):/.test(request) && !own.includes(new URL(request).origin));
  assert.deepEqual(foreign, []);
  assert.deepEqual(browser.complaints, []);
});
