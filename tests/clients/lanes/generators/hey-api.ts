// What a developer writes with the client of Hey API.
//
// usage: hey-api.js ENDPOINT AGENT ITEM
import { completeCheckout, createCart, createCheckout, getCart, getOrder, lookupCatalog, searchCatalog, updateCheckout } from './client/index.js';
import type { UcpErrorResponse, Total } from './client/index.js';
import { client } from './client/client.gen.js';

declare const process: { argv: string[] };

const [endpoint, agent, item] = process.argv.slice(2) as [string, string, string];
client.setConfig({ baseUrl: endpoint, headers: { 'UCP-Agent': agent } });

/** The answer if it has a resource. */
function resource<T>({ data, error }: { data?: T | UcpErrorResponse | undefined; error?: unknown }): Exclude<T, UcpErrorResponse> {
  if (!data) throw new Error(JSON.stringify(error));
  const answer = data as Exclude<T, UcpErrorResponse> | UcpErrorResponse;
  if (isFailure(answer)) throw new Error(answer.messages.map(({ content }) => content).join(' '));
  return answer;
}

const isFailure = (answer: unknown): answer is UcpErrorResponse => (answer as UcpErrorResponse).ucp.status === 'error';
const total = ({ totals }: { totals: Total[] }, kind: Total['type'] = 'total') => totals.find(({ type }) => type === kind)?.amount;

const line_items = [{ item: { id: item }, quantity: 2 }];
const found = resource(await searchCatalog({ body: { query: 'runner pro', context: { currency: 'USD' } } }));
const known = resource(await lookupCatalog({ body: { ids: ['prod_abc123', 'prod_unknown'] } }));
const cart = resource(await createCart({ body: { line_items } }));
const begun = resource(await createCheckout({ body: { cart_id: cart.id } }));
const destination = {
  street_address: '1 Main St',
  address_locality: 'Eugene',
  address_region: 'OR',
  postal_code: '97401',
  address_country: 'US',
};
const ready = resource(
  await updateCheckout({
    path: { id: begun.id },
    body: {
      line_items,
      buyer: { email: 'buyer@example.com' },
      fulfillment: { methods: [{ type: 'shipping', destinations: [destination] }] },
    },
  }),
);
const [handler] = Object.values(ready.ucp.payment_handlers).flat();
const credential = { type: 'token', token: 'success_token' };
const completed = resource(
  await completeCheckout({
    headers: { 'Idempotency-Key': crypto.randomUUID() },
    path: { id: begun.id },
    body: { payment: { instruments: [{ id: 'card_1', handler_id: handler!.id, type: 'card', selected: true, credential }] } },
  }),
);
const order = resource(await getOrder({ path: { id: completed.order!.id } }));

const { data: missing } = await getCart({ path: { id: 'cart_unknown' } });
if (!isFailure(missing)) throw new Error('there is an unknown cart');
const { error: refused, response } = await searchCatalog({
  body: { query: 'runner pro', pagination: { cursor: 'forged' } },
});
if (!refused) throw new Error('a forged cursor is accepted');

const [place] = ready.fulfillment!.methods[0]!.destinations!;
const told = {
  found: [found.ucp.status, found.products[0]!.title],
  known: [known.products[0]!.id, known.messages![0]!.content],
  subtotal: total(cart, 'subtotal'),
  statuses: [begun.status, ready.status, completed.status],
  destination: 'address_locality' in place! ? place.address_locality : undefined,
  bought: order.checkout_id === begun.id && total(order) === total(ready),
  missing: [missing.ucp.status, missing.messages[0]!.code],
  refused: [response?.status, refused.code],
};
console.log(JSON.stringify(told));
