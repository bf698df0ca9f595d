// What the tests of the upstream speak to it with.
import assert from 'node:assert/strict';
import { startUpstream, tokens } from '../src/upstream.mjs';

export const headersOf = {
  none: {},
  public: { 'X-Shopify-Storefront-Access-Token': tokens.public },
  private: { 'Shopify-Storefront-Private-Token': tokens.private, 'Shopify-Storefront-Buyer-IP': '203.0.113.7' },
};

export const product = (number) => `gid://shopify/Product/${number}`;
export const variant = (number, position = 1) => `gid://shopify/ProductVariant/${number * 10_000 + position}`;

/** An upstream for a suite: `before` starts it and `after` stops it. */
export class Client {
  async start(settings) {
    this.upstream = await startUpstream({ settings });
    this.url = this.upstream.url;
  }

  stop() {
    return this.upstream.stop();
  }

  /** The HTTP answer to a document. */
  post(query, variables, { token = 'public', version = '2026-04', headers = {} } = {}) {
    return fetch(`${this.url}/api/${version}/graphql.json`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headersOf[token], ...headers },
      body: JSON.stringify({ query, variables }),
      redirect: 'manual',
    });
  }

  /** The body of it. */
  async ask(query, variables, options) {
    const response = await this.post(query, variables, options);
    assert.equal(response.status, 200, `${response.status} ${query}`);
    return response.json();
  }

  /** Its data, where there must be no errors. */
  async data(query, variables, options) {
    const { data, errors } = await this.ask(query, variables, options);
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data;
  }

  async steer(method, path, body) {
    const response = await fetch(`${this.url}${path}`, { method, body: body === undefined ? undefined : JSON.stringify(body) });
    return response.json();
  }
}
