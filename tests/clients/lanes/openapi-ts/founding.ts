// What a developer can write against a release from before there were carts and a catalog: begin and look at a purchase, and
// read why a call was refused.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

// Does not compile when there is a catalog, or a cart.
export const later: '/catalog/search' | '/carts' extends keyof paths ? never : 'none' = 'none';

export function shop(baseUrl: string, agent: string) {
  const client = createClient<paths>({ baseUrl, headers: { 'UCP-Agent': agent } });
  return {
    async begin(item: string) {
      const body = { line_items: [{ item: { id: item }, quantity: 1 }] };
      const { data } = await client.POST('/checkout-sessions', { body });
      if (!data || !('id' in data)) throw new Error('nothing was begun');
      const total: number | undefined = data.totals.find(({ type }) => type === 'total')?.amount;
      const { data: again } = await client.GET('/checkout-sessions/{id}', { params: { path: { id: data.id } } });
      return { status: data.status, total, again: again && 'id' in again && again.id === data.id };
    },
  };
}

export function told({ status, messages }: components['schemas']['Error']) {
  const [message] = messages;
  if (message?.type !== 'error') throw new Error('a refusal is an error');
  const { code, severity }: { code: string; severity: string } = message;
  return { status, code, severity };
}
