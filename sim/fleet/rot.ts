import type { Platter } from '../world/platter.js';
import type { Rng } from '../world/rng.js';

const BATCH_MARK = '"durable":';

/**
 * Flips a byte that was certainly durable: before the start of the last batch in the active file. Returns a way to
 * put it right, or null where there is nothing to damage, or a snapshot spares the store from reading it.
 */
export function damageLog(platter: Platter, folder: string, rng: Rng): (() => void) | null {
  const file = platter.file(`${folder}/events.jsonl`);
  if (file === null || platter.folder(`${folder}/snapshots`) !== null) return null;
  const text = file.content().toString('latin1');
  const lastBatch = text.lastIndexOf('\n', text.lastIndexOf(BATCH_MARK));
  if (lastBatch <= 0) return null;
  return file.flipByte(rng.int(lastBatch));
}
