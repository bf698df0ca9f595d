// A purchase, as every lane makes it: from a cart, where there are carts, to an order. purchase.py is the same for Python.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { published } from './shop.mjs';

/** The tools of the purchase in a release. */
export const purchaseTools = (release) => [
  ...['create', 'get', 'update', 'complete', 'cancel'].map((verb) => `${verb}_checkout`),
  ...(published.includes(release) ? [...['create', 'get', 'update', 'cancel'].map((verb) => `${verb}_cart`), 'get_order'] : []),
];

/** What is bought: a variant that the shop has plenty of. */
export const item = 'var_sunrise-filter_250-g_whole-beans';
const goods = [{ item: { id: item }, quantity: 2 }];
const destination = {
  street_address: '1 Main St',
  address_locality: 'Eugene',
  address_region: 'OR',
  postal_code: '97401',
  address_country: 'US',
};

/** Everything that a checkout needs. */
export const wanted = {
  line_items: goods,
  buyer: { email: 'buyer@example.com', first_name: 'Bea', last_name: 'Buyer' },
  discounts: { codes: ['WELCOME10'] },
  fulfillment: { methods: [{ type: 'shipping', destinations: [destination] }] },
};

/** What pays, with the first handler of a checkout. */
export function paying(checkout, token = 'success_token') {
  const credential = { type: 'token', token };
  if (checkout.payment?.handlers) {
    const [{ id }] = checkout.payment.handlers;
    return { payment_data: { id: 'card_1', handler_id: id, type: 'card', brand: 'visa', last_digits: '1111', credential } };
  }
  const [[{ id }]] = Object.values(checkout.ucp.payment_handlers);
  const display = { brand: 'visa', last_digits: '1111' };
  return { payment: { instruments: [{ id: 'card_1', handler_id: id, type: 'card', selected: true, display, credential }] } };
}

const amount = ({ totals }, kind) => totals.find(({ type }) => type === kind)?.amount;

/**
 * Buys something. `call` carries out an operation: it gets its name, the identifier it is about, what is asked, and an
 * idempotency key, and gives the answer. `keyed` is false where clients make keys of their own.
 */
export async function buy(call, release, { keyed = true } = {}) {
  const ask = (operation, id, asked) => call(operation, id, asked, randomUUID());
  const carts = published.includes(release);
  let checkout;
  if (carts) {
    const cart = await ask('create_cart', undefined, { line_items: goods });
    assert.equal(amount(cart, 'subtotal'), 3_200);
    assert.deepEqual((await ask('get_cart', cart.id)).totals, cart.totals);
    checkout = await ask('create_checkout', undefined, { cart_id: cart.id, line_items: [] });
  } else {
    checkout = await ask('create_checkout', undefined, { line_items: goods });
  }
  assert.equal(checkout.status, 'incomplete');
  assert.ok(checkout.messages.some(({ type, path }) => type === 'error' && path === '$.buyer.email'));
  assert.ok(new URL(checkout.continue_url));

  const updated = await ask('update_checkout', checkout.id, wanted);
  assert.equal(updated.status, 'ready_for_complete', JSON.stringify(updated.messages));
  assert.equal(amount(updated, 'discount'), carts ? -320 : 320, 'signed since there are carts');
  const [method] = updated.fulfillment.methods;
  const [standard, express] = method.groups[0].options;
  assert.equal(method.groups[0].selected_option_id, standard.id);

  const groups = [{ id: method.groups[0].id, selected_option_id: express.id }];
  const faster = await ask('update_checkout', checkout.id, {
    ...wanted,
    line_items: [{ id: updated.line_items[0].id, ...goods[0] }],
    fulfillment: { methods: [{ id: method.id, type: 'shipping', line_item_ids: method.line_item_ids, groups }] },
  });
  assert.equal(amount(faster, 'fulfillment'), express.totals.find(({ type }) => type === 'total').amount);

  const key = randomUUID();
  const completed = await call('complete_checkout', checkout.id, paying(updated), key);
  assert.equal(completed.status, 'completed', JSON.stringify(completed.messages));
  assert.deepEqual(completed.totals, faster.totals);
  if (keyed) {
    const again = await call('complete_checkout', checkout.id, paying(updated), key);
    assert.equal(again.order.id, completed.order.id, 'the same key never buys twice');
  }
  if (carts) {
    const order = await ask('get_order', completed.order.id);
    assert.equal(order.checkout_id, checkout.id);
    assert.deepEqual(order.totals, completed.totals);
  }
  return completed;
}

/** Begins a purchase, and gives it up. */
export async function giveUp(call, release) {
  const { id } = await call('create_checkout', undefined, { line_items: goods }, randomUUID());
  const canceled = await call('cancel_checkout', id, undefined, randomUUID());
  assert.equal(canceled.status, 'canceled');
  if (published.includes(release)) {
    const cart = await call('create_cart', undefined, { line_items: goods }, randomUUID());
    const fewer = { line_items: [{ ...goods[0], quantity: 1 }] };
    assert.equal(amount(await call('update_cart', cart.id, fewer, randomUUID()), 'total'), 1_600);
    assert.equal((await call('cancel_cart', cart.id, undefined, randomUUID())).id, cart.id);
    const gone = await call('get_cart', cart.id);
    assert.deepEqual(gone.messages.map(({ code }) => code), ['not_found']);
  }
}
