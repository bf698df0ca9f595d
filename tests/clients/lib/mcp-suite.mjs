// What every MCP client of the lanes does, whichever SDK it is from.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { meta } from './gateway.mjs';
import { browse, calls, refused, search, tools } from './shop.mjs';

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
        // The SDK checks every answer against it, in the calls below.
        assert.equal(tool.outputSchema?.type, 'object');
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

    test('is told why a call was refused', async () => {
      await assert.rejects(call('search_catalog', refused.request), (error) => {
        assert.equal(error.code, -32602, error.message);
        assert.equal(error.data?.code, refused.code);
        return true;
      });
    });

    test(anonymous ? 'need not say who it is' : 'is told that it must say who it is', async () => {
      const nameless = client.callTool({ name: 'search_catalog', arguments: { catalog: search.request } });
      if (anonymous) return search.check((await nameless).structuredContent);
      await assert.rejects(nameless, (error) => {
        assert.equal(error.code, -32001, error.message);
        assert.equal(error.data?.code, 'invalid_profile_url');
        return true;
      });
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
