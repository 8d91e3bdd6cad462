import type { Head } from '../claims/head.js';
import { subjectKindOf } from '../subject.js';
import { emptyClaimIndex, openClaimOf, updateClaimIndex } from './claim-index.js';
import { packedSubject, packHead, unpackHead } from './packed-head.js';

/** Number of heads per page. It is small, so that packing a page delays no command. */
export const HEADS_PER_PAGE = 16;
const UNPACKED_MAX = 1024;

/** Packed heads, one per line. */
interface Page {
  readonly text: string;
  /** The offset of each line in the text, and the length of the text at the end. */
  readonly starts: readonly number[];
  /** Number of lines that are still the head of their subject. The heads of the other lines have been replaced. */
  currentCount: number;
}

export interface HeadsSnapshot {
  /** Texts of pages: packed heads, one per line. */
  readonly pages: readonly string[];
  /** The heads that are not packed. They replace a packed head of the same subject. */
  readonly heads: Iterable<Head>;
  readonly summary: HeadsSummary;
}

/** What `ClaimIndex` needs to know about packed heads, so that loading a snapshot unpacks no head. */
export interface HeadsSummary {
  readonly tracks_by_agent: readonly (readonly [agent_id: string, tracks: readonly string[]])[];
}

/**
 * The heads of claimed work, by subject. Completed work rarely changes, so its heads are packed, a page at a time, and
 * unpacked when they are read.
 */
export class ClaimHeads {
  readonly index = emptyClaimIndex();
  /**
   * The head itself, or the index of a packed head: the number of its page, times heads per page, plus the number of its
   * line.
   */
  readonly #bySubject = new Map<string, Head | number>();
  /** Null in place of a page that was dropped because most of its heads were replaced. */
  readonly #pages: (Page | null)[] = [];
  /** Completed heads that wait for a full page. Some may have been replaced. */
  #headsToPack: Head[] = [];
  /** Cache of unpacked heads, by the index of the packed head. */
  readonly #unpacked = new Map<number, Head>();

  constructor(private readonly headsPerPage = HEADS_PER_PAGE) {}

  /** The number of completed tasks and subtasks. */
  get completedTasks(): number {
    return this.index.completedTasks;
  }

  get size(): number {
    return this.#bySubject.size;
  }

  get(subject: string): Head | undefined {
    const entry = this.#bySubject.get(subject);
    return typeof entry === 'number' ? this.#unpack(entry) : entry;
  }

  has(subject: string): boolean {
    return this.#bySubject.has(subject);
  }

  /** Whether the work is completed, without unpacking its head. */
  isCompleted(subject: string): boolean {
    const entry = this.#bySubject.get(subject);
    return typeof entry === 'number' || entry?.phase === 'COMPLETED';
  }

  /** Whether there is an ACTIVE or SUSPENDED claim, lapsed or not. */
  isClaimed(subject: string): boolean {
    const entry = this.#bySubject.get(subject);
    return typeof entry === 'object' && openClaimOf(entry) !== null;
  }

  set(subject: string, head: Head): void {
    const before = this.#bySubject.get(subject);
    updateClaimIndex(this.index, typeof before === 'number' ? this.#unpack(before) : (before ?? null), head);
    this.#bySubject.set(subject, head);
    if (typeof before === 'number') this.#onReplaced(before);
    if (head.phase !== 'COMPLETED') return;
    this.#headsToPack.push(head);
    if (this.#headsToPack.length >= this.headsPerPage) this.#packCompleted();
  }

  keys(): IterableIterator<string> {
    return this.#bySubject.keys();
  }

  *values(): Generator<Head> {
    for (const subject of this.#bySubject.keys()) yield this.get(subject) as Head;
  }

  *[Symbol.iterator](): Generator<[string, Head]> {
    for (const subject of this.#bySubject.keys()) yield [subject, this.get(subject) as Head];
  }

  /** All heads. The snapshot can be read later, even while heads change. */
  snapshot(): HeadsSnapshot {
    const pages = this.#pages.filter((page) => page !== null).map(({ text }) => text);
    const tracks_by_agent = [...this.index.tracksByAgent].map(([id, tracks]) => [id, [...tracks]] as const);
    const heads = this.#headsNotPackedBefore(this.#pages.length * this.headsPerPage);
    return { pages, heads, summary: { tracks_by_agent } };
  }

  /** All heads except those packed at an index below `endIndex`. */
  *#headsNotPackedBefore(endIndex: number): Generator<Head> {
    for (const entry of this.#bySubject.values()) {
      if (typeof entry !== 'number') yield entry;
      else if (entry >= endIndex) yield this.#unpack(entry);
    }
  }

  /** Reads the pages of a snapshot into an empty instance, before any other head. */
  loadPages(pages: readonly string[], { tracks_by_agent }: HeadsSummary): void {
    for (const page of pages) this.#addPage(page);
    for (const subject of this.#bySubject.keys())
      if (subjectKindOf(subject) === 'task') this.index.completedTasks += 1;
    for (const [agentId, tracks] of tracks_by_agent) this.index.tracksByAgent.set(agentId, new Set(tracks));
  }

  #addPage(text: string): void {
    const starts = startsOfLines(text);
    const packedIndex = this.#pages.length * this.headsPerPage;
    this.#pages.push({ text, starts, currentCount: 0 });
    for (let line = 0; line + 1 < starts.length; line += 1)
      this.#setPacked(packedSubject(lineAt(text, starts, line)), packedIndex + line);
  }

  #setPacked(subject: string, packedIndex: number): void {
    const before = this.#bySubject.get(subject);
    this.#bySubject.set(subject, packedIndex);
    (this.#pageOf(packedIndex) as Page).currentCount += 1;
    if (typeof before === 'number') this.#onReplaced(before);
  }

  #packCompleted(): void {
    const heads = [...new Set(this.#headsToPack)].filter(
      (head) => this.#bySubject.get(head.subject) === head,
    );
    this.#headsToPack = [];
    for (let from = 0; from < heads.length; from += this.headsPerPage) {
      const lines = heads.slice(from, from + this.headsPerPage).map(packHead);
      this.#addPage(`${lines.join('\n')}\n`);
    }
  }

  #unpack(packedIndex: number): Head {
    const cached = this.#unpacked.get(packedIndex);
    if (cached !== undefined) return cached;
    const { text, starts } = this.#pageOf(packedIndex) as Page;
    const head = unpackHead(lineAt(text, starts, packedIndex % this.headsPerPage));
    if (this.#unpacked.size >= UNPACKED_MAX) this.#unpacked.clear();
    this.#unpacked.set(packedIndex, head);
    return head;
  }

  /** Counts a packed head as replaced. Drops a page once most of its heads are replaced, and packs the others again. */
  #onReplaced(packedIndex: number): void {
    this.#unpacked.delete(packedIndex);
    const page = this.#pageOf(packedIndex) as Page;
    page.currentCount -= 1;
    const { text, starts, currentCount } = page;
    if (currentCount * 2 > starts.length) return;
    const firstIndex = packedIndex - (packedIndex % this.headsPerPage);
    for (let line = 0; line + 1 < starts.length; line += 1) {
      const subject = packedSubject(lineAt(text, starts, line));
      if (this.#bySubject.get(subject) !== firstIndex + line) continue;
      const head = this.#unpack(firstIndex + line);
      this.#unpacked.delete(firstIndex + line);
      this.#bySubject.set(subject, head);
      this.#headsToPack.push(head);
    }
    this.#pages[firstIndex / this.headsPerPage] = null;
  }

  #pageOf(packedIndex: number): Page | null | undefined {
    return this.#pages[Math.floor(packedIndex / this.headsPerPage)];
  }
}

const lineAt = (text: string, starts: readonly number[], line: number): string =>
  text.slice(starts[line], (starts[line + 1] as number) - 1);

function startsOfLines(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}
