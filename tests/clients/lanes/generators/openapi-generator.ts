// What a developer writes with the client that openapi-generator makes for fetch.
//
// usage: openapi-generator.js ENDPOINT AGENT ITEM
import {
  Configuration,
  DevUcpShoppingCartApi,
  DevUcpShoppingCatalogLookupApi,
  DevUcpShoppingCatalogSearchApi,
  DevUcpShoppingCheckoutApi,
  DevUcpShoppingOrderApi,
  ModelErrorFromJSON,
  ResponseError,
  type Checkout,
  type UcpErrorResponse,
  type Total,
} from './client/index.js';

declare const process: { argv: string[] };

const [endpoint, agent, item] = process.argv.slice(2) as [string, string, string];
const configuration = new Configuration({ basePath: endpoint, headers: { 'UCP-Agent': agent } });
const search = new DevUcpShoppingCatalogSearchApi(configuration);
const lookup = new DevUcpShoppingCatalogLookupApi(configuration);
const carts = new DevUcpShoppingCartApi(configuration);
const checkouts = new DevUcpShoppingCheckoutApi(configuration);
const orders = new DevUcpShoppingOrderApi(configuration);

/** The answer if it has a resource. The types of the two differ in `ucp.status`. */
function resource<T extends { ucp: { status: string } }>(answer: T | UcpErrorResponse): Exclude<T, UcpErrorResponse> {
  if (answer.ucp.status === 'error') throw new Error((answer as UcpErrorResponse).messages.map(({ content }) => content).join(' '));
  return answer as Exclude<T, UcpErrorResponse>;
}

const total = ({ totals }: { totals: Total[] }, kind = 'total') => totals.find(({ type }) => type === kind)?.amount;

const lineItems = [{ item: { id: item }, quantity: 2 }];
const found = resource(
  await search.searchCatalog({ searchRequest: { query: 'runner pro', context: { currency: 'USD' } } }),
);
const known = resource(await lookup.lookupCatalog({ lookupRequest: { ids: ['prod_abc123', 'prod_unknown'] } }));
const cart = resource(await carts.createCart({ cartRequest: { lineItems } }));
const begun: Checkout = resource(
  await checkouts.createCheckout({ createCheckoutRequest: { cartId: cart.id, lineItems: [] } }),
);
const destination = {
  streetAddress: '1 Main St',
  addressLocality: 'Eugene',
  addressRegion: 'OR',
  postalCode: '97401',
  addressCountry: 'US',
};
const ready: Checkout = resource(
  await checkouts.updateCheckout({
    id: begun.id,
    checkoutRequest: {
      lineItems,
      buyer: { email: 'buyer@example.com' },
      fulfillment: { methods: [{ type: 'shipping', destinations: [destination] }] },
    },
  }),
);
const [handler] = Object.values(ready.ucp.paymentHandlers).flat();
const credential = { type: 'token', token: 'success_token' };
const completed: Checkout = resource(
  await checkouts.completeCheckout({
    id: begun.id,
    idempotencyKey: crypto.randomUUID(),
    completeCheckoutRequest: {
      payment: { instruments: [{ id: 'card_1', handlerId: handler!.id, type: 'card', selected: true, credential }] },
    },
  }),
);
const order = resource(await orders.getOrder({ id: completed.order!.id }));

const missing = await carts.getCart({ id: 'cart_unknown' });
if (missing.ucp.status !== 'error') throw new Error('there is an unknown cart');
const refused = await search
  .searchCatalog({ searchRequest: { query: 'runner pro', pagination: { cursor: 'forged' } } })
  .then(() => Promise.reject(new Error('a forged cursor is accepted')))
  .catch((error: unknown) => (error instanceof ResponseError ? error.response : Promise.reject(error)));

const [place] = ready.fulfillment!.methods[0]!.destinations!;
const told = {
  found: [found.ucp.status, found.products[0]!.title],
  known: [known.products[0]!.id, known.messages![0]!.content],
  subtotal: total(cart, 'subtotal'),
  statuses: [begun.status, ready.status, completed.status],
  destination: 'addressLocality' in place! ? place.addressLocality : undefined,
  bought: order.checkoutId === begun.id && total(order) === total(ready),
  missing: [missing.ucp.status, (missing as UcpErrorResponse).messages[0]!.code],
  refused: [refused.status, ModelErrorFromJSON(await refused.json()).code],
};
console.log(JSON.stringify(told));
