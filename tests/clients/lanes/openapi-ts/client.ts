// What a developer writes with openapi-fetch and the types generated into api.d.ts. Every field that is read here is one
// that the generated types must know.
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

export function shop(baseUrl: string, agent: string) {
  const client = createClient<paths>({ baseUrl, headers: { 'UCP-Agent': agent } });

  return {
    async search(query: string, currency: string) {
      const { data, error } = await client.POST('/catalog/search', { body: { query, context: { currency } } });
      if (!data) throw new Error(`${error.code}: ${error.content}`);
      if ('products' in data) {
        const prices: number[] = data.products.map((product) => product.price_range.min.amount);
        if (prices.some((price) => !Number.isInteger(price))) throw new Error('a price is an integer');
      }
      return data;
    },

    async lookup(ids: string[]) {
      const { data, error } = await client.POST('/catalog/lookup', { body: { ids } });
      if (!data) throw new Error(`${error.code}: ${error.content}`);
      return data;
    },

    async page(id: string, name: string, label: string) {
      const body = { id, selected: [{ name, label }], preferences: [name] };
      const { data, error } = await client.POST('/catalog/product', { body });
      if (!data) throw new Error(`${error.code}: ${error.content}`);
      // The answer is either of the two, and the type says so.
      if ('product' in data) {
        const title: string = data.product.title;
        if (!title) throw new Error('a product has a title');
      } else {
        const told: string[] = data.messages.map((message) => message.content);
        if (told.length === 0) throw new Error('an error is explained');
      }
      return data;
    },

    async unitPrices(query: string) {
      const { data, error } = await client.POST('/catalog/search', { body: { query } });
      if (!data) throw new Error(`${error.code}: ${error.content}`);
      if (!('products' in data)) throw new Error('a search has products');
      const unitPrices = data.products.flatMap(({ variants }) => variants.flatMap(({ unit_price }) => unit_price ?? []));
      const units: [string, number][] = unitPrices.map(({ measure }) => [measure.unit, measure.value]);
      return units.filter(([unit, value]) => unit && value > 0).length;
    },

    /** Buys one of something, and gives the order. */
    async buy(item: string, handlerId: string, token: string, key: string) {
      const keyed = { header: { 'Idempotency-Key': key } };
      const body = {
        line_items: [{ item: { id: item }, quantity: 1 }],
        buyer: { email: 'buyer@example.com' },
        fulfillment: {
          methods: [
            {
              type: 'shipping',
              destinations: [
                {
                  street_address: '1 Main St',
                  address_locality: 'Eugene',
                  address_region: 'OR',
                  postal_code: '97401',
                  address_country: 'US',
                },
              ],
            },
          ],
        },
      };
      const created = await client.POST('/checkout-sessions', { body });
      const checkout = created.data;
      if (!checkout || !('id' in checkout)) throw new Error('nothing was begun');
      const missing: string[] = (checkout.messages ?? []).map(({ content }) => content);
      if (checkout.status !== 'ready_for_complete') throw new Error(missing.join(' '));
      const total: number | undefined = checkout.totals.find(({ type }) => type === 'total')?.amount;
      const completed = await client.POST('/checkout-sessions/{id}/complete', {
        params: { ...keyed, path: { id: checkout.id } },
        body: {
          payment: {
            instruments: [
              { id: 'card_1', handler_id: handlerId, type: 'card', selected: true, credential: { type: 'token', token } },
            ],
          },
        },
      });
      const { data } = completed;
      if (!data || !('id' in data) || !data.order) throw new Error('nothing was bought');
      const { data: order } = await client.GET('/orders/{id}', { params: { path: { id: data.order.id } } });
      if (!order || !('checkout_id' in order)) throw new Error('there is no order');
      return { status: data.status, total, ordered: order.totals.find(({ type }) => type === 'total')?.amount };
    },

    async refusal(cursor: string) {
      const body = { query: 'runner pro', pagination: { cursor } };
      const { error, response } = await client.POST('/catalog/search', { body });
      if (!error) throw new Error('a forged cursor was taken');
      const { code, content }: { code: string; content: string } = error;
      return { status: response.status, code, content };
    },
  };
}
