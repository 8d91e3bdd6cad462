import type { DiskFile } from './disk.js';
import { visitLines } from './line-reader.js';
import type { Segment } from './log-files.js';
import type { LogReplay } from './replay.js';

/** A place in a file, from the first to the last damaged line. */
export interface FileDamage {
  readonly first: number;
  readonly last: number;
  readonly why: string;
}

/** Reads the lines of a file into the replay, up to the first that is not valid. Returns the end of the last whole line. */
export async function replayFile(
  replay: LogReplay,
  segment: Segment,
  file: DiskFile,
): Promise<{ end: number; damage: FileDamage | null }> {
  let damage = null as FileDamage | null;
  const end = await visitLines(file, segment.bytes, (line, offset) => {
    if (damage !== null) return;
    const fault = replay.addLine(line, segment.start + offset);
    if (fault === null) return;
    damage = {
      first: fault.first.offset - segment.start,
      last: fault.last.offset - segment.start,
      why: fault.why,
    };
  });
  return { end, damage };
}
