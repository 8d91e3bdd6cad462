import { isUtf8 } from 'node:buffer';
import { foreignEventIdFor, sha256Hex } from '../coordinator/runtime/identity.js';
import { type ForeignLine, ForeignLogReader } from '../core/events/foreign-log.js';
import type { ForeignEvents } from '../stores/file/foreign-lines.js';
import { ACTIVE_FILE } from '../stores/file/layout.js';
import type { ProjectKey } from '../stores/store.js';

/** Maximum size of a line in its event. A longer line stays in the log; its event has only its digest and its beginning. */
const INLINE_BYTES_MAX = 64 * 1024;
const PREFIX_BYTES = 1024;

/**
 * The events of lines that another tool appends to the log of a workspace. Like the events of an imported log, they only
 * report what that tool has written, and change no head.
 */
export const foreignLineEvents =
  (key: ProjectKey): ForeignEvents =>
  (lines, { after_position, seal, now_ms }) => {
    const source = `${ACTIVE_FILE} after position ${after_position}`;
    const idOf = foreignEventIdFor(key);
    // The same line may be appended again later, and is then another event.
    const reader = new ForeignLogReader({ ...key, source, now_ms }, (text, occurrence) =>
      idOf(`${seal}\n${text}`, occurrence),
    );
    return lines.flatMap((bytes, index) => reader.readLine(foreignLine(bytes, index + 1))?.event ?? []);
  };

function foreignLine(bytes: Buffer, line: number): ForeignLine {
  const isText = isUtf8(bytes);
  if (isText && bytes.length <= INLINE_BYTES_MAX) return { line, text: bytes.toString('utf8') };
  const why = isText ? `it is longer than ${INLINE_BYTES_MAX} bytes` : 'it is not UTF-8 text';
  const notInline = { why, sha256: sha256Hex(bytes), size_bytes: bytes.length };
  return { line, text: bytes.toString('utf8', 0, PREFIX_BYTES), notInline };
}
