// Errors in the form in which Shopify's API states them, all with HTTP status 200.
import { GraphQLError } from 'graphql';

/** An error that a field answers with. */
export const fieldError = (message, code, extensions = {}) => new GraphQLError(message, { extensions: { code, ...extensions } });

/** What a token, or its absence, does not give access to. */
export function accessDenied(field, scope) {
  const required = `\`${scope}\` access scope.`;
  return fieldError(`Access denied for ${field} field. Required access: ${required}`, 'ACCESS_DENIED', {
    documentation: 'https://shopify.dev/api/usage/access-scopes',
    requiredAccess: required,
  });
}

const codes = [
  [/^Cannot query field/, 'undefinedField'],
  [/^Unknown argument/, 'argumentNotAccepted'],
  [/is required, but it was not provided/, 'missingRequiredArguments'],
  [/^Field .* of required type/, 'missingRequiredInputObjectAttribute'],
  [/(^Value|^Expected value|cannot represent|is not defined by type)/, 'argumentLiteralsIncompatible'],
  [/^Variable .* is not defined/, 'variableNotDefined'],
  [/^Variable .* is never used/, 'variableNotUsed'],
  [/^Variable .* used in position/, 'variableMismatch'],
  [/must (not )?have a selection of subfields|must not have a selection/, 'selectionMismatch'],
  [/^Unknown type/, 'undefinedType'],
  [/^Unknown fragment/, 'useAndDefineFragment'],
  [/^Fragment .* is never used/, 'useAndDefineFragment'],
  [/can never be of type|cannot be spread here/, 'cannotSpreadFragment'],
  [/conflict because/, 'fieldConflict'],
  [/^Syntax Error/, 'PARSE_ERROR'],
  [/^Variable .* got invalid value|^Variable .* of required type/, 'INVALID_VARIABLE'],
];

/** What graphql-js has to say about a document or its variables, with the code that Shopify gives such an error. */
export function requestError({ message, locations }) {
  const code = codes.find(([pattern]) => pattern.test(message))?.[1] ?? 'graphqlValidation';
  return { message, ...(locations && { locations }), extensions: { code } };
}
