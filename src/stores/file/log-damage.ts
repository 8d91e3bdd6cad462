import { LogDamaged, type ProjectKey } from '../store.js';
import type { LogFiles } from './log-files.js';

/** The damage at an offset of the whole log. */
export async function damageAt(
  files: LogFiles,
  { tenant_id, project_id }: ProjectKey,
  offset: number,
  why: string,
): Promise<LogDamaged> {
  return new LogDamaged({ tenant_id, project_id, ...(await files.lineAt(offset)), why });
}
