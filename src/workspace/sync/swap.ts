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

/** Called before every step. A sync interrupted there continues from there. */
export type SyncStepHook = (step: string) => void | Promise<void>;

/** Files beside the log during a swap: the new log, the old log, and the stage marker. */
export const REBUILT_FOLDER = '.rebuilt';
const REPLACED_FOLDER = '.replaced';
const MARKER_FILE = '.swap';

/** The parts of a log. The store's secret is not one, so handles that it issued stay valid. */
const LOG_PARTS = [ACTIVE_FILE, SEGMENTS_FOLDER, SNAPSHOTS_FOLDER, DURABLE_FILE];

export const isSwapInProgress = async (events: string): Promise<boolean> => (await stageOf(events)) !== null;

/**
 * Replaces the log with the rebuilt one. An interrupted swap continues from the marker; until it is finished the
 * log must not be opened. `isUnchanged` is called while the log is locked.
 */
export async function swapLog(
  events: string,
  isUnchanged: () => Promise<boolean>,
  onStep: SyncStepHook,
): Promise<boolean> {
  return withLogLock(events, async () => {
    if ((await stageOf(events)) === null) {
      // Another pull may have removed the rebuilt log: never replace a log with nothing.
      if (!(await exists(join(events, REBUILT_FOLDER, STORE_FILE))) || !(await isUnchanged())) return false;
      await nodeDisk.removeFolder(join(events, REPLACED_FOLDER));
      await setStage(events, 'out');
    }
    await completeSwap(events, onStep);
    return true;
  });
}

/** Completes an interrupted swap, or removes the leftovers of one that never started or was not cleaned up. */
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

/** Moves the parts that still exist. Others were moved before the interruption. */
async function moveParts(from: string, to: string, onPart: SyncStepHook): Promise<void> {
  for (const part of LOG_PARTS) {
    await onPart(part);
    if (await exists(join(from, part))) await nodeDisk.rename(join(from, part), join(to, part));
  }
  await nodeDisk.syncFolder(to);
  await nodeDisk.syncFolder(from);
}

/** The stage of a swap: old parts are moved out, or new parts are moved in. Null: no swap is in progress. */
async function stageOf(events: string): Promise<'out' | 'in' | null> {
  const text = await readSmallFile(nodeDisk, join(events, MARKER_FILE));
  return text === 'out' || text === 'in' ? text : null;
}

const setStage = (events: string, stage: 'out' | 'in'): Promise<void> =>
  writeAtomically(nodeDisk, events, MARKER_FILE, stage);

async function withLogLock<T>(events: string, work: () => Promise<T>): Promise<T> {
  const lock = await nodeDisk.lock(join(events, LOCK_FILE));
  if (lock === null) {
    throw new StoreUnavailable(
      `Another process has the log in ${events} open. Stop it, then run this command again.`,
    );
  }
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

const exists = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null)) !== null;
