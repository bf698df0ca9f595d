// The schema of the Storefront API as Shopify publishes it: the introspection that @shopify/hydrogen-react ships. Nothing
// of it is written down here, so that a document that passes has passed the real schema.
import { buildClientSchema, printSchema } from 'graphql';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Where the introspection lies on this machine. */
export const schemaPath = createRequire(import.meta.url).resolve('@shopify/hydrogen-react/storefront.schema.json');
/** The release of the API that it describes. */
export const schemaVersion = '2026-04';

const introspection = JSON.parse(readFileSync(schemaPath, 'utf8'));
export const schema = buildClientSchema(introspection.data ?? introspection);

/** The schema in GraphQL's own language, for tools that do not read introspections. */
export const sdl = () => printSchema(schema);
