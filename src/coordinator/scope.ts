import { projectIdSchema, tenantIdSchema } from '../core/ids.js';
import type { ProjectKey } from '../stores/store.js';
import { type Problem, problem } from './problem.js';

/** What is no name of a tenant or a project is refused before any store hears of it. */
export function scopeFault({ tenant_id, project_id }: ProjectKey): Problem | null {
  const fault = tenantFault(tenant_id);
  if (fault !== null) return fault;
  return projectIdSchema.safeParse(project_id).success ? null : notAName('project_id');
}

export function tenantFault(tenant_id: string): Problem | null {
  return tenantIdSchema.safeParse(tenant_id).success ? null : notAName('tenant_id');
}

function notAName(path: string): Problem {
  const message = 'expected a letter or digit, then letters, digits and . _ ~ @ + -, at most 128 in all';
  return problem('INVALID_REQUEST', `${path}: ${message}`, [{ path, message }]);
}
