// A request from its text to its answer: parsed, validated against Shopify's schema, priced, and carried out by graphql-js.
import { execute, getDirectiveValues, getOperationAST, getVariableValues, parse, print, typeFromAST, validate } from 'graphql';
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
 * the body of the answer and what the request cost.
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
  const result = await execute({
    schema,
    document,
    operationName: operation.name?.value,
    variableValues: given,
    rootValue: operation.operation === 'mutation' ? mutations : queries,
    contextValue: { ...context, here, contextCountry: sellsIn(country) ? country : undefined },
    fieldResolver: resolve,
  });
  const body = JSON.parse(JSON.stringify(result));
  body.extensions = { context: { country: here.country, language: here.language }, cost: { requestedQueryCost: cost } };
  return { body, cost };
}
