import type { ProjectKey } from '../../stores/store.js';
import { readProjectKey } from '../../workspace/project-file.js';
import { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { wrongUsage } from '../exit.js';
import { defaultStore } from '../store.js';

/** Where a foreign log is imported to: the given store, the given server, this workspace, or the default store. */
export interface ImportTarget {
  readonly projectKey: ProjectKey;
  /** The workspace that contains the current folder, whatever the target is. */
  readonly workspace: Workspace | null;
  readonly destination:
    | { readonly kind: 'server' | 'workspace' }
    | { readonly kind: 'store'; readonly url: string };
}

export async function resolveImportTarget(
  context: CommandContext,
  storeUrl: string | undefined,
): Promise<ImportTarget> {
  const workspace = Workspace.find(context.io.cwd);
  const projectKey = await resolveProjectKey(context, workspace);
  if (storeUrl !== undefined) return { projectKey, workspace, destination: { kind: 'store', url: storeUrl } };
  if (context.explicitUrl !== null) return { projectKey, workspace, destination: { kind: 'server' } };
  if (workspace !== null) return { projectKey, workspace, destination: { kind: 'workspace' } };
  return { projectKey, workspace, destination: { kind: 'store', url: defaultStore(context.io) } };
}

async function resolveProjectKey(context: CommandContext, workspace: Workspace | null): Promise<ProjectKey> {
  const project_id = context.explicitProject;
  if (project_id !== null) return { tenant_id: context.tenant, project_id };
  if (workspace !== null) return readProjectKey(workspace);
  throw wrongUsage('No target project. Pass --project NAME, or run the command in a workspace.');
}
