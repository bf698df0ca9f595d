// What every MCP client of the lanes does, whichever SDK it is from.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { mcpUrlOf, meta, startGateway } from './gateway.mjs';
import { fetching, platformProfile, startHost } from './host.mjs';
import { buy, giveUp, purchaseTools } from './purchase.mjs';
import { readRefusal, startModel } from './shopper.mjs';
import { browse, calls, missing, newest, published, refused, releases, search, tools } from './shop.mjs';

/**
 * Declares the suite `name`.
 *
 * `connect` gives a connected client and `version` what it must have negotiated; `hasPing` is false where the protocol
 * version has no ping any more. Over stdio the gateway serves the one program that started it, so it is `anonymous`: who
 * calls need not be said.
 */
export function mcpSuite(name, { connect, version, negotiated, hasPing = true, anonymous = false }) {
  suite(name, () => {
    let client;
    before(async () => {
      client = await connect();
    });
    after(async () => {
      await client?.close();
    });

    const call = (name, catalog) => client.callTool({ name, arguments: { meta, catalog } });

    test('negotiates the protocol version', () => {
      assert.equal(negotiated(client), version);
      assert.equal(client.getServerVersion().name, 'ucp-gateway');
      assert.ok(client.getServerCapabilities().tools);
    });

    test('lists the tools, each with schemas', async () => {
      const listed = (await client.listTools()).tools;
      for (const name of tools) {
        const tool = listed.find((tool) => tool.name === name);
        assert.ok(tool?.description, `${name} has a description`);
        assert.deepEqual(tool.inputSchema.required.toSorted(), anonymous ? ['catalog'] : ['catalog', 'meta']);
        // Where there is one, the SDK checks every answer against it, in the calls below. At the root over HTTP, callers
        // are answered in releases of their own.
        assert.equal(tool.outputSchema?.type, anonymous ? 'object' : undefined);
      }
    });

    for (const [tool, { request, check }] of calls) {
      test(`${tool} ${JSON.stringify(request)}`, async () => {
        const result = await call(tool, request);
        assert.ok(!result.isError);
        check(result.structuredContent);
        const [text] = result.content;
        assert.deepEqual(JSON.parse(text.text), result.structuredContent, 'the text says the same as the structure');
      });
    }

    test('every kind of product fits the schemas', async () => {
      const { products, pagination } = (await call('search_catalog', browse.request)).structuredContent;
      assert.equal(products.length, 50);
      assert.equal(typeof pagination.cursor, 'string');
      for (const { id } of products) {
        const { product } = (await call('get_product', { id })).structuredContent;
        assert.equal(product.id, id);
      }
    });

    // What a tool is asked about merchants stands among its arguments, as the draft has it.
    test('finds merchants, and where they are', async () => {
      const ask = async (name, asked) => (await client.callTool({ name, arguments: { meta, ...asked } })).structuredContent;
      const { merchants } = await ask('search_merchants', { query: 'late-night pizza' });
      assert.equal(merchants[0].id, 'mch_abc123');
      const { merchant } = await ask('get_merchant', { id: 'mch_abc123' });
      assert.equal(merchant.name, 'Night Owl Pizza');
      const nobody = await ask('get_merchant', { id: 'mch_nobody' });
      assert.equal(nobody.merchant, undefined);
      assert.equal(nobody.messages[0].code, 'NOT_FOUND');
      const [place] = merchant.locations;
      const distance = { center: place.geo, max: 1 };
      const { locations } = await ask('search_locations', { location: { distance } });
      assert.ok(locations.some(({ id }) => id === place.id));
      const found = await ask('lookup_locations', { location: { ids: [place.id] } });
      assert.deepEqual(found.locations[0].inputs, [{ id: place.id }]);
    });

    test('is told why a call was refused', async () => {
      const result = await call('search_catalog', refused.request);
      assert.ok(result.isError);
      assert.match(result.content[0].text, /cursor/);
      // A structure would have to fit the schema that is listed over stdio.
      assert.equal(result.structuredContent?.code, anonymous ? undefined : refused.code);
    });

    test('need not say who it is', async () => {
      const nameless = await client.callTool({ name: 'search_catalog', arguments: { catalog: search.request } });
      search.check(nameless.structuredContent);
    });

    test('lists, searches, is refused, corrects itself, and buys', async () => {
      const model = await startModel(name.replaceAll(/\W+/g, '-'));
      try {
        const said = await model.shop(async (name, args) => readRefusal(await client.callTool({ name, arguments: args })));
        assert.match(said, /^Bought /);
      } finally {
        await model.stop();
      }
    });

    test('is told that there is no such tool', async () => {
      await assert.rejects(client.callTool({ name: 'buy_everything', arguments: { meta } }), { code: -32602 });
    });

    if (hasPing) {
      test('pings', async () => {
        await client.ping();
      });
    }
  });
}

/** Declares a suite for the endpoint of each release. `connect` gives a client that is connected to the URL it gets. */
export function leafSuites(name, connect) {
  for (const release of releases) {
    suite(`${name}, at the endpoint of ${release}`, () => {
      let client;
      before(async () => {
        client = await connect(mcpUrlOf(release));
      });
      after(async () => {
        await client?.close();
      });

      const call = (name, catalog) => client.callTool({ name, arguments: { meta, catalog } });

      test('lists the tools', async () => {
        const listed = (await client.listTools()).tools;
        const names = listed.map(({ name }) => name);
        for (const name of [...tools, ...purchaseTools(release)]) assert.ok(names.includes(name), name);
        assert.equal(names.some((name) => name.endsWith('_cart')), published.includes(release), 'carts came later');
        // The SDK checks every answer against it, in the calls below.
        for (const tool of listed) assert.equal(tool.outputSchema?.type, 'object', tool.name);
      });

      for (const [tool, { request, check }] of calls.filter(([, { request }]) => request !== missing.request)) {
        test(`${tool} ${JSON.stringify(request)}`, async () => check((await call(tool, request)).structuredContent, release));
      }

      test('a page of products fits the schema', async () => {
        const { ucp, products } = (await call('search_catalog', browse.request)).structuredContent;
        assert.equal(ucp.version, release);
        assert.equal(products.length, 50);
      });

      // The SDK checks every answer of it.
      const operate = async (name, id, asked, key) => {
        const keyed = key ? { ...meta, 'idempotency-key': key } : meta;
        const payload = asked ? { [name.split('_')[1]]: asked } : {};
        const result = await client.callTool({ name, arguments: { meta: keyed, ...(id ? { id } : {}), ...payload } });
        return result.structuredContent;
      };
      test('a purchase', () => buy(operate, release));
      test('a purchase that is given up', () => giveUp(operate, release));

      test('a product that is not there', async () => {
        const answer = await call('get_product', missing.request);
        if (published.includes(release)) return missing.check(answer.structuredContent, release);
        assert.ok(answer.isError);
        assert.match(answer.content[0].text, /Product not found/);
      });
    });
  }
}

/**
 * Declares a suite for platforms whose profile the gateway fetches. `connect` gives a client that is connected to the URL
 * it gets. The SDK checks answers against the schemas that the endpoint listed, and has to hand on why a call was refused.
 */
export function profileSuite(name, connect) {
  suite(`${name}, with a profile that is fetched`, () => {
    let host;
    let gateway;
    before(async () => {
      host = await startHost();
      gateway = await startGateway(name.replaceAll(' ', '-'), fetching);
    });
    after(async () => {
      await gateway?.stop();
      await host?.stop();
    });

    async function searchAs(path, profile) {
      const client = await connect(new URL(path, gateway.url));
      try {
        await client.listTools();
        const catalog = { ...browse.request, query: 'coffee' };
        return await client.callTool({ name: 'search_catalog', arguments: { meta: { 'ucp-agent': { profile } }, catalog } });
      } finally {
        await client.close();
      }
    }

    for (const release of releases) {
      test(`the root answers in ${release} who speaks it`, async () => {
        const path = `/${release}.json`;
        const profile = host.put(path, { body: platformProfile(release) });
        const { ucp, products } = (await searchAs('/mcp', profile)).structuredContent;
        assert.equal(ucp.version, release);
        assert.ok(products.some(({ variants }) => variants[0].unit_price), 'where releases differ most');
        assert.equal(host.visits(path), 1);
      });
    }

    const refusals = [
      ['a profile that is not there', '/mcp', () => `${host.origin}/nowhere.json`, 'profile_unreachable'],
      ['a profile that is none', '/mcp', () => host.put('/page.html', { type: 'text/html', body: '<p>' }), 'profile_malformed'],
      ['a release that nobody knows', '/mcp', () => host.put('/9.json', { body: platformProfile('2029-09-09') }), 'version_unsupported'],
      ['an endpoint of another release', '/ucp/2026-04-08/mcp', () => host.put('/late.json', { body: platformProfile(newest) }), 'version_unsupported'],
    ];
    for (const [what, path, profile, code] of refusals) {
      test(`is told about ${what}`, async () => {
        const result = await searchAs(path, profile());
        assert.ok(result.isError);
        assert.equal(result.structuredContent.code, code);
      });
    }
  });
}
