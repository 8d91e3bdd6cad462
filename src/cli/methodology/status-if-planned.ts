import type { ProjectStatus } from '../../core/views/index.js';

/** Returns null if the project has no plan and works by features alone. */
export const statusIfPlanned = (status: ProjectStatus): ProjectStatus | null =>
  Object.keys(status.tracks).length === 0 ? null : status;
