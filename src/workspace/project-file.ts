import { type Document, parseDocument } from 'yaml';
import { z } from 'zod';
import { ID_LENGTH_MAX, projectIdSchema, tenantIdSchema } from '../core/ids.js';
import type { ProjectKey } from '../stores/store.js';
import { followInProject } from './project-link.js';
import { readRegularFile } from './regular-file.js';
import { WORKSPACE_FOLDER, type Workspace, WorkspaceError } from './workspace.js';

export const COORDINATION_FILE = 'coordination.yml';
const FILE_BYTES_MAX = 256 * 1024;

const fileSchema = z.looseObject({
  project: z.looseObject({
    name: z.string().max(256).optional(),
    project_id: projectIdSchema,
    tenant_id: tenantIdSchema.default('default'),
  }),
});

/**
 * The key of a workspace's project, from `coordination.yml`, so that it survives a move of the folder. A fault
 * in another part of the file is reported by the code that reads that part.
 */
export async function readProjectKey(workspace: Workspace): Promise<ProjectKey> {
  const path = workspace.path(COORDINATION_FILE);
  const followed = followInProject(workspace, WORKSPACE_FOLDER, COORDINATION_FILE);
  if ('fault' in followed)
    throw projectFileError(
      path,
      followed.fault === 'missing'
        ? 'does not exist'
        : 'is a link that leaves the project, or leads into its log or back to itself',
    );
  const bytes = readRegularFile(followed.path, FILE_BYTES_MAX);
  if (typeof bytes === 'string')
    throw projectFileError(path, `is not a regular file of at most ${FILE_BYTES_MAX / 1024} KiB`);
  const document = parseDocument(bytes.toString('utf8'));
  const parsed = fileSchema.safeParse(plainValueOf(document) ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const [fault] = document.errors;
    const { line, col } = fault?.linePos?.[0] ?? {};
    throw fault === undefined
      ? projectFileError(path, `does not name the project (${issue?.path.join('.')}: ${issue?.message})`)
      : projectFileError(`${path}:${line}:${col}`, `cannot be read (${fault.message.split('\n')[0]})`);
  }
  const { tenant_id, project_id } = parsed.data.project;
  return { tenant_id, project_id };
}

/** For a document with faults, the part that could be parsed. */
function plainValueOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
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
