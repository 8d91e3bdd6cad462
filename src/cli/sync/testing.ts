import { mkdir, writeFile } from 'node:fs/promises';
import { Coordinator } from '../../coordinator/coordinator.js';
import { openWorkspaceStore } from '../../workspace/store.js';
import { Workspace } from '../../workspace/workspace.js';

export const KEY = { tenant_id: 'default', project_id: 'shop' };
export const EDGE = { task_id: 'REQ-F-1#design_code' };

export async function createWorkspace(cwd: string): Promise<Workspace> {
  const workspace = new Workspace(cwd);
  await mkdir(workspace.events, { recursive: true });
  await writeFile(workspace.path('coordination.yml'), 'project: {name: Shop, project_id: shop}\n');
  return workspace;
}

/** Works on the workspace's log without the server. */
export async function withOfflineCoordinator(
  workspace: Workspace,
  work: (coordinator: Coordinator) => Promise<unknown>,
): Promise<void> {
  const { store, blobs } = await openWorkspaceStore(workspace, () => {});
  const coordinator = await Coordinator.open({ store, blobs });
  await work(coordinator);
  coordinator.close();
  await store.close();
}
