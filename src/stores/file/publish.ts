import type { NewEvent } from '../../core/events/envelope.js';
import type { AppendedBatch } from './append.js';
import type { RecoveredLog } from './recovery.js';
import type { SealedBatch, WriteBatch } from './write-batch.js';

/** A batch, and the foreign lines that were known when it was sealed and that it does not cover. */
export interface FlushedBatch extends SealedBatch {
  readonly batch: WriteBatch;
  readonly uncovered: readonly Buffer[];
}

/** Makes a durable batch visible to readers. */
export function publishBatch(
  { files, state }: RecoveredLog,
  { bytes, seal, blocks, uncovered, batch: { events, offsets, at_ms } }: FlushedBatch,
  { start: startInFile, foreignBetween }: AppendedBatch,
): void {
  const start = files.last.start + startInFile;
  files.last.bytes = startInFile + bytes.length;
  state.foreign.length = 0;
  // One by one, because there may be more lines than one call can have arguments.
  for (const lines of [uncovered, foreignBetween]) for (const line of lines) state.foreign.push(line);
  for (let at = 0; at < blocks.length; at += 2) {
    state.blocks.add(start + (blocks[at] as number), start + (blocks[at + 1] as number), state.seal);
  }
  state.seal = seal;
  for (let index = 0; index < events.length; index += 1) {
    state.index.add(state.index.position + 1, events[index] as NewEvent);
    state.offsets.add(start + (offsets[index] as number));
  }
  state.newest_ms = Math.max(state.newest_ms, at_ms);
}
