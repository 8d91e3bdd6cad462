import { projectIdSchema, tenantIdSchema } from '../../core/ids.js';
import type { ProjectKey } from '../../stores/store.js';
import { fieldProblem, type Problem } from './problem.js';

/**
 * Maximum length of an encoded folder name. A store may keep a tenant or project in a folder, on a case-insensitive
 * file system, so every character but a-z, 0-9 and . _ - is encoded as three characters. The limit applies to every
 * store, so that a log can move between stores.
 */
const ENCODED_NAME_LENGTH_MAX = 200;
const ESCAPED_CHARS = /[^a-z0-9._-]/g;
const ESCAPED_LENGTH = 3;

/** Rejects invalid tenant and project names before they reach a store. */
export function projectKeyProblem({ tenant_id, project_id }: ProjectKey): Problem | null {
  return tenantProblem(tenant_id) ?? nameProblem('project_id', project_id, projectIdSchema);
}

export const tenantProblem = (tenantId: string): Problem | null =>
  nameProblem('tenant_id', tenantId, tenantIdSchema);

function nameProblem(path: string, name: string, schema: typeof tenantIdSchema): Problem | null {
  if (!schema.safeParse(name).success) {
    return fieldProblem(
      path,
      'expected a letter or digit, then letters, digits and . _ ~ @ + -, at most 128 characters',
    );
  }
  if (
    name.length * ESCAPED_LENGTH <= ENCODED_NAME_LENGTH_MAX ||
    encodedLengthOf(name) <= ENCODED_NAME_LENGTH_MAX
  )
    return null;
  const bound = `at most ${ENCODED_NAME_LENGTH_MAX}, counting each capital and each of ~ @ + as ${ESCAPED_LENGTH}`;
  return fieldProblem(path, `expected a shorter name or fewer capitals (${bound})`);
}

const encodedLengthOf = (name: string): number =>
  name.length + (ESCAPED_LENGTH - 1) * (name.match(ESCAPED_CHARS)?.length ?? 0);
