import { Genesis } from '../../client/index.js';
import { Coordinator } from '../../coordinator/coordinator.js';
import type { WorkspaceTexts } from '../../core/methodology/definition/read/workspace-files.js';
import { OPEN_PRINCIPAL } from '../../server/auth/principal.js';
import { createInProcessApp } from '../../server/in-process.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { configureBodyOf } from '../../workspace/read-files.js';
import { unwrapReply } from '../replies.js';
import { warnOfFaults } from '../workspace/configure.js';
import { type OpenedProject, projectOfClient } from './opened-project.js';

interface InProcessOptions {
  readonly store: Store;
  readonly blobs?: Blobs;
  readonly key: ProjectKey;
  readonly user: string | null;
  /** Called for faults that concern only a part of the configuration. Other faults are thrown. */
  readonly warn?: (sentence: string) => void;
}

/** Opens a coordinator in this process and loads the project's files into it; built-in defaults fill the rest. */
export async function openInProcess(
  texts: WorkspaceTexts,
  { key, user, warn, ...opened }: InProcessOptions,
): Promise<OpenedProject> {
  const coordinator = await Coordinator.open(opened);
  const principal = { ...OPEN_PRINCIPAL, user_id: user };
  const { app, close } = createInProcessApp(coordinator, opened.store, principal);
  const genesis = new Genesis({ fetch: app.fetch, tenant: key.tenant_id, project: key.project_id });
  const closeAll = async (): Promise<void> => {
    await close();
    coordinator.close();
  };
  try {
    const reply = unwrapReply(await genesis.methodology.init(configureBodyOf(texts)));
    if (warn !== undefined) warnOfFaults(warn, reply);
  } catch (error) {
    await closeAll();
    throw error;
  }
  return projectOfClient(genesis, closeAll);
}
