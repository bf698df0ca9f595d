// Misbehaviour on demand, each kind as a client meets it; and the process that tests own.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, suite, test } from 'node:test';
import { buildSchema } from 'graphql';
import { Client, product, variant } from './client.mjs';

const client = new Client();
const document = `query Watched { node(id: "${product(1003)}") { ... on Product {
  title priceRange { minVariantPrice { amount currencyCode } } media(first: 1) { nodes { mediaContentType } }
  variants(first: 2) { nodes { id price { amount currencyCode } } } } } }`;
const fault = (body) => client.steer('POST', '/faults', body);
const post = (headers) => client.post(document, {}, { headers });

suite('faults', () => {
  before(() => client.start());
  after(() => client.stop());
  beforeEach(() => client.steer('POST', '/reset'));

  test('are statuses, with and without a time to wait', async () => {
    await fault({ kind: '429', retryAfter: 2 });
    await fault({ kind: '429' });
    await fault({ kind: 503 });
    const seen = [];
    for (let count = 0; count < 4; count += 1) {
      const response = await post();
      seen.push([response.status, response.headers.get('retry-after')]);
    }
    assert.deepEqual(seen, [
      [429, '2'],
      [429, null],
      [503, null],
      [200, null],
    ]);
    assert.deepEqual(
      (await client.steer('GET', '/journal')).requests.map(({ fault: kind, status }) => [kind, status]),
      [
        ['429', 429],
        ['429', 429],
        ['503', 503],
        [null, 200],
      ],
    );
  });

  test('are asked for by header', async () => {
    assert.equal((await post({ 'X-Test-Fault': '430' })).status, 430);
    const limited = await post({ 'X-Test-Fault': '429', 'X-Test-Retry-After': '7' });
    assert.equal(limited.headers.get('retry-after'), '7');
    assert.equal((await post({ 'X-Test-Fault': 'delay', 'X-Test-Delay': '5' })).status, 200);
    assert.equal((await post()).status, 200);
  });

  test('wait for the operation they are meant for, as often as they are meant', async () => {
    await fault([
      { kind: '500', count: 2, match: '^Watched$' },
      { kind: '502', count: null, field: '^localization$' },
    ]);
    const other = async () => (await client.post('query Other { localization { country { isoCode } } }')).status;
    assert.deepEqual(
      [await other(), (await post()).status, await other(), (await post()).status, (await post()).status, await other()],
      [502, 500, 502, 500, 200, 502],
    );
    assert.deepEqual(
      (await client.steer('GET', '/faults')).map(({ kind, left, field }) => [kind, left, field]),
      [['502', null, '^localization$']],
    );
    await client.steer('DELETE', '/faults');
    assert.equal(await other(), 200);
  });

  test('are refused where there is no such thing', async () => {
    for (const body of [{ kind: 'flood' }, { kind: '200' }, { kind: '500', count: 0 }])
      assert.ok((await fault(body)).error, JSON.stringify(body));
  });

  test('are throttling that looks like success', async () => {
    await fault({ kind: 'throttled' });
    const response = await post();
    assert.equal(response.status, 200);
    assert.deepEqual(await response.json(), { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }] });
  });

  test('are broken answers', async () => {
    await assert.rejects(post({ 'X-Test-Fault': 'reset' }), TypeError);
    await assert.rejects(
      post({ 'X-Test-Fault': 'truncated' }).then((response) => response.text()),
      TypeError,
    );
    assert.equal(await (await post({ 'X-Test-Fault': 'empty' })).text(), '');
    const html = await post({ 'X-Test-Fault': 'html' });
    assert.deepEqual([html.status, html.headers.get('content-type')], [200, 'text/html']);
    const redirect = await post({ 'X-Test-Fault': 'redirect' });
    assert.deepEqual([redirect.status, redirect.headers.get('location')], [301, '/password']);
    await fault({ kind: 'huge', megabytes: 2 });
    const huge = await (await post()).text();
    assert.ok(huge.length > 2_000_000 && JSON.parse(huge).data === null);
  });

  test('are answers that take their time', async () => {
    await fault({ kind: 'slow', interval: 1 });
    const response = await post();
    const reader = response.body.getReader();
    const first = await reader.read();
    assert.ok(first.value.length < Number(response.headers.get('content-length')), 'not all at once');
    await reader.cancel();
    await fault({ kind: 'hang' });
    const controller = new AbortController();
    const hanging = fetch(`${client.url}/api/2026-04/graphql.json`, {
      method: 'POST',
      body: JSON.stringify({ query: document }),
      signal: controller.signal,
    });
    // It was heard, and there is no answer.
    while ((await client.steer('GET', '/journal')).requests.at(-1)?.fault !== 'hang');
    controller.abort();
    await assert.rejects(hanging, { name: 'AbortError' });
  });

  test('lose the answer to what was carried out', async () => {
    const create = `mutation Create { cartCreate(input: { lines: [{ merchandiseId: "${variant(1005)}" }] }) { cart { id } } }`;
    const carts = async () => (await client.steer('GET', '/')).carts;
    await fault({ kind: '500', match: 'Create' });
    assert.deepEqual([(await client.post(create)).status, await carts()], [500, 0]);
    await fault({ kind: '500', match: 'Create', after: true });
    assert.deepEqual([(await client.post(create)).status, await carts()], [500, 1]);
    await fault({ kind: 'reset', match: 'Create', after: true });
    await assert.rejects(client.post(create), TypeError);
    assert.equal(await carts(), 2);
  });

  test('spoil good answers', async () => {
    const ask = async (kind, more) => {
      await fault({ kind, ...more });
      return client.ask(document);
    };
    assert.deepEqual(
      (await ask('null_price')).data.node.variants.nodes.map(({ price }) => price),
      [null, null],
    );
    assert.deepEqual((await ask('missing_currency')).data.node.priceRange.minVariantPrice, { amount: '25.0' });
    const { nodes } = (await ask('duplicate_variants')).data.node.variants;
    assert.deepEqual(
      nodes.map(({ id }) => id),
      [variant(1003, 1), variant(1003, 2), variant(1003, 1)],
    );
    assert.equal((await ask('unknown_enum')).data.node.media.nodes[0].mediaContentType, 'HOLOGRAM');
    const partial = await ask('partial', { path: ['node', 'priceRange'] });
    assert.deepEqual(
      [partial.data.node.priceRange, partial.data.node.title, partial.errors[0].path],
      [null, 'Summit Tee', ['node', 'priceRange']],
    );
    await fault({ kind: 'partial' });
    const lookup = await client.ask(`{ nodes(ids: ["${product(1003)}", "${product(1005)}"]) { id } }`);
    assert.deepEqual(
      [lookup.data.nodes, lookup.errors[0].path],
      [
        [null, { id: product(1005) }],
        ['nodes', 0],
      ],
    );
    await fault({ kind: 'unknown_enum' });
    const cart = await client.ask(
      `mutation { cartCreate(input: { lines: [{ merchandiseId: "${variant(1006)}" }] }) { warnings { code message } } }`,
    );
    assert.equal(cart.data.cartCreate.warnings[0].code, 'PRODUCT_UNAVAILABLE_IN_BUYER_LOCATION');
    await fault({ kind: 'pending_delivery' });
    const pending = await client.ask(
      `mutation { cartCreate(input: { buyerIdentity: { countryCode: US } }) {
        cart { deliveryGroups(first: 1) { nodes { id } } } userErrors { code }
      } }`,
    );
    assert.deepEqual(
      [pending.data.cartCreate.cart.deliveryGroups.nodes, pending.data.cartCreate.userErrors[0].code],
      [[], 'PENDING_DELIVERY_GROUPS'],
    );
  });
});

suite('the process', () => {
  const server = join(import.meta.dirname, '..', 'server.mjs');
  const directory = mkdtempSync(join(tmpdir(), 'storefront-'));
  after(() => rmSync(directory, { recursive: true }));

  async function start(...args) {
    const child = spawn(process.execPath, [server, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = await once(createInterface(child.stdout), 'line');
    return { child, said: JSON.parse(line), ended: once(child, 'exit') };
  }

  test('says where it is, writes the schema, and ends with its standard input', async () => {
    const file = join(directory, 'storefront.graphql');
    const { child, said, ended } = await start('--print-schema', file, '--cost-limit', '5');
    assert.ok(existsSync(said.schema));
    assert.equal(said.schemaVersion, '2026-04');
    assert.ok(buildSchema(readFileSync(file, 'utf8')).getType('ProductVariant'));
    const settings = await (await fetch(`${said.url}/settings`)).json();
    assert.deepEqual([settings.costLimit, settings.requireBuyerIp], [5, false]);
    child.stdin.end();
    assert.deepEqual(await ended, [0, null]);
  });

  test('ends when it is told to', async () => {
    const { child, said, ended } = await start('--require-buyer-ip');
    assert.equal((await (await fetch(`${said.url}/settings`)).json()).requireBuyerIp, true);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });
});
