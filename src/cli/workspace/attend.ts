import type { Coordinator } from '../../coordinator/coordinator.js';
import { isProblem } from '../../coordinator/problem.js';
import type { Blobs } from '../../stores/blobs.js';
import type { Store } from '../../stores/store.js';
import { attendWorkspace } from '../../workspace/attend.js';
import { isSingleAgent, loadWorkspace } from '../../workspace/load.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { Context } from '../context.js';
import { plainText } from '../output/text.js';

export interface AttendedHouse {
  readonly coordinator: Coordinator;
  readonly store: Store;
  readonly blobs: Blobs;
}

export interface Attending {
  /** Rejects when the workspace cannot be served any more. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** Takes the files of a workspace into its record, and serves its inboxes while the server runs. */
export async function attend(
  context: Context,
  workspace: Workspace,
  house: AttendedHouse,
): Promise<Attending> {
  const key = await readProjectKey(workspace);
  await configure(context, workspace, house.coordinator);
  const stopping = new AbortController();
  const warn = (sentence: string): void => context.remark(plainText(sentence));
  const desk = { ...house, place: workspace, key };
  const has_inboxes = !(await isSingleAgent(workspace));
  const served = attendWorkspace({ workspace, desk, warn, has_inboxes, signal: stopping.signal });
  return {
    failed: new Promise((_, reject) => served.catch(reject)),
    stop: async () => {
      stopping.abort();
      await served;
    },
  };
}

/** Files that cannot be read as they are leave the record as it was; whoever runs this is told where to look. */
export async function configure(
  context: Context,
  workspace: Workspace,
  coordinator: Coordinator,
): Promise<boolean> {
  const reply = await loadWorkspace(workspace, coordinator, await readProjectKey(workspace));
  const findings = isProblem(reply) ? (reply.faults ?? []) : reply.warnings;
  if (isProblem(reply)) context.remark(plainText(reply.detail));
  for (const found of findings) {
    const { file, line, column, message } = found as { file?: string } & typeof found;
    const place = [file, line, column].filter((part) => part !== undefined).join(':');
    context.remark(plainText(`  ${place}  ${message}`));
  }
  return !isProblem(reply);
}
