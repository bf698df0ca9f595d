// What a developer writes with openapi-fetch and the types generated into api.d.ts. Every field that is read here is one
// that the generated types must know.
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

export function shop(baseUrl: string, agent: string) {
  const client = createClient<paths>({ baseUrl });
  const params = { header: { 'UCP-Agent': agent } };

  return {
    async search(query: string, currency: string) {
      const { data, error } = await client.POST('/catalog/search', { params, body: { query, context: { currency } } });
      if (!data) throw new Error(`${error.code}: ${error.content}`);
      if ('products' in data) {
        const prices: number[] = data.products.map((product) => product.price_range.min.amount);
        if (prices.some((price) => !Number.isInteger(price))) throw new Error('a price is an integer');
      }
      return data;
    },

    async lookup(ids: string[]) {
      const { data, error } = await client.POST('/catalog/lookup', { params, body: { ids } });
      if (!data) throw new Error(`${error.code}: ${error.content}`);
      return data;
    },

    async page(id: string, name: string, label: string) {
      const body = { id, selected: [{ name, label }], preferences: [name] };
      const { data, error } = await client.POST('/catalog/product', { params, body });
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
      const { data, error } = await client.POST('/catalog/search', { params, body: { query } });
      if (!data) throw new Error(`${error.code}: ${error.content}`);
      if (!('products' in data)) throw new Error('a search has products');
      const unitPrices = data.products.flatMap(({ variants }) => variants.flatMap(({ unit_price }) => unit_price ?? []));
      const units: [string, number][] = unitPrices.map(({ measure }) => [measure.unit, measure.value]);
      return units.filter(([unit, value]) => unit && value > 0).length;
    },

    async refusal(cursor: string) {
      const body = { query: 'runner pro', pagination: { cursor } };
      const { error, response } = await client.POST('/catalog/search', { params, body });
      if (!error) throw new Error('a forged cursor was taken');
      const { code, content }: { code: string; content: string } = error;
      return { status: response.status, code, content };
    },
  };
}
