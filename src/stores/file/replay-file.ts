import type { DiskFile } from './disk.js';
import { visitLines } from './line-reader.js';
import type { LineFault } from './log-check.js';
import type { Segment } from './log-files.js';
import type { LineSpan, LogReplay } from './replay.js';

/** Reads the lines of a file after `segment.bytes` into the replay, up to damage. Returns the end of the last whole line. */
export async function replayFile(
  replay: LogReplay,
  segment: Segment,
  file: DiskFile,
): Promise<{ end: number; damage: LineFault<LineSpan> | null }> {
  let damage = null as LineFault<LineSpan> | null;
  const end = await visitLines(file, segment.bytes, (line, offset) => {
    if (damage === null) damage = replay.addLine(line, segment.start + offset);
  });
  return { end, damage };
}
