import type { EventEnvelope } from '../../core/events/envelope.js';
import { type Disk, readFully, withFile, writeAtomically } from './disk.js';
import { PAYLOAD_MARK_BYTES } from './line.js';
import { visitWholeLines } from './line-reader.js';
import type { LogFiles, Segment } from './log-files.js';
import type { LogState } from './replay.js';

const SPACE = 0x20;
/** The closing brace after the payload; the newline is not part of the line. */
const CLOSING_BYTES = 1;

/**
 * Removes redacted payload fields from the log's files. A closed file is copied without them and the copy replaces it,
 * so a crash leaves one or the other. The removed text is replaced by spaces: lines keep their length, so no offset
 * changes. In format 1 the spaces also mark a redacted line.
 */
export async function redactSegments(
  disk: Disk,
  files: LogFiles,
  state: LogState,
  events: readonly EventEnvelope[],
): Promise<void> {
  const bySegment = new Map<Segment, Map<number, EventEnvelope>>();
  for (const event of events) {
    const offset = state.offsets.at(event.position);
    const segment = files.segmentAt(offset);
    const lines = bySegment.get(segment) ?? new Map<number, EventEnvelope>();
    bySegment.set(segment, lines.set(offset - segment.start, event));
  }
  for (const [segment, lines] of bySegment) {
    const path = files.pathOf(segment);
    const bytes = await withFile(disk, path, (file) => readFully(file, 0, segment.bytes));
    if (bytes === null) throw new Error(`The closed segment ${path} is missing. Restore it from a backup.`);
    visitWholeLines(bytes, 0, (line, offset) => {
      const event = lines.get(offset);
      if (event !== undefined) blankPayload(line, event);
    });
    const slashIndex = path.lastIndexOf('/');
    await writeAtomically(disk, path.slice(0, slashIndex), path.slice(slashIndex + 1), bytes);
  }
}

/** Replaces the payload of a line in place, and fills what is left with spaces. */
function blankPayload(line: Buffer, { position, payload }: EventEnvelope): void {
  const from = line.indexOf(PAYLOAD_MARK_BYTES) + PAYLOAD_MARK_BYTES.length;
  const to = line.length - CLOSING_BYTES;
  const text = Buffer.from(JSON.stringify(payload));
  if (text.length > to - from)
    throw new Error(`The redacted payload of event ${position} is larger than the original.`);
  text.copy(line, from);
  line.fill(SPACE, from + text.length, to);
}
