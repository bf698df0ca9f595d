// What a buyer does with goods: the cart, the checkout, the payment and the order.
import { call, form, offers, whose } from './calls.js';
import { h } from './dom.js';
import { guarded, heading, money, picture, quoting, refused, say, show, web } from './view.js';

const nothing = () => ({ lines: [], cart: undefined, checkout: undefined, codes: [], chosen: {}, order: undefined });
const state = { ...nothing(), buyer: {}, address: {} };

/** Forgets what was bought, but not who buys. */
export function forget() {
  Object.assign(state, nothing());
  counted();
}

// ---- Cart

/** Lines as requests name them. */
const asLines = () => state.lines.map(({ item, quantity }) => ({ item: { id: item }, quantity }));

function counted() {
  const count = document.getElementById('cart-count');
  const total = state.lines.reduce((sum, { quantity }) => sum + quantity, 0);
  count.hidden = total === 0;
  count.textContent = String(total);
  count.setAttribute('aria-label', `${total} pieces`);
}

export async function add(variant, { title, media }, quantity) {
  const known = state.lines.find(({ item }) => item === variant.id);
  if (known) known.quantity += quantity;
  else state.lines.push({ item: variant.id, quantity, title: `${title} – ${variant.title}`, media: variant.media?.length ? variant.media : media, price: variant.price });
  state.checkout = undefined;
  counted();
  await store();
  location.hash = '#/cart';
}

/** Makes the cart at the shop what it is here; shops and releases without carts have none there. */
async function store() {
  if (!offers('create_cart') || state.lines.length === 0) {
    state.cart = undefined;
    return;
  }
  const body = { line_items: asLines() };
  const same = state.cart?.id && state.cartOf === whose();
  const answer = same ? await call('update_cart', { id: state.cart.id, body: { id: state.cart.id, ...body }, before: state.cart }) : await call('create_cart', { body });
  state.cart = answer?.line_items ? answer : undefined;
  state.cartOf = whose();
  state.cartProblem = answer?.line_items || answer?.code === 'unknown_path' ? undefined : answer;
}

export function cart() {
  if (state.lines.length === 0) {
    return show(heading('Your cart is empty'), h('p', {}, h('a', { href: '#/' }, 'Look around the shop')));
  }
  const currency = state.cart?.currency ?? state.lines[0].price?.currency ?? 'USD';
  const changed = async (line, quantity) => {
    line.quantity = quantity;
    state.lines = state.lines.filter((one) => one.quantity > 0);
    state.checkout = undefined;
    counted();
    await store();
    cart();
  };
  show(
    heading('Cart'),
    state.cartProblem && refused(state.cartProblem),
    h('ul', { class: 'lines' }, state.lines.map((line) => h('li', {},
      picture(line.media, 'small'),
      h('span', { class: 'what' }, line.title),
      h('input', { id: `quantity-${line.item}`, type: 'number', min: 0, max: 99, value: line.quantity, 'aria-label': `Quantity of ${line.title}`, onchange: (event) => guarded(() => changed(line, Math.max(0, Number(event.target.value) || 0))) }),
      h('span', { class: 'amount' }, line.price && money(line.price.amount * line.quantity, currency)),
      h('button', { type: 'button', class: 'plain', onclick: () => guarded(() => changed(line, 0)) }, 'Remove', h('span', { class: 'hidden' }, ` ${line.title}`))))),
    messages(state.cart),
    totals(state.cart, currency),
    h('p', { class: 'actions' }, h('a', { class: 'button', href: '#/checkout' }, 'Go to checkout')),
  );
}

function messages(document) {
  const told = (document?.messages ?? []).filter(({ type }) => type !== 'error' || document.status === undefined || document.status !== 'incomplete');
  return told.map(({ type, content, path }) => h('p', { class: type === 'info' ? 'note' : 'note alarm' }, quoting(content), path && h('code', { class: 'path' }, path)));
}

function totals(document, currency) {
  if (!document?.totals) return undefined;
  const name = { subtotal: 'Goods', items_discount: 'Discount on items', discount: 'Discount', fulfillment: 'Delivery', tax: 'Tax', fee: 'Fee', gift_card: 'Gift card', store_credit: 'Store credit', total: 'Total' };
  return h('dl', { class: 'totals' }, document.totals.map(({ type, display_text: text, amount }) =>
    h('div', { class: type === 'total' ? 'sum' : '' }, h('dt', {}, text ?? name[type] ?? type), h('dd', {}, money(amount, currency)))));
}

// ---- Checkout

const example = {
  buyer: { email: 'bea@example.com', first_name: 'Bea', last_name: 'Buyer' },
  address: { street_address: '1 Main St', address_locality: 'Eugene', address_region: 'OR', postal_code: '97401', address_country: 'US' },
};

/** What the checkout is to hold. */
function wanted() {
  const lines = state.checkout?.line_items?.map(({ id, item, quantity }) => ({ id, item: { id: item.id }, quantity })) ?? asLines();
  const body = { line_items: lines };
  if (state.buyer.email) body.buyer = state.buyer;
  if (state.codes.length > 0) body.discounts = { codes: state.codes };
  const held = state.checkout?.fulfillment?.methods?.[0];
  if (state.address.address_country) {
    const groups = (held?.groups ?? []).filter(({ id }) => state.chosen[id]).map(({ id }) => ({ id, selected_option_id: state.chosen[id] }));
    const method = { type: 'shipping', destinations: [state.address] };
    if (groups.length > 0) Object.assign(method, { id: held.id, line_item_ids: held.line_item_ids, groups });
    body.fulfillment = { methods: [method] };
  }
  return body;
}

async function begin() {
  const body = state.cart?.id && state.cartOf === whose() ? { cart_id: state.cart.id, line_items: [] } : wanted();
  const answer = await call('create_checkout', { body });
  state.checkout = answer?.line_items ? answer : undefined;
  state.checkoutOf = whose();
  return answer;
}

async function update() {
  const answer = await call('update_checkout', { id: state.checkout.id, body: { ...(form() < '2026-04-08' && { id: state.checkout.id }), ...wanted() }, before: state.checkout });
  if (answer?.line_items) state.checkout = answer;
  checkout(answer?.line_items ? undefined : answer);
  say(answer?.status ? `The checkout is ${answer.status}` : 'Rejected');
}

export async function checkout(problem) {
  if (state.lines.length === 0 && !state.checkout) return cart();
  if (!offers('create_checkout')) return show(heading('No checkout'), h('p', {}, 'This shop has no checkout over UCP: buyers continue at the shop.'));
  if (!state.checkout || state.checkoutOf !== whose()) {
    const answer = await begin();
    if (!state.checkout) return show(heading('Checkout'), refused(answer));
  }
  const { checkout: held } = state;
  const { currency, status } = held;
  const missing = (held.messages ?? []).filter(({ type }) => type === 'error');
  const input = (group, name, label, kind = 'text', complete = 'off') => h('div', { class: 'field' },
    h('label', { for: name }, label), h('input', { id: name, name, type: kind, autocomplete: complete, value: state[group][name] ?? '' }));
  const read = () => {
    for (const [group, names] of [['buyer', ['email', 'first_name', 'last_name']], ['address', Object.keys(example.address)]]) {
      state[group] = Object.fromEntries(names.map((name) => [name, document.getElementById(name).value.trim()]).filter(([, value]) => value));
    }
  };
  const details = h('form', { class: 'panel', onsubmit: (event) => { event.preventDefault(); read(); guarded(update); } },
    h('div', { class: 'heading' }, h('h2', {}, 'Buyer and address'),
      h('button', { id: 'example', type: 'button', class: 'plain', onclick: () => { Object.assign(state, structuredClone(example)); guarded(update); } }, 'Fill in an example')),
    input('buyer', 'email', 'E-mail', 'email', 'email'),
    h('div', { class: 'pair' }, input('buyer', 'first_name', 'First name', 'text', 'given-name'), input('buyer', 'last_name', 'Last name', 'text', 'family-name')),
    input('address', 'street_address', 'Street and number', 'text', 'street-address'),
    h('div', { class: 'pair' }, input('address', 'postal_code', 'Postal code', 'text', 'postal-code'), input('address', 'address_locality', 'City', 'text', 'address-level2')),
    h('div', { class: 'pair' }, input('address', 'address_region', 'Region', 'text', 'address-level1'), input('address', 'address_country', 'Country', 'text', 'country')),
    h('button', { id: 'save', class: 'button second' }, 'Save'));
  const groups = (held.fulfillment?.methods ?? []).flatMap(({ groups: all }) => all ?? []);
  const delivery = groups.length > 0 && h('div', { class: 'panel' }, h('h2', {}, 'Delivery'), groups.map((group) =>
    h('fieldset', {}, h('legend', { class: 'hidden' }, 'Delivery option'), (group.options ?? []).map((option) => {
      const total = option.totals?.find(({ type }) => type === 'total')?.amount;
      return h('label', { class: 'choice' },
        h('input', { id: `${group.id}-${option.id}`, type: 'radio', name: group.id, value: option.id, checked: option.id === group.selected_option_id, onchange: () => { state.chosen[group.id] = option.id; guarded(update); } }),
        h('span', {}, option.title, option.carrier && h('small', {}, option.carrier)), h('span', { class: 'amount' }, total === 0 ? 'free' : money(total, currency)));
    }))));
  const code = h('input', { id: 'code', value: '', autocomplete: 'off', placeholder: 'WELCOME10' });
  const discounts = h('form', { class: 'panel', onsubmit: (event) => { event.preventDefault(); if (code.value.trim()) state.codes = [...new Set([...state.codes, code.value.trim()])]; guarded(update); } },
    h('label', { for: 'code' }, 'Discount code'), h('div', { class: 'row' }, code, h('button', { id: 'apply', class: 'button second' }, 'Apply')),
    (held.discounts?.applied ?? []).map((applied) => h('p', { class: 'quiet' }, `${applied.title}: ${money(-Math.abs(applied.amount), currency)}`)));
  show(
    heading('Checkout', h('span', { class: `tag ${status}` }, status.replaceAll('_', ' '))),
    problem && refused(problem),
    missing.length > 0 && h('div', { class: 'note' }, h('p', {}, 'Still needed:'), h('ul', {}, missing.map(({ content, path }) => h('li', {}, quoting(content), ' ', path && h('code', { class: 'path' }, path))))),
    h('ul', { class: 'lines' }, (held.line_items ?? []).map(({ item, quantity, totals: all }) => h('li', {},
      picture(item.image_url ? [{ type: 'image', url: item.image_url }] : [], 'small'), h('span', { class: 'what' }, `${quantity} × ${item.title}`),
      h('span', { class: 'amount' }, money(all?.find(({ type }) => type === 'total')?.amount, currency))))),
    details, delivery, discounts,
    h('div', { class: 'panel' }, totals(held, currency), payment(held)),
  );
}

/** Payment handlers of a checkout: releases before 2026-04-08 list them in it. */
const handlers = (held) => held.payment?.handlers ?? Object.values(held.ucp?.payment_handlers ?? {}).flat();

function payment(held) {
  const sandbox = handlers(held).find(({ config }) => config?.supported_tokens);
  if (held.status === 'requires_escalation') return onward(held, 'The buyer has to continue on the checkout page.');
  if (!sandbox) return onward(held, 'The buyer pays on the page of the shop.');
  const token = h('select', { id: 'token' }, sandbox.config.supported_tokens.map((name) => h('option', { value: name }, name.replaceAll('_', ' '))));
  return h('div', { class: 'pay' },
    h('label', { for: 'token' }, 'Sandbox card ', token),
    h('button', { id: 'pay', type: 'button', class: 'button', disabled: held.status !== 'ready_for_complete', onclick: () => guarded(() => pay(held, sandbox, token.value)) }, 'Pay'));
}

const onward = (held, text) => web(held.continue_url) && h('p', { class: 'actions' }, text, ' ', h('a', { class: 'button', href: held.continue_url, target: '_blank', rel: 'noreferrer' }, 'Open the buyer’s page'));

async function pay(held, { id }, token) {
  const credential = { type: 'token', token };
  const display = { brand: 'visa', last_digits: '1111' };
  const early = held.payment?.handlers;
  const body = early
    ? { payment_data: { id: 'card_1', handler_id: id, type: 'card', ...display, credential } }
    : { payment: { instruments: [{ id: 'card_1', handler_id: id, type: 'card', selected: true, display, credential }] } };
  const answer = await call('complete_checkout', { id: held.id, body });
  if (answer?.line_items) state.checkout = answer;
  if (!answer?.order) return checkout(answer?.line_items ? undefined : answer);
  Object.assign(state, { order: answer.order, lines: [], cart: undefined, checkout: undefined, chosen: {}, codes: [] });
  counted();
  location.hash = `#/order/${encodeURIComponent(answer.order.id)}`;
}

// ---- Order

export async function order(id) {
  const answer = offers('get_order') ? await call('get_order', { id }) : undefined;
  const known = answer?.line_items ? answer : undefined;
  const address = web(known?.permalink_url ?? state.order?.permalink_url);
  show(
    heading(`Order ${known?.label ?? state.order?.label ?? ''}`, h('span', { class: 'tag completed' }, 'placed')),
    known && h('ul', { class: 'lines' }, known.line_items.map(({ item, quantity, status, totals: all }) => h('li', {},
      picture(item.image_url ? [{ type: 'image', url: item.image_url }] : [], 'small'),
      h('span', { class: 'what' }, `${quantity.total ?? quantity} × ${item.title}`, h('small', {}, status)),
      h('span', { class: 'amount' }, money(all?.find(({ type }) => type === 'total')?.amount, known.currency ?? 'USD'))))),
    known && totals(known, known.currency ?? 'USD'),
    (known?.fulfillment?.expectations ?? []).map(({ description }) => h('p', { class: 'note' }, description)),
    h('p', { class: 'actions' }, address && h('a', { class: 'button', href: address, target: '_blank', rel: 'noreferrer' }, 'The buyer’s order page'), h('a', { class: 'button second', href: '#/' }, 'Back to the shop')),
  );
}
