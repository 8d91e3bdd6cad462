import type { Permit, ProjectKey, Store } from '../../stores/store.js';

/** The scope in which a project holds a permit while its archive is imported. */
const importScope = (projectId: string): string => `import/${projectId}`;

/**
 * Marks the import of a project as unfinished, or as finished. The mark is a permit, because permits change in the
 * commits of the import and are not part of the history: the log must stay identical to the archive's log.
 */
export const importPermit = ({ project_id }: ProjectKey, isFinished: boolean): Permit => ({
  scope: importScope(project_id),
  member: project_id,
  until_ms: isFinished ? null : Number.POSITIVE_INFINITY,
});

/** Whether the store has only a part of the project: its import was interrupted, or is still running. */
export const isImportUnfinished = async (
  store: Pick<Store, 'countPermits'>,
  { tenant_id, project_id }: ProjectKey,
): Promise<boolean> => (await store.countPermits(tenant_id, importScope(project_id))) > 0;

export const unfinishedImportText = ({ tenant_id, project_id }: ProjectKey): string =>
  `The import of ${tenant_id}/${project_id} has not finished. Repeat gen import with the same archive to complete it.`;
