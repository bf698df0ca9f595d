// npm `@ucp-js/sdk`, whose zod schemas are those of 2026-01-11, at the endpoint of that release.
import assert from 'node:assert/strict';
// What it has for `import` names files that are not in the package.
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { leafUrl, meta } from '../lib/gateway.mjs';
import { lookup, missing, newest, refused } from '../lib/shop.mjs';

const { MessageSchema, UcpDiscoveryProfileSchema } = createRequire(import.meta.url)('@ucp-js/sdk');
const base = leafUrl('2026-01-11');

async function send(path, body) {
  const response = await fetch(base + path, {
    method: 'POST',
    headers: { 'UCP-Agent': `profile="${meta['ucp-agent'].profile}"`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, answer: await response.json() };
}

test('reads the profile', async () => {
  const { ucp, payment } = UcpDiscoveryProfileSchema.parse(await (await fetch(`${base}/.well-known/ucp`)).json());
  assert.equal(ucp.version, '2026-01-11');
  assert.equal(ucp.services['dev.ucp.shopping'].rest.endpoint, base);
  assert.equal(ucp.services['dev.ucp.shopping'].mcp.endpoint, `${base}/mcp`);
  assert.ok(ucp.capabilities.some(({ name }) => name === 'dev.ucp.shopping.checkout'));
  assert.deepEqual(payment.handlers.map(({ id }) => id), ['mock_payment_handler']);
});

test('does not take the profile of a newer release for its own', async () => {
  const profile = await (await fetch(`${leafUrl(newest)}/.well-known/ucp`)).json();
  assert.equal(UcpDiscoveryProfileSchema.safeParse(profile).success, false);
});

for (const [what, path, { request }, expected] of [
  ['a refusal', '/catalog/search', refused, { status: 400, type: 'error', code: refused.code, severity: 'recoverable' }],
  ['a product that is not there', '/catalog/product', missing, { status: 404, type: 'error', code: 'not_found', severity: 'requires_buyer_input' }],
  ['a note in an answer', '/catalog/lookup', lookup, { status: 200, type: 'info', code: 'not_found', severity: undefined }],
]) {
  test(`reads ${what}`, async () => {
    const { status, answer } = await send(path, request);
    const [{ type, code, severity, content }, ...others] = answer.messages.map((message) => MessageSchema.parse(message));
    assert.deepEqual({ status, type, code, severity }, expected);
    assert.ok(content);
    assert.deepEqual(others, []);
  });
}
