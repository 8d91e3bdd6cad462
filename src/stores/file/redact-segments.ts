import type { EventEnvelope } from '../../core/events/envelope.js';
import { type Disk, readFully, writeFully } from './disk.js';
import { PAYLOAD } from './line.js';
import { visitWholeLines } from './line-reader.js';
import type { LogFiles, Segment } from './log-files.js';
import type { LogState } from './replay.js';

const PAYLOAD_BYTES = Buffer.from(PAYLOAD);
const SPACE = 0x20;
/** The closing brace after the payload; the newline is not part of the line. */
const CLOSING_BYTES = 1;

/**
 * Removes redacted payload fields from the log's files. A sealed file is copied without them and the copy replaces it,
 * so a crash leaves one or the other. The removed text is replaced by spaces: lines keep their length, so no offset
 * changes, and trailing spaces mark a redacted line.
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
  for (const [segment, lines] of bySegment)
    await rewriteSegment(disk, files.pathOf(segment), segment.bytes, lines);
}

async function rewriteSegment(
  disk: Disk,
  path: string,
  size: number,
  lines: ReadonlyMap<number, EventEnvelope>,
): Promise<void> {
  const bytes = await contentOf(disk, path, size);
  visitWholeLines(bytes, 0, (line, offset) => {
    const event = lines.get(offset);
    if (event !== undefined) blankPayload(line, event);
  });
  const copy = `${path}.tmp`;
  await disk.unlink(copy);
  const file = await disk.openAppend(copy);
  try {
    await writeFully(file, bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(copy, path);
  await disk.syncFolder(path.slice(0, path.lastIndexOf('/')));
}

async function contentOf(disk: Disk, path: string, size: number): Promise<Buffer> {
  const file = await disk.openRead(path);
  if (file === null) throw new Error(`The sealed segment ${path} is gone; put it back from a copy.`);
  try {
    return await readFully(file, 0, size);
  } finally {
    await file.close();
  }
}

/** In place. */
function blankPayload(line: Buffer, { position, payload }: EventEnvelope): void {
  const from = line.indexOf(PAYLOAD_BYTES) + PAYLOAD_BYTES.length;
  const to = line.length - CLOSING_BYTES;
  const text = Buffer.from(JSON.stringify(payload));
  if (text.length > to - from) throw new Error(`event ${position} would say more than it did`);
  text.copy(line, from);
  line.fill(SPACE, from + text.length, to);
}
