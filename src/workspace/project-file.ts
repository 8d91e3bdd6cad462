import { parse } from 'yaml';
import { z } from 'zod';
import { ID_LENGTH_MAX, projectIdSchema, tenantIdSchema } from '../core/ids.js';
import type { ProjectKey } from '../stores/store.js';
import { readRegularFile } from './regular-file.js';
import { type Workspace, WorkspaceError } from './workspace.js';

export const COORDINATION_FILE = 'coordination.yml';
const FILE_BYTES_MAX = 256 * 1024;

const fileSchema = z.looseObject({
  project: z.looseObject({
    name: z.string().max(256).optional(),
    project_id: projectIdSchema,
    tenant_id: tenantIdSchema.default('default'),
  }),
});

/** The key of a workspace's project, from `coordination.yml`, so that it survives a move of the folder. */
export async function readProjectKey(workspace: Workspace): Promise<ProjectKey> {
  const path = workspace.path(COORDINATION_FILE);
  const bytes = readRegularFile(path, FILE_BYTES_MAX);
  if (bytes === 'missing') throw projectFileError(path, 'does not exist');
  if (typeof bytes === 'string')
    throw projectFileError(path, `is not a regular file of at most ${FILE_BYTES_MAX / 1024} KiB`);
  const parsed = fileSchema.safeParse(parseYaml(bytes.toString('utf8'), path) ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw projectFileError(path, `does not name the project (${issue?.path.join('.')}: ${issue?.message})`);
  }
  const { tenant_id, project_id } = parsed.data.project;
  return { tenant_id, project_id };
}

function parseYaml(text: string, path: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw projectFileError(path, `cannot be read (${(error as Error).message.split('\n')[0]})`);
  }
}

const projectFileError = (path: string, what: string): WorkspaceError =>
  new WorkspaceError(
    `${path} ${what}. This file identifies the project: create it with gen init, ` +
      'or add project: {project_id: NAME} to it.',
  );

/** Converts a name to a valid id: `My Shop!` becomes `my-shop`. */
export function idFromName(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const fitting = plain.replace(/[^a-z0-9._~@+-]+/g, '-').replace(/^[^a-z0-9]+/, '');
  return fitting.slice(0, ID_LENGTH_MAX).replace(/[-.]+$/, '') || 'project';
}
