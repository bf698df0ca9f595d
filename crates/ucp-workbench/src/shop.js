// The shop as a buyer would see it, drawn from the answers of calls.
import { ask, call, choose, close, endpoint, form, offers, open, whose } from './calls.js';
import { h } from './dom.js';
import './wire.js';

const place = document.getElementById('view-shop');
const query = document.getElementById('query');
const nothing = () => ({ lines: [], cart: undefined, checkout: undefined, codes: [], chosen: {}, order: undefined, wants: {}, tops: undefined, category: undefined });
const state = { ...nothing(), buyer: {}, address: {} };

/** Says something to screen readers. */
const say = (text) => {
  document.getElementById('status').textContent = text;
};

/** An amount in minor units, as people write it. */
function money(amount, currency) {
  if (amount === undefined) return '–';
  try {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency });
    return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    // Other shops may state a currency that there is not.
    return `${amount} ${currency ?? ''}`;
  }
}

/** An address that may be linked to; other shops may state any text. */
const web = (address) => (/^https?:\/\//i.test(address ?? '') ? address : undefined);

function range(prices) {
  if (!prices?.min || !prices.max) return '';
  const { min, max } = prices;
  const from = money(min.amount, min.currency);
  return min.amount === max.amount ? from : `${from} – ${money(max.amount, max.currency)}`;
}

/** A picture, or a place for one. */
function picture(media, className) {
  const shown = (media ?? []).find(({ type, url }) => type === 'image' && web(url));
  if (!shown) return h('div', { class: `${className} blank`, 'aria-hidden': 'true' });
  return h('img', { class: className, src: shown.url, alt: shown.alt_text ?? '', width: 400, height: 400, loading: 'lazy' });
}

/** A text of the gateway, with what it quotes set as such. */
const quoting = (text) => text.split('`').map((part, at) => (at % 2 === 1 ? h('code', {}, part) : part));

/** What a call was refused for. */
function refused(answer) {
  const messages = answer?.messages?.map(({ content }) => content) ?? [];
  const texts = messages.length > 0 ? messages : [answer?.content ?? 'The gateway gave no answer that can be read.'];
  return h('div', { class: 'note alarm', role: 'alert' }, texts.map((text) => h('p', {}, quoting(text))), answer?.accepted && h('p', { class: 'quiet' }, `Accepted: ${answer.accepted}`));
}

const heading = (text, ...rest) => h('div', { class: 'heading' }, h('h1', { tabindex: '-1' }, text), ...rest);

/** Shows a view. The focus goes to its heading if the buyer has gone there, and else stays where it was. */
function show(...content) {
  const moved = place.dataset.at !== location.hash;
  const { activeElement: before } = document;
  const stays = place.contains(before) && before.id;
  place.replaceChildren(...content.flat().filter((part) => part));
  place.dataset.at = location.hash;
  if (moved && before !== query) place.querySelector('h1')?.focus();
  else if (stays) (document.getElementById(stays) ?? place.querySelector('h1'))?.focus();
}

// ---- Search

/** Number of the newest question of a view; answers to older ones come too late. */
let asked = 0;

/** Most pages of goods that are looked through for categories. */
const MOST_PAGES = 4;

/** The shop's own categories, without those below them: of the first goods, which is what a shop front needs. */
async function categories() {
  const found = new Set();
  let cursor;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await ask('search_catalog', { body: { filters: { available: true }, pagination: { limit: 50, ...(cursor && { cursor }) } } });
    for (const { categories: all } of answer?.products ?? []) {
      for (const { value, taxonomy } of all ?? []) if (taxonomy === 'merchant') found.add(value.split(' > ')[0]);
    }
    cursor = answer?.pagination?.has_next_page && answer.pagination.cursor;
    if (!cursor) break;
  }
  return [...found].slice(0, 10);
}

/** Asks for goods, from a cursor on if there is one. */
function wish(cursor) {
  const words = query.value.trim();
  const { category } = state;
  const filters = { ...(category && { categories: [category] }), ...(!words && !endpoint() && { available: true }) };
  const pagination = { limit: 12, ...(cursor && { cursor }) };
  return { ...(words && { query: words }), ...(Object.keys(filters).length > 0 && { filters }), pagination };
}

/** Opens a product by its identifier, at a shop that cannot be searched. */
function named() {
  const id = h('input', { id: 'product-id', autocomplete: 'off', spellcheck: 'false', required: true });
  show(heading('Open a product'), h('p', {}, 'This shop offers no search over UCP.'),
    h('form', { class: 'panel', onsubmit: (event) => { event.preventDefault(); location.hash = `#/product/${encodeURIComponent(id.value.trim())}`; } },
      h('label', { for: 'product-id' }, 'Identifier of a product'), h('div', { class: 'row' }, id, h('button', { class: 'button second' }, 'Open'))));
}

async function search() {
  if (!offers('search_catalog')) return named();
  const turn = ++asked;
  const words = query.value.trim();
  const { category } = state;
  const answer = await call('search_catalog', { body: wish() });
  // A later search may have been answered before.
  if (turn !== asked) return;
  if (!answer?.products) return show(heading('Search'), refused(answer));
  const { products, pagination } = answer;
  const total = pagination?.total_count ?? products.length;
  const chip = (name) => h('button', {
    type: 'button',
    class: 'chip',
    'aria-pressed': String(category === name),
    onclick: () => guarded(async () => {
      state.category = category === name ? undefined : name;
      await search();
      [...place.querySelectorAll('.chip')].find(({ textContent }) => textContent === name)?.focus();
    }),
  }, name);
  const chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Categories', hidden: true });
  const fill = (tops) => {
    chips.replaceChildren(...tops.map(chip));
    chips.hidden = tops.length < 2;
  };
  if (state.tops) fill(state.tops);
  else if (!endpoint()) guarded(async () => fill((state.tops = await categories())));
  say(`${total} products`);
  show(
    heading(words ? `Results for “${words}”` : (category ?? (endpoint() ? 'Products' : 'Everything in stock')), h('p', { class: 'quiet' }, `${total} products`)),
    chips,
    (answer.messages ?? []).length > 0 && h('div', { class: 'note' }, answer.messages.map(({ content }) => h('p', {}, quoting(content)))),
    products.length === 0 && h('p', { class: 'quiet' }, 'Nothing here is like that.'),
    h('ul', { class: 'goods' }, products.map(card)),
    following(pagination, turn),
  );
}

/** A button that shows the next goods below those that are shown. */
function following(pagination, turn) {
  if (!pagination?.has_next_page) return undefined;
  return h('p', { class: 'more' }, h('button', {
    type: 'button',
    class: 'button second',
    onclick: (event) => guarded(async () => {
      const { target } = event;
      const answer = await call('search_catalog', { body: wish(pagination.cursor) });
      if (turn !== asked || !answer?.products) return;
      const cards = answer.products.map(card);
      place.querySelector('.goods').append(...cards);
      const next = following(answer.pagination, turn);
      if (next) target.parentElement.replaceWith(next);
      else target.parentElement.remove();
      cards[0]?.querySelector('a').focus();
      say(`${answer.products.length} more products`);
    }),
  }, 'Show more'));
}

function card(product) {
  const { rating } = product;
  return h('li', {},
    h('a', { href: `#/product/${encodeURIComponent(product.id)}` },
      picture(product.media, 'thumb'),
      h('span', { class: 'title' }, product.title),
      h('span', { class: 'price' }, range(product.price_range)),
      rating?.value && h('span', { class: 'rating' }, `★ ${rating.value}`, rating.count !== undefined && h('span', { class: 'quiet' }, ` (${rating.count})`))));
}

// ---- Product

async function product(id, wants = {}, latest) {
  if (!offers('get_product')) return show(heading('No page for a product'), h('p', {}, 'This shop does not offer `get_product`: what it sells is in its search alone.'), h('p', {}, h('a', { href: '#/' }, 'All products')));
  const selected = Object.entries(wants).map(([name, label]) => ({ name, label }));
  // The choice that was just made is the last to be given up.
  const preferences = latest && [latest, ...Object.keys(wants).filter((name) => name !== latest)];
  const turn = ++asked;
  const answer = await call('get_product', { body: { id, ...(selected.length > 0 && { selected }), ...(preferences && { preferences }) } });
  if (turn !== asked) return;
  const found = answer?.product;
  if (!found) return show(heading('Not found'), refused(answer));
  const kept = Object.fromEntries((found.selected ?? []).map(({ name, label }) => [name, label]));
  const lost = Object.entries(wants).filter(([name, label]) => kept[name] !== label);
  const [variant] = found.variants ?? [];
  const options = found.options ?? [];
  const complete = options.every(({ name }) => kept[name]);
  const buyable = complete && variant?.availability?.available !== false;
  const media = variant?.media?.length ? variant.media : found.media;
  const quantity = h('input', { id: 'quantity', type: 'number', min: 1, max: 99, value: 1, inputmode: 'numeric' });
  show(
    h('p', { class: 'crumbs' }, h('a', { href: '#/' }, '← All products')),
    h('article', { class: 'product' },
      picture(media, 'large'),
      h('div', {},
        heading(found.title),
        h('p', { class: 'price big' }, complete && variant?.price ? money(variant.price.amount, variant.price.currency) : range(found.price_range),
          variant?.list_price && complete && h('s', {}, h('span', { class: 'hidden' }, 'before: '), money(variant.list_price.amount, variant.list_price.currency))),
        h('p', {}, found.description?.plain ?? ''),
        lost.length > 0 && h('div', { class: 'note', role: 'status' },
          h('p', {}, 'This combination is not made. Given up: ', lost.map(([name, label], at) => [at > 0 ? ', ' : '', h('strong', {}, `${name} ${label}`)]), '.')),
        options.map((option) => picker(found.id, option, kept)),
        options.length > 0 && h('p', { class: 'legend quiet' }, h('code', {}, 'exists'), ' and ', h('code', {}, 'available'), ' of each value are told for the choices made so far.'),
        h('div', { class: 'buy' },
          h('label', {}, 'Quantity ', quantity),
          h('button', { type: 'button', class: 'button', disabled: !buyable, onclick: () => guarded(() => add(variant, found, Math.max(1, Number(quantity.value) || 1))) },
            complete ? (buyable ? 'Add to cart' : 'Sold out') : `Choose ${options.find(({ name }) => !kept[name]).name}`)),
        complete && variant && h('p', { class: 'quiet' }, h('code', {}, variant.id)))));
}

function picker(id, option, kept) {
  const value = ({ label, exists, available }) => {
    const how = exists === false ? 'not made' : available === false ? 'sold out' : 'available';
    const chosen = kept[option.name] === label;
    return h('button', {
      type: 'button',
      class: `value ${how.replace(' ', '-')}`,
      'aria-pressed': String(chosen),
      'data-option': option.name,
      'data-label': label,
      onclick: () => guarded(async () => {
        const wants = { ...kept, [option.name]: label };
        state.wants[id] = wants;
        await product(id, wants, option.name);
        [...place.querySelectorAll('.value')].find(({ dataset }) => dataset.option === option.name && dataset.label === label)?.focus();
      }),
    }, h('span', {}, label), h('small', {}, how));
  };
  return h('fieldset', { class: 'picker' }, h('legend', {}, option.name, kept[option.name] && h('span', { class: 'quiet' }, ` ${kept[option.name]}`)), h('div', {}, option.values.map(value)));
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

async function add(variant, { title, media }, quantity) {
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

function cart() {
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
  const name = { subtotal: 'Goods', items_discount: 'Discount on goods', discount: 'Discount', fulfillment: 'Delivery', tax: 'Tax', fee: 'Fee', total: 'Total' };
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
  say(answer?.status ? `The checkout is ${answer.status}` : 'That was refused');
}

async function checkout(problem) {
  if (state.lines.length === 0 && !state.checkout) return cart();
  if (!offers('create_checkout')) return show(heading('No checkout'), h('p', {}, 'This shop sells nothing over UCP: a buyer goes on at the shop itself.'));
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
    missing.length > 0 && h('div', { class: 'note' }, h('p', {}, 'The shop still asks for:'), h('ul', {}, missing.map(({ content, path }) => h('li', {}, quoting(content), ' ', path && h('code', { class: 'path' }, path))))),
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
  if (held.status === 'requires_escalation') return onward(held, 'The buyer has to go on in person.');
  if (!sandbox) return onward(held, 'This shop is paid on its own page.');
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

async function order(id) {
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

// ---- Ways

function route() {
  // Whatever was asked for before is about another view.
  clearTimeout(typing);
  asked += 1;
  const [, view = '', id = ''] = location.hash.split('/').map(decodeURIComponent);
  if (view === 'product') return product(id, state.wants[id]);
  if (view === 'cart') return cart();
  if (view === 'checkout') return checkout();
  if (view === 'order') return order(id);
  return search();
}

/** Draws again, and shows what goes wrong on the way. */
const guarded = (work) => Promise.resolve().then(work).catch((error) => show(heading('There is no answer'), h('p', { class: 'note alarm', role: 'alert' }, error.message)));

addEventListener('hashchange', () => guarded(route));
let typing;
query.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    state.category = undefined;
    if (location.hash !== '' && location.hash !== '#/') location.hash = '#/';
    else guarded(search);
  }, 180);
});
document.querySelector('form.search').addEventListener('submit', (event) => event.preventDefault());
for (const id of ['view', 'caller', 'key', 'profile']) document.getElementById(id).addEventListener('change', () => guarded(route));
document.getElementById('release').addEventListener('change', () => guarded(async () => {
  await choose();
  describe();
  await route();
}));

// ---- Another endpoint

const described = document.getElementById('endpoint');

/** Says which other endpoint is shown, and what it lacks. */
function describe() {
  const found = endpoint();
  if (!found) return described.replaceChildren();
  const over = [found.rest && 'REST', found.mcp && 'MCP'].filter(Boolean).join(' and ');
  described.replaceChildren(h('div', { class: 'note' },
    h('p', {}, h('strong', {}, new URL(found.address).host), ` speaks ${found.release} over ${over}.`),
    found.lacks.length > 0 && h('p', {}, 'It lacks:'),
    found.lacks.length > 0 && h('ul', {}, found.lacks.map((text) => h('li', {}, text)))));
}

/** Shows another shop from its beginning. */
async function begun() {
  Object.assign(state, nothing());
  query.value = '';
  counted();
  describe();
  if (location.hash === '' || location.hash === '#/') await route();
  else location.hash = '#/';
}

const addressed = document.getElementById('address');
document.getElementById('elsewhere').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (!addressed.value.trim()) return;
  say('The endpoint is asked');
  described.replaceChildren(h('p', { class: 'quiet' }, 'The endpoint is asked for its profile …'));
  try {
    await open(addressed.value);
  } catch (error) {
    describe();
    described.prepend(h('div', { class: 'note alarm', role: 'alert' }, h('p', {}, error.message), error.answer?.accepted && h('p', {}, `Accepted: ${error.answer.accepted}.`)));
    return;
  }
  guarded(begun);
});
document.getElementById('own').addEventListener('click', () => {
  close();
  addressed.value = '';
  addressed.focus();
  guarded(begun);
});
guarded(route);
