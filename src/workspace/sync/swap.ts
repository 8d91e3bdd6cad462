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

/** Called at every step, so that a test can interrupt the sync there. An interrupted sync can be repeated. */
export type SyncStepHook = (step: string) => void | Promise<void>;

/** Files beside the log during a swap: the new log, the old log, and the stage marker. */
export const REBUILT_FOLDER = '.rebuilt';
const REPLACED_FOLDER = '.replaced';
const MARKER_FILE = '.swap';

/** The parts of a log. The store's secret is not among them, so the handles of the store stay valid. */
const LOG_PARTS = [ACTIVE_FILE, SEGMENTS_FOLDER, SNAPSHOTS_FOLDER, DURABLE_FILE];

export const isSwapInProgress = async (eventsFolder: string): Promise<boolean> =>
  (await stageOf(eventsFolder)) !== null;

/**
 * Replaces the log with the rebuilt one. An interrupted swap continues from the marker; until it is finished the
 * log must not be opened. `isUnchanged` is called while the log is locked. If it returns false, or the rebuilt log is gone,
 * nothing is changed and the result is false.
 */
export async function swapLog(
  eventsFolder: string,
  isUnchanged: () => Promise<boolean>,
  onStep: SyncStepHook,
): Promise<boolean> {
  return withLogLock(eventsFolder, async () => {
    if ((await stageOf(eventsFolder)) === null) {
      // Another pull may have removed the rebuilt log: never replace a log with nothing.
      if (!(await hasEntry(join(eventsFolder, REBUILT_FOLDER, STORE_FILE))) || !(await isUnchanged()))
        return false;
      await nodeDisk.removeFolder(join(eventsFolder, REPLACED_FOLDER));
      await setStage(eventsFolder, 'out');
    }
    await completeSwap(eventsFolder, onStep);
    return true;
  });
}

/** Completes an interrupted swap, or removes the leftovers of a swap that never started or was not cleaned up. */
export async function finishSwap(eventsFolder: string, onStep: SyncStepHook): Promise<void> {
  if (await isSwapInProgress(eventsFolder))
    await withLogLock(eventsFolder, () => completeSwap(eventsFolder, onStep));
  else await removeLeftovers(eventsFolder);
}

async function removeLeftovers(eventsFolder: string): Promise<void> {
  await nodeDisk.removeFolder(join(eventsFolder, REBUILT_FOLDER));
  await nodeDisk.removeFolder(join(eventsFolder, REPLACED_FOLDER));
}

async function completeSwap(eventsFolder: string, onStep: SyncStepHook): Promise<void> {
  const rebuilt = join(eventsFolder, REBUILT_FOLDER);
  const replaced = join(eventsFolder, REPLACED_FOLDER);
  if ((await stageOf(eventsFolder)) === 'out') {
    await nodeDisk.makeFolder(replaced);
    await moveParts(eventsFolder, replaced, (part) => onStep(`out ${part}`));
    await setStage(eventsFolder, 'in');
  }
  await moveParts(rebuilt, eventsFolder, (part) => onStep(`in ${part}`));
  await onStep('swapped');
  await nodeDisk.unlink(join(eventsFolder, MARKER_FILE));
  await nodeDisk.syncFolder(eventsFolder);
  await onStep('unmarked');
  await removeLeftovers(eventsFolder);
}

/** Moves the parts that still exist. Others were moved before the interruption. */
async function moveParts(from: string, to: string, onPart: SyncStepHook): Promise<void> {
  for (const part of LOG_PARTS) {
    await onPart(part);
    if (await hasEntry(join(from, part))) await nodeDisk.rename(join(from, part), join(to, part));
  }
  await nodeDisk.syncFolder(to);
  await nodeDisk.syncFolder(from);
}

/** The stage of a swap: old parts are moved out, or new parts are moved in. Null: no swap is in progress. */
async function stageOf(eventsFolder: string): Promise<'out' | 'in' | null> {
  const text = await readSmallFile(nodeDisk, join(eventsFolder, MARKER_FILE));
  return text === 'out' || text === 'in' ? text : null;
}

const setStage = (eventsFolder: string, stage: 'out' | 'in'): Promise<void> =>
  writeAtomically(nodeDisk, eventsFolder, MARKER_FILE, stage);

async function withLogLock<T>(eventsFolder: string, work: () => Promise<T>): Promise<T> {
  const lock = await nodeDisk.lock(join(eventsFolder, LOCK_FILE));
  if (lock === null) {
    throw new StoreUnavailable(
      `Another process has the log in ${eventsFolder} open. Stop it, then run this command again.`,
    );
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

const hasEntry = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null)) !== null;
