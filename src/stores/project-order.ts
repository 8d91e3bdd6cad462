import type { ProjectKey } from './store.js';

/** Ordered by tenant, then by project. */
function compareProjects(a: ProjectKey, b: ProjectKey): number {
  if (a.tenant_id !== b.tenant_id) return a.tenant_id < b.tenant_id ? -1 : 1;
  return a.project_id === b.project_id ? 0 : a.project_id < b.project_id ? -1 : 1;
}

/** A page of a complete list of projects. */
export function pageOfProjects(
  projects: readonly ProjectKey[],
  after: ProjectKey | null,
  limit: number,
): ProjectKey[] {
  return projects
    .filter((projectKey) => after === null || compareProjects(projectKey, after) > 0)
    .sort(compareProjects)
    .slice(0, limit);
}
