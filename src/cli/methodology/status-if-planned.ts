import type { ProjectStatus } from '../../core/views/index.js';

/** Null where the project has no plan: it works by features alone. */
export const statusIfPlanned = (status: ProjectStatus): ProjectStatus | null =>
  Object.keys(status.tracks).length === 0 ? null : status;
