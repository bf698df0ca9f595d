// Discount codes, what they take off, and why some of them take off nothing.
import { availableForSale } from './catalog.mjs';
import { convert } from './money.mjs';

/**
 * `percent` or `cents` (of a US dollar) are taken off the lines, the whole cart or the delivery; `refuse` says why a code
 * does not apply.
 */
const codes = {
  WELCOME10: { percent: 10, target: 'lines' },
  ORDER5: { cents: 500, target: 'cart' },
  FREESHIP: { percent: 100, target: 'delivery', refuse: ({ delivered }) => !delivered && 'DISCOUNT_NO_ENTITLED_SHIPPING_LINES' },
  SHOES20: { percent: 20, target: 'lines', entitled: ({ product }) => product.type === 'Shoes' },
  BIG100: {
    cents: 2000,
    target: 'cart',
    refuse: ({ subtotal, currency }) => subtotal < convert(10_000, currency) && 'DISCOUNT_PURCHASE_NOT_IN_RANGE',
  },
  FIVEPLUS: { percent: 5, target: 'lines', refuse: ({ quantity }) => quantity < 5 && 'DISCOUNT_QUANTITY_NOT_IN_RANGE' },
  EXPIRED10: { refuse: () => 'DISCOUNT_CURRENTLY_INACTIVE' },
  VIP: { refuse: () => 'DISCOUNT_CUSTOMER_NOT_ELIGIBLE' },
  MEMBERS: { refuse: () => 'DISCOUNT_ELIGIBLE_CUSTOMER_MISSING' },
  ONCE: { refuse: () => 'DISCOUNT_CUSTOMER_USAGE_LIMIT_REACHED' },
  USEDUP: { refuse: () => 'DISCOUNT_USAGE_LIMIT_REACHED' },
};

/** Nobody enters it: three mugs or more are a fifth cheaper. */
const automatic = {
  title: 'Mug trio',
  percent: 20,
  applies: ({ variant, quantity }) => variant.product.title === 'Gift Mug' && quantity >= 3,
};

const messages = {
  DISCOUNT_NOT_FOUND: 'The discount code could not be found.',
  DISCOUNT_CURRENTLY_INACTIVE: 'The discount code is not active.',
  DISCOUNT_CUSTOMER_NOT_ELIGIBLE: 'The discount code does not apply to this customer.',
  DISCOUNT_ELIGIBLE_CUSTOMER_MISSING: 'The discount code is for customers who are signed in.',
  DISCOUNT_CUSTOMER_USAGE_LIMIT_REACHED: 'The discount code was already used.',
  DISCOUNT_USAGE_LIMIT_REACHED: 'The discount code has reached its usage limit.',
  DISCOUNT_NO_ENTITLED_LINE_ITEMS: 'The discount code does not apply to anything in the cart.',
  DISCOUNT_NO_ENTITLED_SHIPPING_LINES: 'The discount code does not apply to the delivery.',
  DISCOUNT_PURCHASE_NOT_IN_RANGE: 'The cart does not reach the amount that the discount code asks for.',
  DISCOUNT_QUANTITY_NOT_IN_RANGE: 'The cart does not hold as much as the discount code asks for.',
};

/** Why a code does not apply, or undefined if it does. */
function refusal(rule, facts) {
  if (!rule) return 'DISCOUNT_NOT_FOUND';
  if (rule.entitled && !facts.lines.some(({ variant }) => rule.entitled(variant))) return 'DISCOUNT_NO_ENTITLED_LINE_ITEMS';
  return rule.refuse?.(facts) || undefined;
}

const share = (amount, percent) => Math.floor((amount * percent * 2 + 100) / 200);

function allocation(rule, amount, currency, details) {
  const { percent, cents, target } = rule;
  return {
    amount,
    percent,
    fixed: cents === undefined ? undefined : convert(cents, currency),
    shipping: target === 'delivery',
    entitled: rule.entitled !== undefined,
    ...details,
  };
}

/**
 * What the codes of a cart take off. `lines` are `{variant, quantity, subtotal}`, amounts in the smallest unit of
 * `currency`; `delivery` is what the delivery costs, undefined where none is known yet.
 */
export function discounts(entered, { lines, delivery, currency }) {
  const subtotal = lines.reduce((sum, line) => sum + line.subtotal, 0);
  const quantity = lines.reduce((sum, line) => sum + line.quantity, 0);
  const facts = { lines, subtotal, quantity, currency, delivered: delivery !== undefined };
  const onLines = lines.map((line) =>
    automatic.applies(line)
      ? [allocation(automatic, share(line.subtotal, automatic.percent), currency, { title: automatic.title })]
      : [],
  );
  const left = (index) => lines[index].subtotal - onLines[index].reduce((sum, { amount }) => sum + amount, 0);
  const onCart = [];
  const applied = [];
  for (const code of entered) {
    const rule = codes[code.toUpperCase()];
    const reason = lines.length === 0 && rule ? 'DISCOUNT_NO_ENTITLED_LINE_ITEMS' : refusal(rule, facts);
    applied.push({ code, applicable: reason === undefined, reason, message: messages[reason] });
    if (reason !== undefined) continue;
    if (rule.target === 'lines') {
      for (const [index, { variant }] of lines.entries()) {
        if (rule.entitled && !rule.entitled(variant)) continue;
        onLines[index].push(allocation(rule, share(left(index), rule.percent), currency, { code }));
      }
    } else if (rule.target === 'cart') {
      const most =
        lines.reduce((sum, _, index) => sum + left(index), 0) -
        onCart.reduce((sum, entry) => sum + (entry.shipping ? 0 : entry.amount), 0);
      onCart.push(allocation(rule, Math.min(most, convert(rule.cents, currency)), currency, { code }));
    } else {
      onCart.push(allocation(rule, delivery, currency, { code }));
    }
  }
  return { applied, onLines, onCart };
}

/** How much of `wanted` can be had. Backorders, and what is not counted, can be had without end. */
export function obtainable(variant, wanted) {
  if (!availableForSale(variant)) return 0;
  return variant.stock === undefined || variant.oversell ? wanted : Math.min(wanted, variant.stock);
}
