// Carts as they are kept and as they are shown. What changes them is in cart-mutation.mjs.
//
// A cart's id carries a secret, `?key=`. Whoever does not have it sees what is in the cart, but nothing about the buyer,
// and changes nothing.
import { randomBytes, randomUUID } from 'node:crypto';
import { connection } from './connection.mjs';
import { deliveryGroups } from './delivery.mjs';
import { discounts } from './discount.mjs';
import { fieldError } from './errors.mjs';
import { homeCountry, market, priced, sellsIn } from './market.mjs';
import { fixedMoney, money } from './money.mjs';
import { viewVariant } from './product.mjs';
import { shopUrl } from './shop.mjs';

/** The carts of a server. */
export class Carts {
  #carts = new Map();

  create(country) {
    const now = new Date().toISOString();
    const cart = {
      token: randomBytes(16).toString('base64url'),
      key: randomBytes(16).toString('hex'),
      checkoutKey: randomBytes(16).toString('hex'),
      lines: [],
      codes: [],
      addresses: [],
      attributes: [],
      chosen: new Map(),
      email: null,
      phone: null,
      note: null,
      country: homeCountry,
      countryKnown: false,
      createdAt: now,
      updatedAt: now,
    };
    if (country) setCountry(cart, country);
    this.#carts.set(cart.token, cart);
    return cart;
  }

  /** A cart by its id, and whether the id has the cart's key. */
  find(id) {
    const [, token, query] = /^gid:\/\/shopify\/Cart\/([^?]+)(?:\?(.*))?$/.exec(id) ?? [];
    const cart = this.#carts.get(token);
    return cart && { cart, owned: new URLSearchParams(query).get('key') === cart.key };
  }

  /** Forgets carts, as Shopify does after some days without a visit. Gives their number. */
  expire(id) {
    const expired = id === undefined ? [...this.#carts.keys()] : [this.find(id)?.cart.token].filter(Boolean);
    for (const token of expired) this.#carts.delete(token);
    return expired.length;
  }

  get size() {
    return this.#carts.size;
  }
}

/** A country that the shop does not sell to is remembered, and leaves the prices as they are. */
export function setCountry(cart, country) {
  cart.country = country;
  cart.countryKnown = true;
}

export const newLine = (cart, variant, quantity, attributes) => ({
  id: `gid://shopify/CartLine/${randomUUID()}?cart=${cart.token}`,
  variant,
  quantity,
  attributes,
});

/** Everything that has an amount, in the smallest unit of the cart's currency. */
export function bill(cart, { totalIncludesDelivery }) {
  const here = market(sellsIn(cart.country) ? cart.country : homeCountry);
  const { currency } = here;
  const lines = cart.lines.map((line) => {
    const each = priced(line.variant.cents, here);
    const { compareAtCents } = line.variant;
    return { ...line, each, before: compareAtCents ? priced(compareAtCents, here) : undefined, subtotal: each * line.quantity };
  });
  const groups = deliveryGroups(cart, currency);
  const delivered = groups.length > 0 && groups.every(({ selected }) => selected);
  const delivery = delivered ? groups.reduce((sum, { selected }) => sum + selected.cost, 0) : undefined;
  const { applied, onLines, onCart } = discounts(cart.codes, { lines, delivery, currency });
  const sum = (amounts) => amounts.reduce((total, { amount }) => total + amount, 0);
  for (const [index, line] of lines.entries())
    Object.assign(line, { discounts: onLines[index], total: line.subtotal - sum(onLines[index]) });
  const subtotal = lines.reduce((total, line) => total + line.total, 0);
  const shipping = onCart.filter((entry) => entry.shipping);
  const total =
    subtotal -
    sum(onCart.filter((entry) => !entry.shipping)) +
    (totalIncludesDelivery && delivered ? delivery - sum(shipping) : 0);
  return { currency, lines, groups, applied, onCart, subtotal, total };
}

const attribute = ({ key, value }) => ({ __typename: 'Attribute', key, value });

function viewAllocation({ amount, percent, fixed, shipping, entitled, code, title }, currency) {
  const targetType = shipping ? 'SHIPPING_LINE' : 'LINE_ITEM';
  return {
    __typename: code ? 'CartCodeDiscountAllocation' : 'CartAutomaticDiscountAllocation',
    code,
    title,
    targetType,
    discountedAmount: money(amount, currency),
    discountApplication: {
      __typename: 'CartDiscountApplication',
      allocationMethod: 'ACROSS',
      targetSelection: entitled ? 'ENTITLED' : 'ALL',
      targetType,
      value: fixed === undefined ? { __typename: 'PricingPercentageValue', percentage: percent } : money(fixed, currency),
    },
  };
}

function viewLine({ id, variant, quantity, attributes, each, before, subtotal, total, discounts: allocations }, currency) {
  const pay = (amount) => money(amount, currency);
  const cost = {
    amountPerQuantity: pay(each),
    compareAtAmountPerQuantity: before === undefined ? null : pay(before),
    subtotalAmount: pay(subtotal),
    totalAmount: pay(total),
  };
  return {
    __typename: 'CartLine',
    id,
    quantity,
    merchandise: viewVariant(variant),
    attributes: attributes.map(attribute),
    attribute: ({ key }) => attributes.map(attribute).find((entry) => entry.key === key) ?? null,
    cost: { __typename: 'CartLineCost', ...cost },
    estimatedCost: {
      __typename: 'CartLineEstimatedCost',
      ...cost,
      amount: cost.amountPerQuantity,
      compareAtAmount: cost.compareAtAmountPerQuantity,
    },
    discountAllocations: allocations.map((entry) => viewAllocation(entry, currency)),
    sellingPlanAllocation: null,
    parentRelationship: null,
    instructions: { __typename: 'CartLineInstructions', canRemove: true, canUpdateQuantity: true },
  };
}

const addressLines = (
  { firstName, lastName, company, address1, address2, city, provinceCode, zip, countryCode },
  { withName, withCompany },
) =>
  [
    withName && [firstName, lastName].filter(Boolean).join(' '),
    withCompany && company,
    address1,
    address2,
    [city, provinceCode, zip].filter(Boolean).join(' '),
    countryCode,
  ].filter(Boolean);

const named = (address) => [address.firstName, address.lastName].filter(Boolean).join(' ') || null;

function viewGroup({ id, lines, address, options, selected }, view, currency, withCarrierRates) {
  const option = ({ code, title, description, handle, type, cost }) => ({
    __typename: 'CartDeliveryOption',
    code,
    title,
    description,
    handle,
    deliveryMethodType: type,
    estimatedCost: fixedMoney(cost, currency),
  });
  return {
    __typename: 'CartDeliveryGroup',
    id,
    groupType: 'ONE_TIME_PURCHASE',
    cartLines: (args) => connection(lines, args, { keyOf: (line) => line.id, view, type: 'BaseCartLine' }),
    deliveryAddress: {
      __typename: 'MailingAddress',
      id: `${id}/address`,
      ...address,
      name: named(address),
      country: address.countryCode,
      countryCodeV2: address.countryCode,
      province: address.provinceCode,
      formatted: (args) => addressLines(address, args),
    },
    deliveryOptions: options.filter(({ calculated }) => withCarrierRates || !calculated).map(option),
    selectedDeliveryOption: selected ? option(selected) : null,
  };
}

/** A cart as the API shows it, to somebody who has its key or has not. */
export function viewCart({ cart, owned }, settings) {
  const { currency, lines, groups, applied, onCart, subtotal, total } = bill(cart, settings);
  const pay = (amount) => money(amount, currency);
  const views = new Map(lines.map((line) => [line.id, viewLine(line, currency)]));
  const viewOf = ({ id }) => views.get(id);
  const cost = {
    checkoutChargeAmount: pay(subtotal),
    subtotalAmount: pay(subtotal),
    totalAmount: pay(total),
    totalDutyAmount: null,
    totalTaxAmount: null,
    subtotalAmountEstimated: false,
    totalAmountEstimated: true,
    totalDutyAmountEstimated: true,
    totalTaxAmountEstimated: true,
  };
  const groupsShown = owned ? groups : [];
  const addresses = (owned ? cart.addresses : []).map(({ id, address, selected, oneTimeUse }) => ({
    __typename: 'CartSelectableAddress',
    id,
    selected,
    oneTimeUse,
    address: {
      __typename: 'CartDeliveryAddress',
      ...address,
      name: named(address),
      formatted: (args) => addressLines(address, args),
    },
  }));
  const id = `gid://shopify/Cart/${cart.token}`;
  return {
    __typename: 'Cart',
    id: owned ? `${id}?key=${cart.key}` : id,
    checkoutUrl: `${shopUrl}/cart/c/${cart.token}?key=${cart.checkoutKey}`,
    createdAt: cart.createdAt,
    updatedAt: cart.updatedAt,
    note: cart.note,
    totalQuantity: lines.reduce((sum, { quantity }) => sum + quantity, 0),
    attributes: cart.attributes.map(attribute),
    attribute: ({ key }) => cart.attributes.map(attribute).find((entry) => entry.key === key) ?? null,
    buyerIdentity: {
      __typename: 'CartBuyerIdentity',
      countryCode: cart.countryKnown ? cart.country : null,
      email: owned ? cart.email : null,
      phone: owned ? cart.phone : null,
      customer: null,
      deliveryAddressPreferences: [],
      preferences: null,
      purchasingCompany: null,
    },
    lines: (args) => connection(lines, args, { keyOf: (line) => line.id, view: viewOf, type: 'BaseCartLine' }),
    cost: { __typename: 'CartCost', ...cost },
    estimatedCost: { __typename: 'CartEstimatedCost', ...cost },
    discountCodes: applied.map(({ code, applicable }) => ({ __typename: 'CartDiscountCode', code, applicable })),
    discountAllocations: onCart.map((entry) => viewAllocation(entry, currency)),
    appliedGiftCards: [],
    delivery: {
      __typename: 'CartDelivery',
      addresses: ({ selected }) => addresses.filter((entry) => !selected || entry.selected),
    },
    deliveryGroups: (args, { defers }) => {
      if (args.withCarrierRates && !defers) throw fieldError('withCarrierRates needs the @defer directive', 'NOT_EMULATED');
      return connection(groupsShown, args, {
        keyOf: (group) => group.id,
        view: (group) => viewGroup(group, viewOf, currency, args.withCarrierRates),
        type: 'CartDeliveryGroup',
      });
    },
    metafield: null,
    metafields: ({ identifiers }) => identifiers.map(() => null),
  };
}
