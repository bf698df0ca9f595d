// A stand-in for a shop made with Magento 2.4.7, with sample goods: it executes documents against the part of Magento's public
// schema that a purchase takes, and lists orders over REST. No code of Magento runs here.
//
//     shop.mjs DIRECTORY PORT
//
// What it keeps is in the directory, in `shop.json`. The shop says where it listens once it does.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { buildSchema, graphql, GraphQLError } from 'graphql';

const directory = resolve(process.argv[2]);
const port = Number(process.argv[3]);
mkdirSync(directory, { recursive: true });
const file = join(directory, 'shop.json');
const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { carts: {}, orders: [], shipments: [], creditmemos: [] };
function save() {
  writeFileSync(`${file}.new`, JSON.stringify(kept));
  renameSync(`${file}.new`, file);
}
save();

const schema = buildSchema(`
  enum CurrencyEnum { USD EUR }
  enum SortEnum { ASC DESC }
  enum ProductStockStatus { IN_STOCK OUT_OF_STOCK }
  type Money { value: Float currency: CurrencyEnum }
  type ComplexTextValue { html: String! }
  type ProductPrice { final_price: Money! regular_price: Money! }
  type PriceRange { minimum_price: ProductPrice! maximum_price: ProductPrice }
  type MediaGallery { url: String label: String }
  type CategoryTree { name: String uid: ID! }
  interface ProductInterface {
    uid: ID! sku: String name: String url_key: String stock_status: ProductStockStatus only_x_left_in_stock: Float
    description: ComplexTextValue media_gallery: [MediaGallery] categories: [CategoryTree] price_range: PriceRange!
  }
  type SimpleProduct implements ProductInterface {
    uid: ID! sku: String name: String url_key: String stock_status: ProductStockStatus only_x_left_in_stock: Float
    description: ComplexTextValue media_gallery: [MediaGallery] categories: [CategoryTree] price_range: PriceRange!
  }
  type ConfigurableAttributeOption { code: String label: String uid: ID! value_index: Int }
  type ConfigurableVariant { attributes: [ConfigurableAttributeOption] product: SimpleProduct }
  type ConfigurableProductOptions { attribute_code: String label: String uid: ID! position: Int }
  type ConfigurableProduct implements ProductInterface {
    uid: ID! sku: String name: String url_key: String stock_status: ProductStockStatus only_x_left_in_stock: Float
    description: ComplexTextValue media_gallery: [MediaGallery] categories: [CategoryTree] price_range: PriceRange!
    configurable_options: [ConfigurableProductOptions] variants: [ConfigurableVariant]
  }
  input FilterEqualTypeInput { eq: String in: [String] }
  input ProductAttributeFilterInput { sku: FilterEqualTypeInput url_key: FilterEqualTypeInput }
  input ProductAttributeSortInput { name: SortEnum price: SortEnum relevance: SortEnum }
  type SearchResultPageInfo { current_page: Int page_size: Int total_pages: Int }
  type Products { items: [ProductInterface] page_info: SearchResultPageInfo total_count: Int }

  type Discount { label: String! amount: Money! }
  type CartItemPrices { price: Money! row_total: Money! }
  interface CartItemInterface { uid: ID! quantity: Float! product: ProductInterface! prices: CartItemPrices }
  type SimpleCartItem implements CartItemInterface { uid: ID! quantity: Float! product: ProductInterface! prices: CartItemPrices }
  type ConfigurableCartItem implements CartItemInterface {
    uid: ID! quantity: Float! product: ProductInterface! prices: CartItemPrices configured_variant: ProductInterface!
  }
  type AppliedCoupon { code: String! }
  type AvailableShippingMethod {
    carrier_code: String! carrier_title: String! method_code: String method_title: String available: Boolean! amount: Money!
    price_excl_tax: Money! price_incl_tax: Money!
  }
  type SelectedShippingMethod { carrier_code: String! carrier_title: String! method_code: String! method_title: String! amount: Money! }
  type ShippingCartAddress { available_shipping_methods: [AvailableShippingMethod] selected_shipping_method: SelectedShippingMethod city: String! }
  type CartTaxItem { label: String! amount: Money! }
  type CartPrices {
    grand_total: Money subtotal_including_tax: Money subtotal_excluding_tax: Money discounts: [Discount] applied_taxes: [CartTaxItem]
  }
  type Cart {
    id: ID! email: String items: [CartItemInterface] applied_coupons: [AppliedCoupon] shipping_addresses: [ShippingCartAddress]!
    prices: CartPrices total_quantity: Float!
  }
  input CartItemInput { sku: String! quantity: Float! parent_sku: String selected_options: [ID!] }
  enum CartUserInputErrorType { PRODUCT_NOT_FOUND NOT_SALABLE INSUFFICIENT_STOCK UNDEFINED }
  type CartUserInputError { code: CartUserInputErrorType! message: String! }
  type AddProductsToCartOutput { cart: Cart! user_errors: [CartUserInputError!]! }
  input CartItemUpdateInput { cart_item_uid: ID quantity: Float }
  input UpdateCartItemsInput { cart_id: String! cart_items: [CartItemUpdateInput!]! }
  input RemoveItemFromCartInput { cart_id: String! cart_item_uid: ID }
  input ApplyCouponToCartInput { cart_id: String! coupon_code: String! }
  input RemoveCouponFromCartInput { cart_id: String! }
  input SetGuestEmailOnCartInput { cart_id: String! email: String! }
  input CartAddressInput {
    firstname: String! lastname: String! street: [String!]! city: String! region: String postcode: String country_code: String!
    telephone: String save_in_address_book: Boolean
  }
  input ShippingAddressInput { address: CartAddressInput }
  input SetShippingAddressesOnCartInput { cart_id: String! shipping_addresses: [ShippingAddressInput!]! }
  input BillingAddressInput { address: CartAddressInput same_as_shipping: Boolean }
  input SetBillingAddressOnCartInput { cart_id: String! billing_address: BillingAddressInput! }
  input ShippingMethodInput { carrier_code: String! method_code: String! }
  input SetShippingMethodsOnCartInput { cart_id: String! shipping_methods: [ShippingMethodInput!]! }
  input PaymentMethodInput { code: String! purchase_order_number: String }
  input SetPaymentMethodOnCartInput { cart_id: String! payment_method: PaymentMethodInput! }
  input PlaceOrderInput { cart_id: String! }
  type CartOutput { cart: Cart! }
  type CustomerOrder { number: String! }
  type PlaceOrderError { code: String! message: String! }
  type PlaceOrderOutput { orderV2: CustomerOrder errors: [PlaceOrderError!]! }
  type CreateGuestCartOutput { cart: Cart }
  type Query {
    products(search: String, filter: ProductAttributeFilterInput, pageSize: Int = 20, currentPage: Int = 1, sort: ProductAttributeSortInput): Products
    cart(cart_id: String!): Cart
  }
  type Mutation {
    createGuestCart: CreateGuestCartOutput
    addProductsToCart(cartId: String!, cartItems: [CartItemInput!]!): AddProductsToCartOutput
    updateCartItems(input: UpdateCartItemsInput): CartOutput
    removeItemFromCart(input: RemoveItemFromCartInput): CartOutput
    applyCouponToCart(input: ApplyCouponToCartInput): CartOutput
    removeCouponFromCart(input: RemoveCouponFromCartInput): CartOutput
    setGuestEmailOnCart(input: SetGuestEmailOnCartInput): CartOutput
    setShippingAddressesOnCart(input: SetShippingAddressesOnCartInput): CartOutput
    setBillingAddressOnCart(input: SetBillingAddressOnCartInput): CartOutput
    setShippingMethodsOnCart(input: SetShippingMethodsOnCartInput): CartOutput
    setPaymentMethodOnCart(input: SetPaymentMethodOnCartInput): CartOutput
    placeOrder(input: PlaceOrderInput): PlaceOrderOutput
  }
`);

const refused = (category, message) => new GraphQLError(message, { extensions: { category: `graphql-${category}` } });
const dollars = (cents) => ({ value: cents / 100, currency: 'USD' });
const METHODS = { flatrate: ['Flat Rate', 490], express: ['Express', 1490] };
const COUNTRIES = ['US', 'AT'];

// Title, price, number in stock.
const GOODS = [
  ['Cotton socks', 750, 100000], ['Cotton mug cosy', 1200, 100000], ['Cotton robe', 8900, 0], ['Cotton towel', 1990, 40],
  ['Cotton scarf', 2495, 40], ['Cotton apron', 3100, 40], ['Cotton bag', 499, 40], ['Cotton sheet', 4550, 40],
  ['Cotton cushion', 2900, 40], ['Cotton blanket', 11900, 40], ['Cotton napkin', 325, 40], ['Linen tablecloth', 5900, 40],
];
// What there is of the shirt, and how many; other combinations do not exist.
const SHIRT = [['S', 'Red', 50], ['M', 'Red', 0], ['L', 'Red', 50], ['S', 'Blue', 50], ['M', 'Blue', 50]];

const product = (sku, name, price, stock, more = {}) => ({
  __typename: 'SimpleProduct', uid: Buffer.from(sku).toString('base64'), sku, name, url_key: sku.toLowerCase(), cents: price, stock,
  stock_status: stock > 0 ? 'IN_STOCK' : 'OUT_OF_STOCK', only_x_left_in_stock: stock < 100 ? stock : null,
  description: { html: `<p>${name}, of good quality.</p>` }, media_gallery: [{ url: `https://shop.example.com/media/${sku}.jpg` }],
  categories: [{ name: 'Textiles', uid: 'MQ==' }],
  price_range: { minimum_price: { final_price: dollars(price), regular_price: dollars(price) } }, ...more,
});
const children = SHIRT.map(([size, colour, stock], at) => (
  product(`SHIRT-${at + 1}`, `Cotton shirt ${size} ${colour}`, size === 'L' ? 2750 : 2500, stock)));
const products = GOODS.map(([name, price, stock], at) => product(`UP${at + 1}`, name, price, stock));
products.push(product('SHIRT', 'Cotton shirt', 2500, 1, {
  __typename: 'ConfigurableProduct',
  configurable_options: [['size', 'Size'], ['colour', 'Colour']].map(([attribute_code, label], position) => ({ attribute_code, label, position, uid: attribute_code })),
  variants: SHIRT.map(([size, colour], at) => ({
    attributes: [{ code: 'size', label: size, uid: size }, { code: 'colour', label: colour, uid: colour }], product: children[at],
  })),
}));
const sold = (sku) => [...products.filter(({ __typename }) => __typename === 'SimpleProduct'), ...children].find((one) => one.sku === sku);

function active(id) {
  const cart = kept.carts[id];
  if (!cart) throw refused('no-such-entity', `Could not find a cart with ID "${id}"`);
  if (!cart.active) throw refused('no-such-entity', "The cart isn't active.");
  return cart;
}

function totals(cart) {
  const goods = cart.items.reduce((sum, { sku, quantity }) => sum + sold(sku).cents * quantity, 0);
  const off = cart.coupon ? Math.floor(goods / 10) : 0;
  const reached = cart.items.length > 0 && cart.address !== undefined;
  const shipping = reached && cart.method ? METHODS[cart.method][1] : 0;
  return { goods, off, reached, total: goods - off + shipping };
}

function shown(id) {
  const cart = active(id);
  const { goods, off, reached, total } = totals(cart);
  const method = (code) => ({
    carrier_code: code, carrier_title: METHODS[code][0], method_code: code, method_title: METHODS[code][0], available: true,
    amount: dollars(METHODS[code][1]), price_excl_tax: dollars(METHODS[code][1]), price_incl_tax: dollars(METHODS[code][1]),
  });
  return {
    id, email: cart.email, total_quantity: cart.items.length, applied_coupons: cart.coupon ? [{ code: cart.coupon }] : null,
    items: cart.items.map(({ uid, sku, parent, quantity }) => ({
      __typename: parent ? 'ConfigurableCartItem' : 'SimpleCartItem', uid, quantity, configured_variant: sold(sku),
      product: parent ? products.find((one) => one.sku === parent) : sold(sku),
      prices: { price: dollars(sold(sku).cents), row_total: dollars(sold(sku).cents * quantity) },
    })),
    shipping_addresses: cart.address ? [{
      city: cart.address.city, available_shipping_methods: reached ? Object.keys(METHODS).map(method) : [],
      selected_shipping_method: reached && cart.method ? method(cart.method) : null,
    }] : [],
    prices: {
      grand_total: dollars(total), subtotal_including_tax: dollars(goods), subtotal_excluding_tax: dollars(goods), applied_taxes: [],
      discounts: off > 0 ? [{ label: '10% off', amount: dollars(off) }] : null,
    },
  };
}

// Changes a cart, and shows it.
const change = (work) => ({ input }) => {
  work(active(input.cart_id), input);
  save();
  return { cart: shown(input.cart_id) };
};
const enough = (sku, quantity) => {
  if (quantity > sold(sku).stock) throw refused('input', 'The requested qty is not available');
};

const root = {
  products({ search, filter, pageSize, currentPage, sort }) {
    if (search === undefined && filter === undefined) throw refused('input', "'search' or 'filter' input argument is required.");
    const words = (search ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    const found = products.filter(({ name, sku }) => words.every((word) => name.toLowerCase().includes(word))
      && (!filter?.sku?.in || filter.sku.in.includes(sku)));
    if (sort?.name) found.sort((one, other) => (one.name < other.name ? -1 : 1));
    const total_pages = Math.ceil(found.length / pageSize);
    if (currentPage > 1 && currentPage > total_pages) throw refused('input', `currentPage value ${currentPage} specified is greater than the ${total_pages} page(s) available.`);
    const items = found.slice((currentPage - 1) * pageSize, currentPage * pageSize);
    return { items, total_count: found.length, page_info: { current_page: currentPage, page_size: pageSize, total_pages } };
  },
  cart: ({ cart_id }) => shown(cart_id),
  createGuestCart() {
    const id = randomBytes(16).toString('hex');
    kept.carts[id] = { number: Object.keys(kept.carts).length + 1, active: true, items: [] };
    save();
    return { cart: shown(id) };
  },
  addProductsToCart({ cartId, cartItems }) {
    const cart = active(cartId);
    const user_errors = [];
    for (const { sku, parent_sku: parent, quantity } of cartItems) {
      const held = cart.items.find((item) => item.sku === sku);
      const message = !sold(sku) ? ['PRODUCT_NOT_FOUND', `Could not find a product with SKU "${sku}"`]
        : sold(sku).stock < quantity + (held?.quantity ?? 0) ? ['INSUFFICIENT_STOCK', 'The requested qty is not available'] : null;
      if (message) user_errors.push({ code: message[0], message: message[1] });
      else if (held) held.quantity += quantity;
      else cart.items.push({ uid: Buffer.from(`item-${sku}`).toString('base64'), sku, parent, quantity });
    }
    save();
    return { cart: shown(cartId), user_errors };
  },
  updateCartItems: change((cart, { cart_items }) => {
    for (const { cart_item_uid, quantity } of cart_items) {
      const item = cart.items.find(({ uid }) => uid === cart_item_uid);
      if (!item) throw refused('no-such-entity', 'Could not find cart item.');
      enough(item.sku, quantity);
      item.quantity = quantity;
    }
  }),
  removeItemFromCart: change((cart, { cart_item_uid }) => { cart.items = cart.items.filter(({ uid }) => uid !== cart_item_uid); }),
  applyCouponToCart: change((cart, { coupon_code }) => {
    if (cart.items.length === 0) throw refused('input', 'Cart does not contain products.');
    if (coupon_code !== 'WELCOME10') throw refused('no-such-entity', "The coupon code isn't valid. Verify the code and try again.");
    cart.coupon = coupon_code;
  }),
  removeCouponFromCart: change((cart) => { delete cart.coupon; }),
  setGuestEmailOnCart: change((cart, { email }) => { cart.email = email; }),
  setShippingAddressesOnCart: change((cart, { shipping_addresses: [{ address }] }) => {
    delete cart.address;
    if (!COUNTRIES.includes(address.country_code)) throw refused('input', 'Country is not available');
    cart.address = address;
  }),
  setBillingAddressOnCart: change((cart, { billing_address }) => {
    if (billing_address.same_as_shipping && !cart.address) throw refused('input', 'Could not use the "same_as_shipping" option, because the shipping address is not set.');
    cart.billing = billing_address;
  }),
  setShippingMethodsOnCart: change((cart, { shipping_methods: [{ carrier_code }] }) => {
    if (!METHODS[carrier_code]) throw refused('input', `Carrier with such method not found: ${carrier_code}`);
    cart.method = carrier_code;
  }),
  setPaymentMethodOnCart: change((cart, { payment_method }) => {
    if (payment_method.code !== 'purchaseorder') throw refused('input', 'The requested Payment Method is not available.');
    if (!payment_method.purchase_order_number) throw refused('input', 'Purchase order number is a required field.');
    cart.payment = payment_method;
  }),
  placeOrder({ input }) {
    const cart = active(input.cart_id);
    const missing = [[cart.items.length, 'A server error stopped your order from being placed.'], [cart.email, 'Guest email for cart is missing.'],
      [cart.method && cart.address, 'The shipping method is missing.'], [cart.payment, 'Enter a valid payment method and try again.']].find(([there]) => !there);
    if (missing) return { orderV2: null, errors: [{ code: 'UNABLE_TO_PLACE_ORDER', message: missing[1] }] };
    const increment_id = String(kept.orders.length + 1).padStart(9, '0');
    const { total } = totals(cart);
    kept.orders.push({
      entity_id: kept.orders.length + 1, increment_id, quote_id: cart.number, state: 'new', order_currency_code: 'USD',
      items: cart.items.map(({ sku, quantity }) => ({ sku, qty_ordered: quantity, qty_shipped: 0 })), status: 'pending', customer_email: cart.email, grand_total: total / 100,
      payment: { method: cart.payment.code, po_number: cart.payment.purchase_order_number }, email: cart.email, total,
    });
    cart.active = false;
    save();
    return { orderV2: { number: increment_id }, errors: [] };
  },
};

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://shop');
  const say = (status, document) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document));
  };
  try {
    const body = Buffer.concat(await request.toArray()).toString('utf8');
    if (url.pathname === '/graphql') {
      const { query, variables } = JSON.parse(body);
      return say(200, await graphql({ schema, source: query, variableValues: variables, rootValue: root }));
    }
    const masked = url.pathname.match(/^\/rest\/V1\/guest-carts\/(\w+)$/)?.[1];
    if (masked && kept.carts[masked]) return say(200, { id: kept.carts[masked].number, is_active: kept.carts[masked].active });
    const [, what, id] = url.pathname.match(/^\/rest\/V1\/(orders|shipments|creditmemos|order)(?:\/(\d+)\/(?:ship|refund))?$/) ?? [];
    if (what && request.headers.authorization !== 'Bearer token-of-the-test-shop') return say(401, { message: 'The consumer is not authorized.' });
    if (what === 'order') {
      const order = kept.orders.find(({ entity_id }) => entity_id === Number(id));
      const created_at = new Date().toISOString().slice(0, 19).replace('T', ' ');
      const made = { entity_id: kept.shipments.length + kept.creditmemos.length + 1, order_id: order.entity_id, created_at };
      if (url.pathname.endsWith('/ship')) {
        Object.assign(order, { state: 'complete', items: order.items.map((item) => ({ ...item, qty_shipped: item.qty_ordered })) });
        kept.shipments.push({ ...made, tracks: JSON.parse(body).tracks });
      } else kept.creditmemos.push({ ...made, grand_total: order.grand_total });
      save();
      return say(200, made.entity_id);
    }
    if (what) {
      const filter = 'searchCriteria[filterGroups][0][filters][0]';
      const [field, value] = ['field', 'value'].map((name) => url.searchParams.get(`${filter}[${name}]`));
      const items = kept[what].filter((one) => `${one[field]}` === value);
      return say(200, { items, total_count: items.length });
    }
    return say(404, { message: 'Request does not match any route.' });
  } catch (error) {
    return say(500, { message: error.message });
  }
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/graphql`));
