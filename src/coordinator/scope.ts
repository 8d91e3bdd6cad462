import { projectIdSchema, tenantIdSchema } from '../core/ids.js';
import type { ProjectKey } from '../stores/store.js';
import { type Problem, problem } from './problem.js';

/**
 * A store may keep a tenant or a project in a folder, on a disk that does not know capitals: there what is not a small
 * letter, a digit or one of . _ - is spelled with three characters, and a folder's name has at most so many. It holds
 * for every store, so that a log can move from one to another.
 */
const NAME_WEIGHT_MAX = 200;
const HEAVY = /[^a-z0-9._-]/g;
const HEAVY_WEIGHT = 3;

/** What is no name of a tenant or a project is refused before any store hears of it. */
export function scopeFault({ tenant_id, project_id }: ProjectKey): Problem | null {
  return tenantFault(tenant_id) ?? nameFault('project_id', project_id, projectIdSchema);
}

export const tenantFault = (tenant_id: string): Problem | null =>
  nameFault('tenant_id', tenant_id, tenantIdSchema);

function nameFault(path: string, name: string, schema: typeof tenantIdSchema): Problem | null {
  if (!schema.safeParse(name).success) {
    return notAName(
      path,
      'expected a letter or digit, then letters, digits and . _ ~ @ + -, at most 128 in all',
    );
  }
  if (name.length * HEAVY_WEIGHT <= NAME_WEIGHT_MAX || weightOf(name) <= NAME_WEIGHT_MAX) return null;
  const bound = `at most ${NAME_WEIGHT_MAX}, where each capital and each of ~ @ + counts as ${HEAVY_WEIGHT}`;
  return notAName(path, `expected a shorter name or fewer capitals (${bound})`);
}

const weightOf = (name: string): number =>
  name.length + (HEAVY_WEIGHT - 1) * (name.match(HEAVY)?.length ?? 0);

const notAName = (path: string, message: string): Problem =>
  problem('INVALID_REQUEST', `${path}: ${message}`, [{ path, message }]);
