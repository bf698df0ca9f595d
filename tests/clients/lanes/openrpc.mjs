// Clients generated from the OpenRPC document: OpenRPC's own tools must understand it, and its methods are called
// directly, with positional or named parameters, no MCP around them.
import schemaUtils from '@open-rpc/schema-utils-js';
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { mcpUrl, meta, url } from '../lib/gateway.mjs';
import { calls, refused, tools } from '../lib/shop.mjs';

let document;
before(async () => {
  document = await (await fetch(`${url}/openrpc.json`)).json();
});

/** Calls as the generated TypeScript client does. */
async function call(method, params) {
  const response = await fetch(mcpUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: '*/*' },
    body: JSON.stringify({ jsonrpc: '2.0', id: '0', method, params }),
  });
  const answer = await response.json();
  assert.equal(answer.jsonrpc, '2.0');
  assert.equal(answer.id, '0');
  return answer;
}

suite('the document', () => {
  test('is a valid OpenRPC document that needs no other file', async () => {
    const parsed = await schemaUtils.parseOpenRPCDocument(structuredClone(document), { validate: true, dereference: true });
    assert.equal(parsed.openrpc, '1.3.2');
    assert.ok(parsed.info.version);
    assert.equal(parsed.servers[0].url, mcpUrl.href);
    assert.deepEqual(parsed.methods.map(({ name }) => name).filter((name) => tools.includes(name)), tools);
    assert.ok(!JSON.stringify(document).match(/"\$ref":"[^#]/), 'every reference stays inside');
  });

  test('takes the calls that the gateway takes', async () => {
    const parsed = await schemaUtils.dereferenceDocument(structuredClone(document));
    const validator = new schemaUtils.MethodCallValidator(parsed);
    for (const [method, { request }] of calls) assert.deepEqual(validator.validate(method, [meta, request]), []);
    assert.notDeepEqual(validator.validate('lookup_catalog', [meta, { ids: 'prod_abc123' }]), []);
  });

  test('is what rpc.discover gives', async () => {
    assert.deepEqual((await call('rpc.discover', [])).result, document);
  });
});

for (const [kind, params] of [
  ['positional', (catalog) => [meta, catalog]],
  ['named', (catalog) => ({ meta, catalog })],
]) {
  suite(`${kind} parameters`, () => {
    for (const [method, { request, check }] of calls) {
      test(`${method} ${JSON.stringify(request)}`, async () => check((await call(method, params(request))).result));
    }

    test('a refused call', async () => {
      const { error } = await call('search_catalog', params(refused.request));
      assert.equal(error.code, -32602);
      assert.equal(error.data.code, refused.code);
    });
  });
}

test('a method that is not there', async () => {
  assert.equal((await call('buy_everything', [])).error.code, -32601);
});

test('too few and too many parameters', async () => {
  assert.equal((await call('search_catalog', [meta])).error.code, -32602);
  assert.equal((await call('search_catalog', [meta, { query: 'runner' }, {}])).error.code, -32602);
});
