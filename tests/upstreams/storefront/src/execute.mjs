// A request from its text to its answer: parsed, validated against Shopify's schema, priced, and carried out by graphql-js.
import { execute, getDirectiveValues, getOperationAST, getVariableValues, parse, print, typeFromAST, validate, visit } from 'graphql';
import { costOf } from './cost.mjs';
import { fieldError, requestError } from './errors.mjs';
import { invalidVariable, literalFaults, variableFaults } from './input.mjs';
import { mutations } from './cart-mutation.mjs';
import { market, sellsIn } from './market.mjs';
import { queries } from './root.mjs';
import { schema } from './schema.mjs';

const locationsOf = (node) => [{ line: node.loc.startToken.line, column: node.loc.startToken.column }];

/** The document and the operation that a body asks for, or the errors that say why there is none. */
export function read({ query, operationName }) {
  let document;
  try {
    document = parse(query ?? '');
  } catch (error) {
    return { errors: [requestError(error)] };
  }
  const operation = getOperationAST(document, operationName);
  if (!operation)
    return {
      errors: [
        {
          message: operationName ? `No operation named "${operationName}"` : 'An operation name is required',
          extensions: { code: 'BAD_REQUEST' },
        },
      ],
    };
  return { document, operation };
}

const keyOf = ({ alias, name }) => (alias ?? name).value;

/** What is deferred by inline fragments: the path of the object and its fields. */
function deferredBy(operation) {
  const deferred = [];
  const path = [];
  visit(operation, {
    Field: { enter: (node) => void path.push(keyOf(node)), leave: () => void path.pop() },
    InlineFragment({ directives, selectionSet }) {
      if (directives.some(({ name }) => name.value === 'defer'))
        deferred.push({ path: [...path], fields: selectionSet.selections.map(keyOf) });
    },
  });
  return deferred;
}

/** The parts in which an answer is sent: what is deferred comes last. A part of what is null is null with it. */
export function partsOf(body, deferred) {
  const first = structuredClone(body);
  const incremental = deferred.flatMap(({ path, fields }) => {
    const object = path.reduce((value, step) => value?.[step], first.data);
    if (!object) return [];
    const data = Object.fromEntries(fields.map((field) => [field, object[field]]));
    for (const field of fields) delete object[field];
    return [{ path, data }];
  });
  if (incremental.length === 0) return [{ ...first, hasNext: false }];
  return [{ ...first, hasNext: true }, { incremental, hasNext: false }];
}

/** Fields that this server knows nothing about are errors, and never look as if the shop had nothing there. */
function resolve(source, args, context, { fieldName, parentType }) {
  const property = source[fieldName];
  if (property === undefined)
    throw fieldError(`${parentType.name}.${fieldName} is not emulated by this test upstream`, 'NOT_EMULATED');
  return typeof property === 'function' ? property(args, context) : property;
}

function readVariables(operation, given) {
  const definitions = (operation.variableDefinitions ?? []).map((node) => ({
    name: node.variable.name.value,
    type: typeFromAST(schema, node.type),
    printed: print(node.type),
    locations: locationsOf(node),
  }));
  const { errors, coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], given ?? {});
  if (errors) {
    return {
      errors: errors.map(({ message }) => {
        const { name, printed, locations } = definitions.find((entry) => message.includes(`"$${entry.name}"`));
        return invalidVariable(name, printed, given?.[name] ?? null, [{ path: [], explanation: message }], locations);
      }),
    };
  }
  const faults = variableFaults(schema, definitions, coerced);
  return faults.length > 0 ? { errors: faults } : { coerced };
}

/**
 * Carries out an operation. `context` is the request's: `token` (`none`, `public`, `private`), `carts`, `settings`. Gives
 * the body of the answer, what the request cost, and what of the answer is deferred.
 */
export async function answer({ document, operation, errors: readErrors }, given, context) {
  if (readErrors) return { body: { errors: readErrors } };
  const invalid = validate(schema, document);
  if (invalid.length > 0) return { body: { errors: invalid.map(requestError) } };
  const literal = literalFaults(schema, document);
  if (literal.length > 0) return { body: { errors: literal } };
  const { errors, coerced } = readVariables(operation, given);
  if (errors) return { body: { errors } };

  const cost = costOf(schema, document, operation, coerced);
  const { costLimit } = context.settings;
  if (cost > costLimit) {
    const message = `Query cost is ${cost}, which exceeds the single query max cost limit (${costLimit}).`;
    return {
      body: {
        errors: [
          {
            message,
            extensions: {
              code: 'MAX_COST_EXCEEDED',
              cost,
              maxCost: costLimit,
              documentation: 'https://shopify.dev/api/usage/rate-limits',
            },
          },
        ],
      },
      cost,
    };
  }

  const { country, language } = getDirectiveValues(schema.getDirective('inContext'), operation, coerced) ?? {};
  const here = market(country, language);
  const deferred = deferredBy(operation);
  const result = await execute({
    schema,
    document,
    operationName: operation.name?.value,
    variableValues: given,
    rootValue: operation.operation === 'mutation' ? mutations : queries,
    contextValue: { ...context, here, defers: deferred.length > 0, contextCountry: sellsIn(country) ? country : undefined },
    fieldResolver: resolve,
  });
  const body = JSON.parse(JSON.stringify(result));
  body.extensions = { context: { country: here.country, language: here.language }, cost: { requestedQueryCost: cost } };
  return { body, cost, deferred };
}
