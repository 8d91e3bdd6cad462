import type { EventEnvelope } from '../../core/events/envelope.js';
import { eventFromLine } from '../event-line.js';
import type { ProjectKey } from '../store.js';
import type { DynamodbBlobs } from './blobs.js';
import { bucketOf, type DynamoItem, N, numberOf, pageKey } from './keys.js';
import { type ExternalText, readText, toStoredText } from './stored-text.js';

/** Maximum size of a page with several events: small enough to be read whole when one of them is needed. */
const PAGE_BYTES_MAX = 64_000;

/** Consecutive events of one bucket that share an item. */
interface EventPage {
  readonly lines: string[];
  /** The latest timestamp of any event before the page. */
  readonly high_ms: number;
  last_position: number;
  bytes: number;
}

/** Distributes consecutive events over as few items as possible. A page stays within its bucket. */
export class EventPages {
  readonly pages: EventPage[] = [];

  add(line: string, position: number, highMs: number): void {
    const last = this.pages.at(-1);
    const bytes = Buffer.byteLength(line);
    if (last === undefined || !fitsPage(last, position, bytes)) {
      this.pages.push({ lines: [line], high_ms: highMs, last_position: position, bytes });
      return;
    }
    last.lines.push(line);
    last.last_position = position;
    last.bytes += bytes;
  }

  /** The number of pages after these lines are added, the first of them at this position. */
  countWith(lines: readonly string[], position: number): number {
    const copy = new EventPages();
    const last = this.pages.at(-1);
    if (last !== undefined) copy.pages.push({ ...last, lines: [] });
    for (const [index, line] of lines.entries()) copy.add(line, position + index, 0);
    return Math.max(0, this.pages.length - 1) + copy.pages.length;
  }
}

const fitsPage = (page: EventPage, position: number, bytes: number): boolean =>
  bucketOf(page.last_position) === bucketOf(position) && page.bytes + bytes <= PAGE_BYTES_MAX;

/** The item of a page, and its text if that is stored separately. */
export function pageItem(
  projectKey: ProjectKey,
  { lines, high_ms, last_position }: EventPage,
): { readonly item: DynamoItem; readonly external: ExternalText | null } {
  const { attributes, external } = toStoredText('events', lines.join('\n'));
  return { item: { ...pageKey(projectKey, last_position), high_ms: N(high_ms), ...attributes }, external };
}

export async function eventsFromPage(
  item: DynamoItem,
  blobs: DynamodbBlobs,
  projectKey: ProjectKey,
): Promise<EventEnvelope[]> {
  const lines = (await readText(item, 'events', blobs, projectKey.tenant_id)).split('\n');
  const first = numberOf(item.sk) - lines.length + 1;
  return lines.map((line, index) => eventFromLine(line, first + index, projectKey));
}
