// What Shopify checks of the values of a request beyond their types: an id has to be a global id, a list holds at most 250
// items. One bad value refuses the whole request.
import { getNamedType, getNullableType, isInputObjectType, isListType, Kind, TypeInfo, visit, visitWithTypeInfo } from 'graphql';

const longestList = 250;
const globalId = /^gid:\/\/shopify\/([A-Z][A-Za-z0-9]*)\/[^\s/]+$/;

const isGlobalId = (schema, id) => schema.getType(globalId.exec(id)?.[1] ?? '?') !== undefined;
const tooLong = (length) => `The input array size of ${length} is greater than the maximum allowed of ${longestList}.`;

/** What is wrong with the literals of a document. */
export function literalFaults(schema, document) {
  const types = new TypeInfo(schema);
  const errors = [];
  const path = [];
  const refuse = (node, message, code, more) =>
    errors.push({
      message,
      locations: [{ line: node.loc.startToken.line, column: node.loc.startToken.column }],
      path: [...path],
      extensions: { code, ...more },
    });
  const named = {
    enter(node) {
      path.push(node.alias?.value ?? node.name.value);
    },
    leave() {
      path.pop();
    },
  };
  visit(
    document,
    visitWithTypeInfo(types, {
      OperationDefinition: {
        enter(node) {
          path.push([node.operation, node.name?.value].filter(Boolean).join(' '));
        },
        leave() {
          path.pop();
        },
      },
      Field: named,
      Argument: named,
      ObjectField: named,
      [Kind.STRING](node) {
        if (types.getInputType() && getNamedType(types.getInputType()).name === 'ID' && !isGlobalId(schema, node.value)) {
          refuse(node, `Invalid global id '${node.value}'`, 'argumentLiteralsIncompatible', { typeName: 'CoercionError' });
        }
      },
      [Kind.LIST](node) {
        if (node.values.length > longestList) refuse(node, tooLong(node.values.length), 'MAX_INPUT_SIZE_EXCEEDED');
      },
    }),
  );
  return errors;
}

/** What is wrong with the value of a variable, as `{path, explanation}`. */
function problems(schema, type, value, path) {
  if (value == null) return [];
  const nullable = getNullableType(type);
  if (isListType(nullable)) {
    const items = Array.isArray(value) ? value : [value];
    if (items.length > longestList) return [{ path, explanation: tooLong(items.length), size: true }];
    return items.flatMap((item, index) => problems(schema, nullable.ofType, item, [...path, index]));
  }
  if (isInputObjectType(nullable)) {
    return Object.values(nullable.getFields()).flatMap(({ name, type: inner }) =>
      problems(schema, inner, value[name], [...path, name]),
    );
  }
  return nullable.name === 'ID' && !isGlobalId(schema, value) ? [{ path, explanation: `Invalid global id '${value}'` }] : [];
}

/** What is wrong with variables, given as they were coerced. */
export function variableFaults(schema, definitions, variables) {
  return definitions.flatMap(({ name, type, printed, locations }) => {
    const found = problems(schema, type, variables[name], []);
    const long = found.find(({ size }) => size);
    if (long)
      return [
        { message: long.explanation, locations, path: [name, ...long.path], extensions: { code: 'MAX_INPUT_SIZE_EXCEEDED' } },
      ];
    return found.length === 0 ? [] : [invalidVariable(name, printed, variables[name], found, locations)];
  });
}

export function invalidVariable(name, type, value, found, locations) {
  const [{ path, explanation }] = found;
  const where = path.length > 0 ? ` for ${path.join('.')} (${explanation})` : '';
  return {
    message: `Variable $${name} of type ${type} was provided invalid value${where}`,
    locations,
    extensions: {
      code: 'INVALID_VARIABLE',
      value,
      problems: found.map((entry) => ({ path: entry.path, explanation: entry.explanation, message: entry.explanation })),
    },
  };
}
