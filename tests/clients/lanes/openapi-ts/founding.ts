// What a developer can write against a release whose document has no operation: read why a call was refused.
import type { components, paths } from './api.js';

// Does not compile when there is an operation.
export const operations: paths extends Record<string, never> ? 'none' : never = 'none';

export function told({ status, messages }: components['schemas']['Error']) {
  const [message] = messages;
  if (message?.type !== 'error') throw new Error('a refusal is an error');
  const { code, severity }: { code: string; severity: string } = message;
  return { status, code, severity };
}
