import type { Coordinator } from '../../coordinator/coordinator.js';
import type { Blobs } from '../../stores/blobs.js';
import type { Store } from '../../stores/store.js';
import { dropAddress, writeAddress } from '../../workspace/address.js';
import { attendWorkspace, deskOf } from '../../workspace/attend.js';
import { isSingleAgent } from '../../workspace/load.js';
import { readProjectKey } from '../../workspace/project-file.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { Context } from '../context.js';
import { plainText } from '../output/text.js';
import { configure } from './configure.js';

export interface AttendedHouse {
  /** Where its server answers. */
  readonly url: string;
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
  { url, ...house }: AttendedHouse,
): Promise<Attending> {
  const key = await readProjectKey(workspace);
  await writeAddress(workspace, { url, token: null });
  await configure((text) => context.remark(text), workspace, house.coordinator);
  const stopping = new AbortController();
  const warn = (sentence: string): void => context.remark(plainText(sentence));
  const desk = deskOf(workspace, { ...house, key });
  const has_inboxes = !(await isSingleAgent(workspace));
  const served = attendWorkspace({ workspace, desk, warn, has_inboxes, signal: stopping.signal });
  return {
    failed: new Promise((_, reject) => served.catch(reject)),
    stop: async () => {
      stopping.abort();
      await dropAddress(workspace);
      await served;
    },
  };
}
