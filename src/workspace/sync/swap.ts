import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { readSmallFile, writeAtomically } from '../../stores/file/disk.js';
import {
  ACTIVE_FILE,
  DURABLE_FILE,
  LOCK_FILE,
  SEGMENTS_FOLDER,
  SNAPSHOTS_FOLDER,
  STORE_FILE,
} from '../../stores/file/layout.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { StoreUnavailable } from '../../stores/store.js';
import type { SyncStepHook } from './sync-workspace.js';

/** Beside the log: the new one while it is built, the old one while it is replaced, and how far that has come. */
export const REBUILT_FOLDER = '.rebuilt';
const REPLACED_FOLDER = '.replaced';
const MARKER_FILE = '.swap';

/** What makes up a log. The store's own secret is none of it: handles that it gave out stay good. */
const LOG_PARTS = [ACTIVE_FILE, SEGMENTS_FOLDER, SNAPSHOTS_FOLDER, DURABLE_FILE];

/** A log is replaced, and has come so far: the parts of the old one go out, or those of the new one come in. */
type SwapStage = 'out' | 'in';

export const isSwapInProgress = async (events: string): Promise<boolean> => (await stageOf(events)) !== null;

/**
 * Puts the log that was built beside in the place of the one that is there. Whoever is interrupted goes on from the
 * marker; nobody may open the log before that. `unchanged`: looked at once the log is locked.
 */
export async function swapLog(
  events: string,
  isUnchanged: () => Promise<boolean>,
  onStep: SyncStepHook,
): Promise<boolean> {
  return withLogLock(events, async () => {
    if ((await stageOf(events)) === null) {
      // Another pull may have cleared it away: an old log is not replaced by nothing.
      if (!(await exists(join(events, REBUILT_FOLDER, STORE_FILE))) || !(await isUnchanged())) return false;
      await nodeDisk.removeFolder(join(events, REPLACED_FOLDER));
      await setStage(events, 'out');
    }
    await completeSwap(events, onStep);
    return true;
  });
}

/** Goes on with a swap that was cut short, and clears away what is left of one that was not begun or not cleared. */
export async function finishSwap(events: string, onStep: SyncStepHook): Promise<void> {
  if (await isSwapInProgress(events)) await withLogLock(events, () => completeSwap(events, onStep));
  else await removeLeftovers(events);
}

async function removeLeftovers(events: string): Promise<void> {
  await nodeDisk.removeFolder(join(events, REBUILT_FOLDER));
  await nodeDisk.removeFolder(join(events, REPLACED_FOLDER));
}

async function completeSwap(events: string, onStep: SyncStepHook): Promise<void> {
  const rebuilt = join(events, REBUILT_FOLDER);
  const replaced = join(events, REPLACED_FOLDER);
  if ((await stageOf(events)) === 'out') {
    await nodeDisk.makeFolder(replaced);
    await moveParts(events, replaced, (part) => onStep(`out ${part}`));
    await setStage(events, 'in');
  }
  await moveParts(rebuilt, events, (part) => onStep(`in ${part}`));
  await onStep('swapped');
  await nodeDisk.unlink(join(events, MARKER_FILE));
  await nodeDisk.syncFolder(events);
  await onStep('unmarked');
  await removeLeftovers(events);
}

/** Each part that is still there; what was moved before the interruption is not. */
async function moveParts(from: string, to: string, onPart: SyncStepHook): Promise<void> {
  for (const part of LOG_PARTS) {
    await onPart(part);
    if (await exists(join(from, part))) await nodeDisk.rename(join(from, part), join(to, part));
  }
  await nodeDisk.syncFolder(to);
  await nodeDisk.syncFolder(from);
}

async function stageOf(events: string): Promise<SwapStage | null> {
  const text = await readSmallFile(nodeDisk, join(events, MARKER_FILE));
  return text === 'out' || text === 'in' ? text : null;
}

const setStage = (events: string, stage: SwapStage): Promise<void> =>
  writeAtomically(nodeDisk, events, MARKER_FILE, stage);

async function withLogLock<T>(events: string, work: () => Promise<T>): Promise<T> {
  const lock = await nodeDisk.lock(join(events, LOCK_FILE));
  if (lock === null) {
    throw new StoreUnavailable(
      `Another process has the log in ${events} open. Stop it first, and run this again.`,
    );
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

const exists = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null)) !== null;
