// What a query costs by the rule that Shopify publishes: a scalar nothing, an object 1, a connection its length times what an
// item costs, a mutation 10, an interface or union as much as its dearest type. Computed before anything is carried out.
import {
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  isAbstractType,
  isLeafType,
  Kind,
  typeFromAST,
} from 'graphql';

/** The cost of an operation of a valid document, with the variables it is to be run with. */
export function costOf(schema, document, operation, variables) {
  const fragments = new Map(
    document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).map((entry) => [entry.name.value, entry]),
  );

  const asked = (node) =>
    getDirectiveValues(GraphQLSkipDirective, node, variables)?.if !== true &&
    getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false;

  const children = (selectionSet, type) => {
    if (!isAbstractType(type)) return ofObject(selectionSet, type);
    return Math.max(...schema.getPossibleTypes(type).map((possible) => ofObject(selectionSet, possible)));
  };

  const ofObject = (selectionSet, type) =>
    selectionSet.selections.filter(asked).reduce((sum, selection) => {
      if (selection.kind === Kind.FIELD) return sum + ofField(selection, type);
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
      const condition = fragment.typeCondition ? typeFromAST(schema, fragment.typeCondition) : type;
      const applies = condition === type || (isAbstractType(condition) && schema.isSubType(condition, type));
      return applies ? sum + ofObject(fragment.selectionSet, type) : sum;
    }, 0);

  const ofField = (field, parent) => {
    const definition = parent.getFields()[field.name.value];
    if (!definition) return 0; // __typename
    const type = getNamedType(definition.type);
    if (isLeafType(type)) return 0;
    if (parent === schema.getMutationType()) return 10 + children(field.selectionSet, type);
    if (['PageInfo'].includes(type.name)) return 0;
    // An edge is no more than its node.
    if (type.name.endsWith('Edge')) return children(field.selectionSet, type);
    const args = getArgumentValues(definition, field, variables);
    if (type.name.endsWith('Connection')) return 1 + (args.first ?? args.last ?? 1) * children(field.selectionSet, type);
    const count = parent === schema.getQueryType() && field.name.value === 'nodes' ? args.ids.length : 1;
    return count * (1 + children(field.selectionSet, type));
  };

  const root = schema.getRootType(operation.operation);
  return ofObject(operation.selectionSet, root);
}
