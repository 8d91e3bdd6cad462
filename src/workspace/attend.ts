import { cursorAt } from '../coordinator/cursor.js';
import { isolate, promoteAccepted, tidyWorktree } from './drafts/index.js';
import type { Desk } from './inbox/ask.js';
import { Serialiser } from './inbox/serialiser.js';
import type { Tally } from './inbox/tally.js';
import { watchInboxes } from './inbox/watch.js';
import type { Workspace } from './workspace.js';

export interface AttendOptions {
  readonly workspace: Workspace;
  readonly desk: Desk;
  readonly signal: AbortSignal;
  /** False where one agent has the project to itself: it uses no inbox. */
  readonly has_inboxes: boolean;
  readonly warn: (sentence: string) => void;
  readonly onPass?: (tally: Tally) => void;
}

/** Serves a workspace for as long as a process runs on it: its inboxes, and the files of results that were accepted. */
export async function attendWorkspace(options: AttendOptions): Promise<void> {
  const { workspace, desk } = options;
  await Promise.all([
    options.has_inboxes
      ? watchInboxes({ ...options, events: workspace.events, serialiser: serialiserOf(options) })
      : null,
    promoteOn(desk, options.signal),
  ]);
}

/** Who serves a workspace decides by its coordinator, makes the folders of what it grants, and clears them away. */
export const deskOf = (workspace: Workspace, house: Omit<Desk, 'place' | 'isolate' | 'tidy'>): Desk => ({
  ...house,
  place: workspace,
  isolate: (grant) => isolate(workspace, grant),
  tidy: (grant) => tidyWorktree(workspace, grant),
});

export const serialiserOf = ({
  workspace,
  desk,
  warn,
}: Omit<AttendOptions, 'signal' | 'has_inboxes'>): Serialiser =>
  new Serialiser({ events: workspace.events, desk, warn, now: () => new Date() });

const ACCEPTING: ReadonlySet<string> = new Set(['edge_converged', 'result_adopted']);

/** Results come in by other doors too. Whatever way one was accepted, its files reach the project. */
async function promoteOn(desk: Desk, signal: AbortSignal): Promise<void> {
  const { coordinator, store, key } = desk;
  const position = (await store.project(key))?.position ?? 0;
  await promoteAccepted(desk.place, desk);
  for await (const { event } of coordinator.feed.follow(key, cursorAt(position), signal)) {
    if (ACCEPTING.has(event.event_type)) await promoteAccepted(desk.place, desk);
  }
}
