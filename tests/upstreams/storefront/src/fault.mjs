// Misbehaviour on demand. Faults wait in a queue until a request fits them; a header asks for one in its own request.
//
// There are three kinds: what is answered instead of carrying out the request (or after it, with `after`), what is changed
// in a good answer, and how its bytes are sent.

const statuses = (kind) => /^[45]\d\d$/.test(kind);
const instead = ['throttled', 'reset', 'html', 'empty', 'huge', 'redirect', 'hang'];
const within = ['partial', 'null_price', 'missing_currency', 'duplicate_variants', 'unknown_enum', 'pending_delivery'];
const sending = ['truncated', 'slow', 'delay'];
export const kinds = [...instead, ...within, ...sending, '400 to 599'];

export const answersInstead = ({ kind }) => statuses(kind) || instead.includes(kind);

/** The faults of a server. */
export class Faults {
  #waiting = [];
  #next = 1;

  /**
   * Takes a fault, `{kind, count = 1, match, field, delay, after, ...}`; `count: null` is for ever. Throws what is wrong
   * with it.
   */
  add(fault) {
    const { kind, count = 1, match, field } = fault;
    if (![...instead, ...within, ...sending].includes(kind) && !statuses(String(kind)))
      throw new Error(`there is no fault "${kind}"; there are ${kinds.join(', ')}`);
    if (count !== null && !(Number.isInteger(count) && count > 0)) throw new Error('count is a number from 1, or null');
    const entry = {
      ...fault,
      kind: String(kind),
      id: this.#next,
      left: count,
      match: match === undefined ? undefined : new RegExp(match),
      field: field === undefined ? undefined : new RegExp(field),
    };
    this.#next += 1;
    this.#waiting.push(entry);
    return entry.id;
  }

  clear() {
    this.#waiting = [];
  }

  list() {
    return this.#waiting.map(({ match, field, ...entry }) => ({ ...entry, match: match?.source, field: field?.source }));
  }

  /** The first fault that fits an operation, which is used up by it. */
  take(operation, fields) {
    const fault = this.#waiting.find(
      (entry) => (entry.match?.test(operation) ?? true) && (!entry.field || fields.some((name) => entry.field.test(name))),
    );
    if (!fault) return undefined;
    if (fault.left !== null) {
      fault.left -= 1;
      if (fault.left === 0) this.#waiting = this.#waiting.filter((entry) => entry !== fault);
    }
    return fault;
  }
}

/** Calls `change` with every object of an answer, the innermost first. */
function each(value, change) {
  if (value === null || typeof value !== 'object') return;
  for (const inner of Object.values(value)) each(inner, change);
  if (!Array.isArray(value)) change(value);
}

const unknownEnums = {
  mediaContentType: 'HOLOGRAM',
  deliveryMethodType: 'DRONE',
  targetType: 'WRAPPING',
  allocationMethod: 'LOTTERY',
  measuredType: 'BRIGHTNESS',
  // The one that 2026-07 really brought.
  code: 'PRODUCT_UNAVAILABLE_IN_BUYER_LOCATION',
};

const changes = {
  null_price: (object) => {
    if (object.price?.amount !== undefined) object.price = null;
  },
  missing_currency: (object) => {
    if (object.amount !== undefined) delete object.currencyCode;
  },
  duplicate_variants: (object) => {
    const list = object.variants?.nodes ?? object.variants?.edges;
    if (list?.length > 0) list.push(structuredClone(list[0]));
  },
  // A `code` is one of an enumeration where there is a message beside it.
  unknown_enum: (object, { name, value }) => {
    for (const [key, other] of Object.entries(unknownEnums)) {
      if ((name ?? key) === key && object[key] != null && (key !== 'code' || object.message !== undefined))
        object[key] = value ?? other;
    }
  },
};

/** Makes a good answer a bad one. */
export function spoil(body, fault) {
  if (!body.data) return body;
  if (fault.kind === 'partial') return partial(body, fault);
  if (fault.kind === 'pending_delivery') return pending(body);
  const change = changes[fault.kind];
  if (change) each(body.data, (object) => change(object, fault));
  return body;
}

/** Takes something away and says so: what `path` names, or else the first item of a list, or the first field. */
function partial(body, { path }) {
  const [field, value] = Object.entries(body.data)[0];
  const where = path ?? (Array.isArray(value) && value.length > 0 ? [field, 0] : [field]);
  const parent = where.slice(0, -1).reduce((object, key) => object?.[key], body.data);
  if (parent) parent[where.at(-1)] = null;
  const errors = [
    {
      message: 'Internal error. Looks like something went wrong on our end.',
      path: where,
      extensions: { code: 'INTERNAL_SERVER_ERROR' },
    },
  ];
  return { ...body, errors: [...(body.errors ?? []), ...errors] };
}

/** The deliveries of a cart are still being worked out. */
function pending(body) {
  each(body.data, (object) => {
    if (object.deliveryGroups?.nodes) object.deliveryGroups.nodes = [];
    if (object.deliveryGroups?.edges) object.deliveryGroups.edges = [];
    if (Array.isArray(object.userErrors))
      object.userErrors.push({
        code: 'PENDING_DELIVERY_GROUPS',
        field: ['cartId'],
        message: 'Delivery groups are being generated.',
      });
  });
  return body;
}
