// A stand-in for a shop made with WooCommerce, with sample goods: the parts of its Store API (wc/store/v1) that a purchase takes,
// and the list of orders of its REST API (wc/v3), as their public documentation describes them. No code of WooCommerce runs here.
//
//     shop.mjs DIRECTORY PORT
//
// What it keeps is in the directory, in `shop.json`. The shop says where it listens once it does.
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';

const directory = resolve(process.argv[2]);
const port = Number(process.argv[3]);
mkdirSync(directory, { recursive: true });
const file = join(directory, 'shop.json');
const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { carts: {}, orders: [] };
function save() {
  writeFileSync(`${file}.new`, JSON.stringify(kept));
  renameSync(`${file}.new`, file);
}
save();

const STAFF = `Basic ${Buffer.from('ck_of_the_test_shop:cs_of_the_test_shop').toString('base64')}`;
const RATES = { 'flat_rate:1': ['Standard', 490], 'flat_rate:2': ['Express', 1490] };
const COUNTRIES = ['US', 'AT'];
const currency = { currency_code: 'USD', currency_symbol: '$', currency_minor_unit: 2 };

// Title, price, number in stock.
const GOODS = [
  ['Cotton socks', 750, 100000], ['Cotton mug cosy', 1200, 100000], ['Cotton robe', 8900, 0], ['Cotton towel', 1990, 40],
  ['Cotton scarf', 2495, 40], ['Cotton apron', 3100, 40], ['Cotton bag', 499, 40], ['Cotton sheet', 4550, 40],
  ['Cotton cushion', 2900, 40], ['Cotton blanket', 11900, 40], ['Cotton napkin', 325, 40], ['Linen tablecloth', 5900, 40],
];
// What there is of the shirt, and how many; other combinations do not exist.
const SHIRT = [['S', 'Red', 50], ['M', 'Red', 0], ['L', 'Red', 50], ['S', 'Blue', 50], ['M', 'Blue', 50]];

const prices = (price) => ({ price: `${price}`, regular_price: `${price}`, sale_price: `${price}`, price_range: null, ...currency });
const product = (id, name, price, stock, more = {}) => ({
  id, name, slug: name.toLowerCase().replaceAll(' ', '-'), parent: 0, type: 'simple', variation: '', permalink: `https://shop.example.com/product/${id}/`,
  sku: `UP${id}`, short_description: '', description: `<p>${name}, of good quality.</p>`, on_sale: false, prices: prices(price),
  images: [{ id, src: `https://shop.example.com/images/${id}.jpg`, name: '', alt: '' }], categories: [{ id: 1, name: 'Textiles', slug: 'textiles' }],
  tags: [], attributes: [], variations: [], has_options: false, is_purchasable: true, is_in_stock: stock > 0, is_on_backorder: false,
  low_stock_remaining: stock > 0 && stock < 100 ? stock : null, sold_individually: false,
  add_to_cart: { text: 'Add to cart', minimum: 1, maximum: stock > 0 ? Math.min(stock, 9999) : 1, multiple_of: 1 }, ...more,
});
const attribute = (id, name, terms) => ({
  id, name, taxonomy: `pa_${name.toLowerCase()}`, has_variations: true,
  terms: terms.map((term, at) => ({ id: id * 10 + at, name: term, slug: term.toLowerCase() })),
});
const products = GOODS.map(([name, price, stock], at) => product(at + 1, name, price, stock));
products.push(product(13, 'Cotton shirt', 2500, 1, {
  type: 'variable', sku: 'SHIRT', has_options: true, attributes: [attribute(1, 'Size', ['S', 'M', 'L']), attribute(2, 'Colour', ['Red', 'Blue'])],
  variations: SHIRT.map(([size, colour], at) => (
    { id: 101 + at, attributes: [{ name: 'Size', value: size.toLowerCase() }, { name: 'Colour', value: colour.toLowerCase() }] })),
}));
const variations = SHIRT.map(([size, colour, stock], at) => product(101 + at, 'Cotton shirt', size === 'L' ? 2750 : 2500, stock, {
  type: 'variation', parent: 13, sku: `SHIRT-${at + 1}`, variation: `Size: ${size}, Colour: ${colour}`,
}));
const all = [...products, ...variations];

class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

function list(query) {
  const words = (query.get('search') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const parents = query.getAll('parent').concat(query.getAll('parent[]')).flatMap((ids) => ids.split(',')).filter(Boolean).map(Number);
  const of = query.get('type') === 'variation' ? variations : products;
  const found = of.filter(({ name, parent }) => words.every((word) => name.toLowerCase().includes(word))
    && (parents.length === 0 || parents.includes(parent)));
  if (query.get('orderby') === 'title') found.sort((one, other) => (one.name < other.name ? -1 : 1));
  const size = Math.min(Number(query.get('per_page') ?? 10), 100);
  const from = (Number(query.get('page') ?? 1) - 1) * size;
  return found.slice(from, from + size);
}

function shown(cart) {
  const items = Object.entries(cart.items).map(([id, quantity]) => {
    const good = all.find((one) => one.id === Number(id));
    const sum = `${Number(good.prices.price) * quantity}`;
    return {
      key: `key-${id}`, id: good.id, quantity, name: good.name, sku: good.sku, permalink: good.permalink, images: good.images,
      quantity_limits: { minimum: 1, maximum: good.add_to_cart.maximum, multiple_of: 1, editable: true }, variation: [], prices: good.prices,
      totals: { line_subtotal: sum, line_subtotal_tax: '0', line_total: sum, line_total_tax: '0', ...currency },
    };
  });
  const goods = items.reduce((sum, { totals }) => sum + Number(totals.line_subtotal), 0);
  const off = cart.coupons.includes('welcome10') ? Math.floor(goods / 10) : 0;
  const reached = items.length > 0 && COUNTRIES.includes(cart.address?.country);
  const chosen = cart.rate ?? 'flat_rate:1';
  const shipping = reached ? RATES[chosen][1] : 0;
  return {
    items, items_count: items.length, needs_payment: goods > 0, needs_shipping: goods > 0, has_calculated_shipping: reached, fees: [], errors: [],
    coupons: cart.coupons.map((code) => ({ code, discount_type: 'percent', totals: { total_discount: `${off}`, total_discount_tax: '0', ...currency } })),
    shipping_rates: !reached ? [] : [{
      package_id: 0, name: 'Shipment 1', destination: cart.address,
      shipping_rates: Object.entries(RATES).map(([rate_id, [name, price]]) => (
        { rate_id, name, description: '', delivery_time: '', price: `${price}`, taxes: '0', selected: rate_id === chosen, ...currency })),
    }],
    shipping_address: cart.address ?? {}, billing_address: cart.billing ?? {}, payment_methods: ['bacs'],
    totals: {
      total_items: `${goods}`, total_items_tax: '0', total_fees: '0', total_fees_tax: '0', total_discount: `${off}`, total_discount_tax: '0',
      total_shipping: reached ? `${shipping}` : null, total_shipping_tax: reached ? '0' : null, total_price: `${goods - off + shipping}`,
      total_tax: '0', tax_lines: [], ...currency,
    },
  };
}

function put(cart, id, quantity) {
  const good = all.find((one) => one.id === id && one.type !== 'variable');
  if (!good) throw new Refused(400, 'woocommerce_rest_cart_invalid_product', 'This product cannot be added to the cart.');
  if (!good.is_in_stock) throw new Refused(400, 'woocommerce_rest_product_out_of_stock', `You cannot add "${good.name}" to the cart because the product is out of stock.`);
  if (quantity > good.add_to_cart.maximum) throw new Refused(400, 'woocommerce_rest_product_partially_out_of_stock', `There are ${good.add_to_cart.maximum} in stock.`);
  cart.items[id] = quantity;
}

const keyed = (cart, key) => {
  const id = Number(String(key).replace('key-', ''));
  if (!cart.items[id]) throw new Refused(409, 'woocommerce_rest_cart_invalid_key', 'Cart item no longer exists or is invalid.');
  return id;
};

const changes = {
  'add-item': (cart, { id, quantity }) => put(cart, id, (cart.items[id] ?? 0) + quantity),
  'update-item': (cart, { key, quantity }) => put(cart, keyed(cart, key), quantity),
  'remove-item': (cart, { key }) => { delete cart.items[keyed(cart, key)]; },
  'apply-coupon': (cart, { code }) => {
    if (code.toLowerCase() !== 'welcome10') throw new Refused(400, 'woocommerce_rest_cart_coupon_error', `Coupon "${code}" does not exist!`);
    if (cart.coupons.includes('welcome10')) throw new Refused(400, 'woocommerce_rest_cart_coupon_error', 'Coupon code already applied!');
    cart.coupons.push('welcome10');
  },
  'remove-coupon': (cart, { code }) => { cart.coupons = cart.coupons.filter((held) => held !== code.toLowerCase()); },
  'update-customer': (cart, { shipping_address, billing_address }) => {
    if (shipping_address) cart.address = { ...cart.address, ...shipping_address };
    if (billing_address) cart.billing = { ...cart.billing, ...billing_address };
  },
  'select-shipping-rate': (cart, { rate_id: rate }) => {
    if (!RATES[rate]) throw new Refused(400, 'woocommerce_rest_cart_missing_rate_id', 'Invalid rate ID.');
    cart.rate = rate;
  },
};

function checkout(token, cart, asked) {
  if (Object.keys(cart.items).length === 0) throw new Refused(400, 'woocommerce_rest_cart_empty', 'Cannot place an order, your cart is empty.');
  if (!asked.billing_address?.email) throw new Refused(400, 'woocommerce_rest_invalid_email_address', 'The provided email address is not valid.');
  if (asked.payment_method !== 'bacs') throw new Refused(400, 'woocommerce_rest_checkout_payment_method_disabled', 'The payment method is not available.');
  Object.assign(cart, { address: asked.shipping_address });
  const id = 5001 + kept.orders.length;
  kept.orders.unshift({
    id, number: `${id}`, status: 'on-hold', currency: 'USD', refunds: [], customer_note: asked.customer_note, billing: asked.billing_address,
    email: asked.billing_address.email, total: Number(shown(cart).totals.total_price),
  });
  kept.carts[token] = { items: {}, coupons: [] };
  return { order_id: id, order_number: `${id}`, status: 'on-hold', order_key: `wc_order_${id}`, customer_note: asked.customer_note, payment_method: 'bacs', payment_result: { payment_status: 'success', payment_details: [], redirect_url: '' } };
}

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://shop');
  const say = (status, document, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(document));
  };
  try {
    const text = Buffer.concat(await request.toArray()).toString('utf8');
    const asked = text === '' ? {} : JSON.parse(text);
    const path = url.pathname.replace('/wp-json/wc/', '');
    if (path.startsWith('v3/')) {
      if (request.headers.authorization !== STAFF) throw new Refused(401, 'woocommerce_rest_cannot_view', 'Sorry, you cannot list resources.');
      if (path === 'v3/orders') return say(200, kept.orders.slice(0, Number(url.searchParams.get('per_page') ?? 10)));
      const [, number, refunds] = path.match(/^v3\/orders\/(\d+)(\/refunds)?$/) ?? [];
      const order = kept.orders.find((one) => one.id === Number(number));
      if (!order) throw new Refused(404, 'woocommerce_rest_shop_order_invalid_id', 'Invalid ID.');
      const now = new Date().toISOString().slice(0, 19);
      if (request.method === 'PUT') Object.assign(order, asked, { date_modified_gmt: now, date_completed_gmt: asked.status === 'completed' ? now : null });
      if (request.method === 'POST') order.refunds.push({ id: 9001 + order.refunds.length, date_created_gmt: now, amount: asked.amount, reason: asked.reason ?? '' });
      save();
      return say(200, refunds ? order.refunds : order);
    }
    if (path === 'store/v1/products') return say(200, list(url.searchParams));
    const id = path.match(/^store\/v1\/products\/(\d+)$/)?.[1];
    const found = all.find((one) => one.id === Number(id));
    if (found) return say(200, found);
    const [, , what, change] = path.match(/^(store\/v1)\/(cart|checkout)(?:\/([a-z-]+))?$/) ?? [];
    if (!what) throw new Refused(404, 'rest_no_route', 'No route was found matching the URL and request method.');
    // A token that is not known begins a cart of its own, as one that has expired does.
    const stated = request.headers['cart-token'];
    const token = stated && kept.carts[stated] ? stated : randomUUID();
    const cart = kept.carts[token] ??= { items: {}, coupons: [] };
    if (request.method !== 'GET' && token !== stated) throw new Refused(401, 'woocommerce_rest_missing_nonce', 'Missing the Nonce header.');
    let answer;
    if (what === 'checkout') answer = checkout(token, cart, asked);
    else if (request.method === 'DELETE' && change === 'items') cart.items = {};
    else if (request.method === 'POST') changes[change](cart, asked);
    save();
    return say(200, answer ?? shown(cart), { 'cart-token': token });
  } catch (error) {
    return say(error.status ?? 500, { code: error.code, message: error.message, data: { status: error.status } });
  }
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/wp-json/wc/store/v1`));
