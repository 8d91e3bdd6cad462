import { call } from '../../api/call.js';
import { filterQuery, type LogFilter } from './log-filter.js';

/** The limits of an export, which the tab keeps in memory until it is saved. `gen export` has no such limits. */
const EXPORT_EVENTS_MAX = 50_000;
const EXPORT_CHARS_MAX = 64 * 1024 * 1024;

export interface ExportedEvents {
  readonly lines: Blob;
  readonly count: number;
  /** Whether the export stopped at a limit, so that more events may match. */
  readonly isCut: boolean;
}

/** The events of a filter as JSON lines, oldest first, read page by page. */
export async function exportEvents(
  filter: LogFilter,
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<ExportedEvents> {
  const parts: string[] = [];
  let [count, chars, after] = [0, 0, ''];
  for (;;) {
    const page = await call('events', { query: { ...filterQuery(filter), after, limit: 1000 } });
    signal.throwIfAborted();
    if (page.events.length === 0) return { lines: fileOf(parts), count, isCut: false };
    const part = page.events.map((event) => `${JSON.stringify(event)}\n`).join('');
    parts.push(part);
    count += page.events.length;
    chars += part.length;
    after = page.next;
    onProgress(count);
    if (count >= EXPORT_EVENTS_MAX || chars >= EXPORT_CHARS_MAX)
      return { lines: fileOf(parts), count, isCut: true };
  }
}

const fileOf = (parts: string[]): Blob => new Blob(parts, { type: 'application/jsonl' });
