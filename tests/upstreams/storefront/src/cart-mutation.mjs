// What changes carts. A mutation answers with the cart as it is afterwards, the errors that kept it from doing something, and
// warnings about what it did in another way than asked.
//
// One bad line refuses all lines of its call; too little stock refuses nothing, and leaves less in the cart than was asked
// for: a line of quantity 0 if there is none at all.
import { randomUUID } from 'node:crypto';
import { variantById, soldIn } from './catalog.mjs';
import { bill, newLine, setCountry, viewCart } from './cart.mjs';
import { addressFaults, deliveryGroups, noAddress } from './delivery.mjs';
import { obtainable } from './discount.mjs';
import { market } from './market.mjs';

const mostLines = 500;
const mostOfALine = 1_000_000;
const mostAddresses = 20;
const longestNote = 5_000;

const userError = (code, field, message) => ({ __typename: 'CartUserError', code, field, message });
const warning = (code, target, message) => ({ __typename: 'CartWarning', code, target, message });

const payload = (name, found, { settings }, errors = [], warnings = []) => ({
  __typename: `${name[0].toUpperCase()}${name.slice(1)}Payload`,
  cart: found ? viewCart(found, settings) : null,
  userErrors: errors,
  warnings,
});

/** What is wrong with lines that are to be added, or with the variants that lines are changed to. */
function lineErrors(lines, path, { here }) {
  const errors = [];
  for (const [index, { merchandiseId, quantity, sellingPlanId }] of lines.entries()) {
    const at = (field) => [...path, String(index), field];
    const variant = merchandiseId == null ? undefined : variantById.get(merchandiseId);
    if (merchandiseId != null && !(variant && soldIn(variant.product, here.country))) {
      errors.push(userError('INVALID', at('merchandiseId'), `The merchandise with id ${merchandiseId} does not exist.`));
      continue;
    }
    if (quantity < 0) errors.push(userError('INVALID', at('quantity'), 'Quantity must be greater than or equal to 0.'));
    if (quantity > mostOfALine) errors.push(userError('LESS_THAN', at('quantity'), `Quantity must be less than ${mostOfALine}.`));
    if (variant?.product.subscription && !sellingPlanId)
      errors.push(
        userError(
          'VARIANT_REQUIRES_SELLING_PLAN',
          at('sellingPlanId'),
          'This variant can only be purchased with a selling plan.',
        ),
      );
  }
  return errors;
}

/** The rules of a variant about how much of it is sold at once. */
function ruleErrors({ rule }, quantity, field) {
  if (!rule || quantity === 0) return [];
  if (quantity < rule.minimum) return [userError('MINIMUM_NOT_MET', field, `The quantity must be at least ${rule.minimum}.`)];
  if (quantity > rule.maximum) return [userError('MAXIMUM_EXCEEDED', field, `The quantity must be at most ${rule.maximum}.`)];
  if (quantity % rule.increment !== 0)
    return [userError('INVALID_INCREMENT', field, `The quantity must be a multiple of ${rule.increment}.`)];
  return [];
}

/** Sets how much a line holds, as far as there is stock. */
function stock(line, wanted, warnings) {
  line.quantity = obtainable(line.variant, wanted);
  const { title } = line.variant.product;
  if (line.quantity === wanted) return;
  if (line.quantity === 0)
    warnings.push(warning('MERCHANDISE_OUT_OF_STOCK', line.id, `The product '${title}' is already sold out.`));
  else
    warnings.push(
      warning(
        'MERCHANDISE_NOT_ENOUGH_STOCK',
        line.id,
        `Only ${line.quantity} items were added to your cart due to availability.`,
      ),
    );
}

const sameAttributes = (a, b) =>
  a.length === b.length && a.every(({ key, value }, index) => key === b[index].key && value === b[index].value);

function addLines(cart, lines, path, context, warnings) {
  const errors = lineErrors(lines, path, context);
  if (cart.lines.length + lines.length > mostLines)
    errors.push(userError('CART_TOO_LARGE', path, `A cart holds at most ${mostLines} lines.`));
  const planned = [];
  for (const [index, { merchandiseId, quantity, attributes }] of errors.length > 0 ? [] : lines.entries()) {
    const variant = variantById.get(merchandiseId);
    const same = (line) => line.variant === variant && sameAttributes(line.attributes, attributes ?? []);
    let entry = planned.find(({ line }) => same(line));
    if (!entry) {
      const line = cart.lines.find(same) ?? newLine(cart, variant, 0, attributes ?? []);
      entry = { line, wanted: line.quantity };
      planned.push(entry);
    }
    entry.wanted += quantity;
    errors.push(...ruleErrors(variant, entry.wanted, [...path, String(index), 'quantity']));
  }
  if (errors.length > 0) return errors;
  for (const { line, wanted } of planned) {
    if (wanted === 0) continue;
    if (!cart.lines.includes(line)) cart.lines.push(line);
    stock(line, wanted, warnings);
  }
  return [];
}

function updateLines(cart, updates, context, warnings) {
  const errors = lineErrors(updates, ['lines'], context);
  for (const [index, { id, merchandiseId, quantity }] of updates.entries()) {
    const line = cart.lines.find((entry) => entry.id === id);
    if (!line)
      errors.push(
        userError(
          'INVALID_MERCHANDISE_LINE',
          ['lines', String(index), 'id'],
          `The merchandise line with id ${id} does not exist.`,
        ),
      );
    else
      errors.push(
        ...ruleErrors(variantById.get(merchandiseId) ?? line.variant, quantity ?? line.quantity, [
          'lines',
          String(index),
          'quantity',
        ]),
      );
  }
  if (errors.length > 0) return errors;
  for (const { id, merchandiseId, quantity, attributes } of updates) {
    const line = cart.lines.find((entry) => entry.id === id);
    // The same line can be named twice, and be gone the second time.
    if (!line) continue;
    if (merchandiseId != null) line.variant = variantById.get(merchandiseId);
    if (attributes != null) line.attributes = attributes;
    if (quantity === 0) cart.lines = cart.lines.filter((entry) => entry !== line);
    else stock(line, quantity ?? line.quantity, warnings);
  }
  return [];
}

function removeLines(cart, ids) {
  const unknown = ids.findIndex((id) => !cart.lines.some((line) => line.id === id));
  if (unknown >= 0)
    return [
      userError(
        'INVALID_MERCHANDISE_LINE',
        ['lineIds', String(unknown)],
        `The merchandise line with id ${ids[unknown]} does not exist.`,
      ),
    ];
  cart.lines = cart.lines.filter(({ id }) => !ids.includes(id));
  return [];
}

function setCodes(cart, codes, settings, warnings) {
  cart.codes = [...new Map(codes.map((code) => [code.toUpperCase(), code])).values()];
  for (const { reason, message } of bill(cart, settings).applied) {
    if (reason) warnings.push(warning(reason, `gid://shopify/Cart/${cart.token}`, message));
  }
}

function setBuyer(cart, { email, phone, countryCode }, path) {
  if (email != null && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email))
    return [userError('INVALID', [...path, 'email'], 'Email is invalid')];
  if (phone != null && !/^\+?[\d ()-]{5,20}$/.test(phone)) return [userError('INVALID', [...path, 'phone'], 'Phone is invalid')];
  // What is not said stays, what is null goes.
  if (email !== undefined) cart.email = email;
  if (phone !== undefined) cart.phone = phone;
  if (countryCode != null) setCountry(cart, countryCode);
  return [];
}

/** Addresses as they are to be kept, or what is wrong with them. */
function readAddresses(inputs, path) {
  const errors = [];
  const addresses = inputs.map(({ address, selected, oneTimeUse, validationStrategy }, index) => {
    const given = address.deliveryAddress ?? {};
    for (const { code, field, message } of addressFaults(given, validationStrategy)) {
      errors.push(userError(code, [...path, String(index), 'address', 'deliveryAddress', field], message));
    }
    return {
      id: `gid://shopify/CartSelectableAddress/${randomUUID()}`,
      address: { ...noAddress, ...given },
      selected: selected === true,
      oneTimeUse: oneTimeUse === true,
    };
  });
  return { errors, addresses };
}

function keepAddresses(cart, addresses, path, warnings) {
  if (addresses.length > mostAddresses)
    return [userError('TOO_MANY_DELIVERY_ADDRESSES', path, `A cart holds at most ${mostAddresses} delivery addresses.`)];
  if (addresses.filter(({ selected }) => selected).length > 1)
    return [userError('ONLY_ONE_DELIVERY_ADDRESS_CAN_BE_SELECTED', path, 'Only one delivery address can be selected.')];
  const kept = [];
  for (const entry of addresses) {
    const same = kept.find(({ address }) => JSON.stringify(address) === JSON.stringify(entry.address));
    if (same) warnings.push(warning('DUPLICATE_DELIVERY_ADDRESS', same.id, 'The delivery address is already in the cart.'));
    else kept.push(entry);
  }
  cart.addresses = kept;
  return [];
}

/** Selecting an address takes the selection from the others. */
const addTo = (existing, added) => [
  ...existing.map((entry) => (added.some(({ selected }) => selected) ? { ...entry, selected: false } : entry)),
  ...added,
];

function selectOptions(cart, choices) {
  const groups = deliveryGroups(cart, market(cart.country).currency);
  for (const [index, { deliveryGroupId, deliveryOptionHandle }] of choices.entries()) {
    const at = (field) => ['selectedDeliveryOptions', String(index), field];
    const group = groups.find(({ id }) => id === deliveryGroupId);
    if (!group) return [userError('INVALID_DELIVERY_GROUP', at('deliveryGroupId'), 'The delivery group is not valid.')];
    if (!group.options.some(({ handle }) => handle === deliveryOptionHandle))
      return [userError('INVALID_DELIVERY_OPTION', at('deliveryOptionHandle'), 'The delivery option is not valid.')];
  }
  for (const { deliveryGroupId, deliveryOptionHandle } of choices) cart.chosen.set(deliveryGroupId, deliveryOptionHandle);
  return [];
}

const setNote = (cart, note, path) => {
  if (note.length > longestNote) return [userError('NOTE_TOO_LONG', path, `The note is longer than ${longestNote} characters.`)];
  cart.note = note;
  return [];
};

function create({ input }, context) {
  const { settings, carts, contextCountry } = context;
  const { lines = [], discountCodes, buyerIdentity, delivery, attributes, note } = input ?? {};
  const warnings = [];
  const cart = carts.create(contextCountry);
  const { errors: addressErrors, addresses } = readAddresses(delivery?.addresses ?? [], ['input', 'delivery', 'addresses']);
  const errors = [
    ...addressErrors,
    ...setBuyer(cart, buyerIdentity ?? {}, ['input', 'buyerIdentity']),
    ...keepAddresses(cart, addresses, ['input', 'delivery', 'addresses'], warnings),
    ...setNote(cart, note ?? '', ['input', 'note']),
    ...addLines(cart, lines ?? [], ['input', 'lines'], { ...context, here: market(cart.country) }, warnings),
  ];
  if (errors.length > 0) {
    carts.expire(`gid://shopify/Cart/${cart.token}`);
    return payload('cartCreate', undefined, context, errors, []);
  }
  cart.attributes = attributes ?? [];
  setCodes(cart, discountCodes ?? [], settings, warnings);
  return payload('cartCreate', { cart, owned: true }, context, [], warnings);
}

/** A mutation of a cart that has to be there, and whose key has to be known. `change` gives its errors. */
const changing = (name, change) => (args, context) => {
  const found = context.carts.find(args.cartId);
  if (!found?.owned)
    return payload(name, undefined, context, [userError('INVALID', ['cartId'], 'The specified cart does not exist.')]);
  const warnings = [];
  const errors = change(found.cart, args, { ...context, here: market(found.cart.country) }, warnings) ?? [];
  if (errors.length === 0) found.cart.updatedAt = new Date().toISOString();
  return payload(name, found, context, errors, warnings);
};

const changes = {
  cartLinesAdd: (cart, { lines }, context, warnings) => addLines(cart, lines, ['lines'], context, warnings),
  cartLinesUpdate: (cart, { lines }, context, warnings) => updateLines(cart, lines, context, warnings),
  cartLinesRemove: (cart, { lineIds }) => removeLines(cart, lineIds),
  cartDiscountCodesUpdate: (cart, { discountCodes }, { settings }, warnings) => setCodes(cart, discountCodes, settings, warnings),
  cartBuyerIdentityUpdate: (cart, { buyerIdentity }) => setBuyer(cart, buyerIdentity, ['buyerIdentity']),
  cartNoteUpdate: (cart, { note }) => setNote(cart, note, ['note']),
  cartAttributesUpdate: (cart, { attributes }) => {
    cart.attributes = attributes;
  },
  cartDeliveryAddressesReplace: (cart, args, _, warnings) => {
    const { errors, addresses } = readAddresses(args.addresses, ['addresses']);
    return errors.length > 0 ? errors : keepAddresses(cart, addresses, ['addresses'], warnings);
  },
  cartDeliveryAddressesAdd: (cart, args, _, warnings) => {
    const { errors, addresses } = readAddresses(args.addresses, ['addresses']);
    return errors.length > 0 ? errors : keepAddresses(cart, addTo(cart.addresses, addresses), ['addresses'], warnings);
  },
  cartDeliveryAddressesRemove: (cart, { addressIds }) => {
    const unknown = addressIds.findIndex((id) => !cart.addresses.some((entry) => entry.id === id));
    if (unknown >= 0)
      return [userError('INVALID_DELIVERY_ADDRESS_ID', ['addressIds', String(unknown)], 'The delivery address does not exist.')];
    cart.addresses = cart.addresses.filter(({ id }) => !addressIds.includes(id));
    return [];
  },
  cartSelectedDeliveryOptionsUpdate: (cart, { selectedDeliveryOptions }) => selectOptions(cart, selectedDeliveryOptions),
  cartRemovePersonalData: (cart) => {
    Object.assign(cart, { email: null, phone: null, addresses: [], chosen: new Map() });
  },
};

/** The root value of mutations. */
export const mutations = {
  cartCreate: create,
  ...Object.fromEntries(Object.entries(changes).map(([name, change]) => [name, changing(name, change)])),
};
