// What an agent does in a shop behind the Storefront API, over REST and over MCP: finds, looks up, chooses, fills a cart, takes
// a discount, begins a checkout, and is sent to the shop's own page for the rest. The upstream's journal says what it cost.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { meta, startGateway } from '../../lib/gateway.mjs';
import { newest } from '../../lib/shop.mjs';

const upstream = (file) => import(pathToFileURL(join(process.env.CLIENTS_DIR, 'upstreams/storefront/src', file)));
const { products, availableForSale } = await upstream('catalog.mjs');
const { tokens } = await upstream('upstream.mjs');

const product = (number) => `gid://shopify/Product/${number}`;
const variant = (number, position = 1) => `gid://shopify/ProductVariant/${number * 10_000 + position}`;
const context = { address_country: 'US', currency: 'USD' };
const destination = {
  street_address: '1 Main St',
  address_locality: 'Eugene',
  address_region: 'OR',
  postal_code: '97401',
  address_country: 'US',
};
const amount = ({ totals }, kind) => totals.find(({ type }) => type === kind)?.amount;

/** The upstream's state, apart from that of every other test. */
async function openShop() {
  const { url } = await (await fetch(`${process.env.UCP_STOREFRONT_URL}/shops`, { method: 'POST' })).json();
  const steer = async (method, path, body) => (await fetch(url + path, { method, body: body && JSON.stringify(body) })).json();
  return { url, steer, journal: () => steer('GET', '/journal') };
}

const routes = {
  search_catalog: ['POST', () => '/catalog/search'],
  lookup_catalog: ['POST', () => '/catalog/lookup'],
  get_product: ['POST', () => '/catalog/product'],
  create_cart: ['POST', () => '/carts'],
  get_cart: ['GET', (id) => `/carts/${encodeURIComponent(id)}`],
  update_cart: ['PUT', (id) => `/carts/${encodeURIComponent(id)}`],
  create_checkout: ['POST', () => '/checkout-sessions'],
  get_checkout: ['GET', (id) => `/checkout-sessions/${encodeURIComponent(id)}`],
  update_checkout: ['PUT', (id) => `/checkout-sessions/${encodeURIComponent(id)}`],
};

/** How an operation is called over REST, at the endpoint of the newest release. */
async function rest(gateway) {
  const headers = { 'UCP-Agent': `profile="${meta['ucp-agent'].profile}"`, 'Content-Type': 'application/json' };
  return {
    async call(operation, id, asked) {
      const [method, path] = routes[operation];
      const keyed = method === 'GET' ? headers : { ...headers, 'Idempotency-Key': randomUUID() };
      const response = await fetch(`${gateway}/ucp/${newest}${path(id)}`, {
        method,
        headers: keyed,
        body: asked && JSON.stringify(asked),
      });
      const answer = await response.json();
      // As the SDK of MCP throws what was refused.
      if (!response.ok) throw Object.assign(new Error(`${operation}: ${response.status} ${JSON.stringify(answer)}`), { data: answer });
      return answer;
    },
    close: async () => {},
  };
}

/** The same over MCP. The SDK checks every answer against the schema that the gateway lists. */
async function mcp(gateway) {
  const client = new Client({ name: 'lane', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway}/ucp/${newest}/mcp?schemas=full`)));
  await client.listTools();
  return {
    async call(operation, id, asked) {
      const payload = asked ? { [operation.split('_')[1].replace('product', 'catalog')]: asked } : {};
      const result = await client.callTool({
        name: operation,
        arguments: { meta: { ...meta, 'idempotency-key': randomUUID() }, ...(id ? { id } : {}), ...payload },
      });
      if (result.isError) throw new Error(result.content[0].text);
      return result.structuredContent;
    },
    close: () => client.close(),
  };
}

/** What is offered of a product's values beside what is chosen, worked out the long way. */
function offered({ options, variants }, chosen) {
  return options.map(({ values }, axis) =>
    values.map((_, value) => {
      const fits = ({ position }) =>
        options.every((__, other) => position[other] === (other === axis ? value : (chosen[other] ?? position[other])));
      const found = variants.filter(fits);
      return [found.length > 0, found.some(availableForSale)];
    }),
  );
}

for (const [name, connect] of [
  ['REST', rest],
  ['MCP', mcp],
]) {
  suite(`a shop behind the Storefront API, over ${name}`, () => {
    let shop;
    let gateway;
    let agent;
    const answers = [];
    const call = async (...asked) => {
      const answer = await agent.call(...asked);
      answers.push(answer);
      return answer;
    };
    /** What was asked of the upstream while `work` was done: its result and the operations, in order. */
    const counting = async (work) => {
      const before = (await shop.journal()).total;
      const result = await work();
      return [result, (await shop.journal()).requests.slice(before).map(({ operation, type }) => ({ operation, type }))];
    };

    before(async () => {
      shop = await openShop();
      const file = join(process.env.LANE_DIR, `token-${name}`);
      await writeFile(file, tokens.private, { mode: 0o600 });
      gateway = await startGateway(`storefront-${name}`, '', [
        '--backend',
        'shopify',
        '--upstream-url',
        shop.url,
        '--upstream-token-file',
        file,
      ]);
      agent = await connect(gateway.url);
    });
    after(async () => {
      await agent?.close();
      await gateway?.stop();
    });

    test('search', async () => {
      const [{ products: found }, asked] = await counting(() =>
        call('search_catalog', undefined, { query: 'gift mug', context }),
      );
      assert.deepEqual(
        found.map(({ id }) => id),
        [product(1005)],
      );
      assert.deepEqual(found[0].variants[0].price, { amount: 1_250, currency: 'USD' });
      assert.equal(found[0].options, undefined, 'a product without options has none');
      assert.equal(asked.filter(({ operation }) => operation === 'Search').length, 1);
    });

    test('search in another country and language', async () => {
      const { products: found } = await call('search_catalog', undefined, {
        query: 'gift mug',
        context: { address_country: 'FR', language: 'fr-FR' },
      });
      assert.deepEqual([found[0].title, found[0].variants[0].price], ['Tasse cadeau', { amount: 1_250, currency: 'EUR' }]);
    });

    test('pages that follow each other', async () => {
      const ids = [];
      let cursor;
      do {
        const { products: page, pagination } = await call('search_catalog', undefined, {
          query: 'cotton',
          context,
          pagination: { limit: 9, ...(cursor ? { cursor } : {}) },
        });
        ids.push(...page.map(({ id }) => id));
        cursor = pagination.has_next_page ? pagination.cursor : undefined;
      } while (cursor !== undefined);
      assert.deepEqual([ids.length, new Set(ids).size], [22, 22]);
    });

    test('lookup of products and variants in one call', async () => {
      const ids = [variant(1003, 2), product(1005), product(9), product(1003)];
      const [{ products: found, messages }, asked] = await counting(() => call('lookup_catalog', undefined, { ids, context }));
      assert.deepEqual(found.map(({ id }) => id).toSorted(), [product(1003), product(1005)]);
      const tee = found.find(({ id }) => id === product(1003));
      const matches = tee.variants.flatMap(({ inputs }) => inputs.map(({ id, match }) => [id, match])).toSorted();
      assert.deepEqual(matches, [
        [product(1003), 'featured'],
        [variant(1003, 2), 'exact'],
      ]);
      assert.deepEqual(
        messages.filter(({ code }) => code === 'not_found').map(({ content }) => content),
        [product(9)],
      );
      assert.equal(asked.length, 1, JSON.stringify(asked));
    });

    test('a product of 2,048 variants, with choices', async () => {
      const bolt = products.find(({ number }) => number === 1001);
      const selected = [
        { name: 'Diameter', label: 'M3' },
        { name: 'Length', label: '5 mm' },
      ];
      const [{ product: shown }, asked] = await counting(() =>
        call('get_product', undefined, { id: product(1001), selected, preferences: ['Diameter', 'Length', 'Finish'], context }),
      );
      assert.deepEqual(
        shown.selected.map(({ name: option, label }) => ({ name: option, label })),
        selected,
      );
      const signals = shown.options.map(({ values }) => values.map(({ exists, available }) => [exists, available]));
      assert.deepEqual(signals, offered(bolt, [0, 0, undefined]));
      for (const { options } of shown.variants) {
        for (const choice of selected)
          assert.ok(options.some(({ name: option, label }) => option === choice.name && label === choice.label));
      }
      assert.ok(asked.length <= 3, `the variants are not fetched page by page: ${JSON.stringify(asked)}`);
    });

    test('what is there of a product with gaps, and which choice is given up', async () => {
      const chosen = [
        { name: 'Color', label: 'Green' },
        { name: 'Size', label: 'XL' },
      ];
      const { product: shown } = await call('get_product', undefined, {
        id: product(1003),
        selected: chosen,
        preferences: ['Color', 'Size'],
        context,
      });
      assert.deepEqual(
        shown.selected.map(({ label }) => label),
        ['Green'],
      );
      const signals = shown.options.map(({ values }) => values.map(({ exists, available }) => [exists, available]));
      assert.deepEqual(
        signals,
        offered(
          products.find(({ number }) => number === 1003),
          [2, undefined],
        ),
      );
    });

    test('text that would do harm is not handed on', async () => {
      const { product: lamp } = await call('get_product', undefined, { id: product(1009), context });
      assert.doesNotMatch(JSON.stringify(lamp), /javascript:|onerror|\\u202e|\u202e|\u0007/i);
      // Labels and tags are plain text, in which a bracket is a bracket; a description was HTML.
      assert.doesNotMatch(JSON.stringify(lamp.description), /</);
    });

    test('a purchase, up to where the shop takes over', async () => {
      const goods = [{ item: { id: variant(1005) }, quantity: 2 }];
      const cart = await call('create_cart', undefined, { line_items: goods, context });
      assert.equal(amount(cart, 'subtotal'), 2_500);
      assert.deepEqual((await call('get_cart', cart.id)).totals, cart.totals);
      const discounted = await call('update_cart', cart.id, { line_items: goods, discounts: { codes: ['WELCOME10'] }, context });
      assert.equal(amount(discounted, 'total'), 2_250);

      const checkout = await call('create_checkout', undefined, { cart_id: cart.id, line_items: [] });
      assert.equal(checkout.status, 'incomplete');
      const wanted = {
        line_items: goods,
        buyer: { email: 'buyer@example.com', first_name: 'Bea', last_name: 'Buyer' },
        discounts: { codes: ['WELCOME10'] },
        fulfillment: { methods: [{ type: 'shipping', destinations: [destination] }] },
        context,
      };
      const [ready, asked] = await counting(() => call('update_checkout', checkout.id, wanted));
      assert.equal(ready.status, 'requires_escalation', JSON.stringify(ready.messages));
      assert.equal(amount(ready, 'fulfillment'), 590);
      assert.equal(amount(ready, 'total'), 2_250 + 590);
      const sum = ready.totals.filter(({ type }) => type !== 'total').reduce((total, part) => total + part.amount, 0);
      assert.equal(sum, amount(ready, 'total'));
      assert.equal(asked.filter(({ type }) => type === 'mutation').length, 1, 'all changes in one request');

      // The page on which the buyer goes on is the shop's own, word for word.
      const { requests } = await shop.journal();
      const known = requests.flatMap(
        ({ variables }) => JSON.stringify(variables ?? {}).match(/gid:\/\/shopify\/Cart\/[\w-]+\?key=[0-9a-f]+/g) ?? [],
      );
      const id = known.at(-1);
      assert.ok(id, 'the cart is known by its whole id');
      const asking = {
        method: 'POST',
        body: JSON.stringify({ query: 'query Peek($id: ID!) { cart(id: $id) { checkoutUrl } }', variables: { id } }),
      };
      const { data } = await (await fetch(`${shop.url}/api/2026-04/graphql.json`, asking)).json();
      assert.equal(ready.continue_url, data.cart.checkoutUrl);
      // And the key of the cart is nobody's but the gateway's.
      const [, secret] = id.split('?key=');
      assert.ok(!JSON.stringify(answers).includes(secret));
    });

    test('codes that do not apply are said, and the rest stands', async () => {
      const cart = await call('create_cart', undefined, {
        line_items: [{ item: { id: variant(1005) }, quantity: 1 }],
        discounts: { codes: ['EXPIRED10'] },
        context,
      });
      assert.equal(amount(cart, 'total'), 1_250);
      assert.ok(
        cart.messages.some(({ type, code }) => type === 'warning' && code === 'discount_code_expired'),
        JSON.stringify(cart.messages),
      );
    });

    test('how the goods travel is chosen, or that they are picked up', async () => {
      const goods = [{ item: { id: variant(1005) }, quantity: 1 }];
      const buyer = { email: 'buyer@example.com' };
      const state = (methods) => ({ line_items: goods, buyer, fulfillment: { methods }, context });
      const shipping = { type: 'shipping', destinations: [destination] };
      const begun = await call('create_checkout', undefined, state([shipping]));
      const [{ groups }] = begun.fulfillment.methods;
      assert.deepEqual([groups.length, amount(begun, 'fulfillment')], [1, 590]);
      const named = (title) => groups[0].options.find((option) => option.title === title).id;
      const choose = (id) => state([{ ...shipping, groups: [{ id: groups[0].id, selected_option_id: id }] }]);
      const express = await call('update_checkout', begun.id, choose(named('Express')));
      assert.deepEqual([express.status, amount(express, 'fulfillment')], ['requires_escalation', 1_500]);
      assert.equal(express.fulfillment.methods[0].groups[0].selected_option_id, named('Express'));
      assert.equal(express.continue_url, begun.continue_url);

      const unknown = await call('update_checkout', begun.id, choose('by drone'));
      assert.equal(unknown.status, 'incomplete');
      assert.ok(
        unknown.messages.some(({ code }) => code === 'option_unknown'),
        JSON.stringify(unknown.messages),
      );

      const offered = await call('update_checkout', begun.id, state([{ type: 'pickup' }]));
      const [{ destinations }] = offered.fulfillment.methods;
      assert.deepEqual(
        destinations.map((place) => place.name),
        ['Main Street store'],
      );
      const here = { type: 'pickup', selected_destination_id: destinations[0].id };
      const picked = await call('update_checkout', begun.id, state([here]));
      assert.deepEqual([picked.status, amount(picked, 'total')], ['requires_escalation', 1_250]);
      const shipped = await call('update_checkout', begun.id, state([shipping]));
      assert.deepEqual([shipped.status, amount(shipped, 'fulfillment')], ['requires_escalation', 590]);
    });

    test('a change whose answer is lost is made once, and told as it is', async () => {
      const goods = (quantity) => ({ line_items: [{ item: { id: variant(1005) }, quantity }], context });
      const cart = await call('create_cart', undefined, goods(1));
      for (const [kind, quantity] of [
        ['reset', 2],
        ['503', 4],
        ['throttled', 2],
      ]) {
        await shop.steer('POST', '/faults', { kind, after: true, match: '^CartChange$' });
        const [changed, asked] = await counting(() => call('update_cart', cart.id, goods(quantity)));
        assert.equal(changed.line_items[0].quantity, quantity, kind);
        assert.deepEqual(changed.messages ?? [], [], kind);
        assert.equal(asked.filter(({ type }) => type === 'mutation').length, 1, kind);
      }
      // What never arrived is a refusal that says so, and the same call succeeds later.
      await shop.steer('POST', '/faults', { kind: 'reset', match: '^CartChange$' });
      // A model reads over MCP what REST has in members.
      const refused = ({ data, message }) =>
        (data?.code === 'unavailable' && data.retryable === true) || message.includes('Retry the same call');
      const [, asked] = await counting(() => assert.rejects(call('update_cart', cart.id, goods(1)), refused));
      assert.equal(asked.filter(({ type }) => type === 'mutation').length, 1);
      assert.equal((await call('update_cart', cart.id, goods(1))).line_items[0].quantity, 1);
    });

    test('a cart that the shop has given up is made anew, under the same names', async () => {
      const wanted = {
        line_items: [
          { item: { id: variant(1005) }, quantity: 1 },
          { item: { id: variant(1003) }, quantity: 1 },
        ],
        discounts: { codes: ['WELCOME10'] },
        context,
      };
      const cart = await call('create_cart', undefined, wanted);
      assert.equal((await shop.steer('POST', '/carts/expire', {})).expired > 0, true);
      const again = await call('update_cart', cart.id, wanted);
      assert.deepEqual([again.id, again.line_items, again.totals], [cart.id, cart.line_items, cart.totals]);
      assert.notEqual(again.continue_url, cart.continue_url);
    });

    test('what is sold by subscription only is shown, and not offered', async () => {
      const { product: coffee } = await call('get_product', undefined, { id: product(1018), context });
      assert.deepEqual(
        coffee.variants.map(({ availability }) => availability.available),
        coffee.variants.map(() => false),
      );
    });

    test('less than was asked for is said', async () => {
      const cart = await call('create_cart', undefined, { line_items: [{ item: { id: variant(1013) }, quantity: 9 }], context });
      assert.equal(cart.line_items[0].quantity, 3);
      assert.ok(cart.messages.length > 0);
    });

    test('a shop that is busy for a moment is asked again', async () => {
      await shop.steer('POST', '/faults', { kind: 'throttled', match: '^Search$' });
      const [{ products: found }, asked] = await counting(() => call('search_catalog', undefined, { query: 'parka', context }));
      assert.deepEqual(
        found.map(({ id }) => id),
        [product(1004)],
      );
      assert.deepEqual(
        asked.map(({ operation }) => operation),
        ['Search', 'Search'],
      );
    });

    test('nothing was asked anywhere else, and never without the token', async () => {
      const { requests, strays } = await shop.journal();
      // The keys of the shop's carts are the gateway's alone.
      const keys = new Set(JSON.stringify(requests).match(/(?<=gid:\/\/shopify\/Cart\/[\w-]+\?key=)[0-9a-f]+/g));
      assert.ok(keys.size > 3);
      const told = JSON.stringify(answers);
      for (const key of keys) assert.ok(!told.includes(key));
      assert.ok(!told.includes('gid://shopify/Cart'));
      assert.deepEqual(strays, []);
      const own = requests.filter(({ operation }) => operation !== 'Peek');
      assert.deepEqual([...new Set(own.map(({ token, version }) => `${token} ${version}`))], ['private 2026-04']);
      // Nothing of what the caller's HTTP client says reaches the shop.
      for (const { headerNames } of own)
        assert.ok(!headerNames.includes('ucp-agent') && !headerNames.includes('x-forwarded-for'));
    });
  });
}
