import type { Head } from '../claims/head.js';
import { subjectKindOf } from '../subject.js';
import { emptyClaimIndex, openClaim, updateClaimIndex } from './claim-index.js';
import { packedSubject, packHead, unpackHead } from './packed-head.js';

/** Heads per page. Few, so that packing a page delays no command. */
export const PAGE_HEADS = 16;
const UNPACKED_MAX = 1024;

/** Packed heads, each a line. */
interface Page {
  readonly text: string;
  /** The start of each line, and the end of the text. */
  readonly starts: readonly number[];
  /** How many lines are still the head of their subject; others have been replaced. */
  currentCount: number;
}

export interface HeadsSnapshot {
  /** Packed heads, a page of lines each. */
  readonly pages: readonly string[];
  /** The heads that are not packed. Of several heads of a subject, the last counts. */
  readonly heads: Iterable<Head>;
  readonly summary: HeadsSummary;
}

/** What the index of a packed head's claims needs, so that loading a snapshot unpacks no head. */
export interface HeadsSummary {
  readonly tracks_by_agent: readonly (readonly [agent_id: string, tracks: readonly string[]])[];
}

/**
 * The heads of claimed work, by subject. Completed work rarely changes, so its heads are packed, a page at a time, and
 * unpacked when they are read.
 */
export class ClaimHeads {
  readonly index = emptyClaimIndex();
  /** A number is the index of a packed head: its page, times the heads per page, plus its line. */
  readonly #bySubject = new Map<string, Head | number>();
  /** Null: the page was outdated. */
  readonly #pages: (Page | null)[] = [];
  /** Completed heads that wait for a full page. Some may be outdated. */
  #completed: Head[] = [];
  /** Packed heads that were read lately, by index. */
  readonly #unpacked = new Map<number, Head>();

  constructor(private readonly pageHeads = PAGE_HEADS) {}

  /** The number of completed tasks and subtasks. */
  get completedTasks(): number {
    return this.index.completedTasks;
  }

  get size(): number {
    return this.#bySubject.size;
  }

  get(subject: string): Head | undefined {
    const found = this.#bySubject.get(subject);
    return typeof found === 'number' ? this.#unpack(found) : found;
  }

  has(subject: string): boolean {
    return this.#bySubject.has(subject);
  }

  /** Whether the work is completed, without unpacking its head. */
  isCompleted(subject: string): boolean {
    const found = this.#bySubject.get(subject);
    return typeof found === 'number' || found?.phase === 'COMPLETED';
  }

  /** Whether there is an ACTIVE or SUSPENDED claim, lapsed or not. */
  isClaimed(subject: string): boolean {
    const found = this.#bySubject.get(subject);
    return typeof found === 'object' && openClaim(found) !== null;
  }

  set(subject: string, head: Head): void {
    const before = this.#bySubject.get(subject);
    updateClaimIndex(this.index, typeof before === 'number' ? this.#unpack(before) : (before ?? null), head);
    this.#bySubject.set(subject, head);
    if (typeof before === 'number') this.#forget(before);
    if (head.phase !== 'COMPLETED') return;
    this.#completed.push(head);
    if (this.#completed.length >= this.pageHeads) this.#packCompleted();
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

  /** All heads as they are now, to be read later while they change. */
  snapshot(): HeadsSnapshot {
    const pages = this.#pages.filter((page) => page !== null).map(({ text }) => text);
    const tracks_by_agent = [...this.index.tracksByAgent].map(([id, tracks]) => [id, [...tracks]] as const);
    const heads = this.#headsNotIn(this.#pages.length * this.pageHeads);
    return { pages, heads, summary: { tracks_by_agent } };
  }

  /** The heads that were not packed when the next page would have begun at this packed index. */
  *#headsNotIn(end: number): Generator<Head> {
    for (const found of this.#bySubject.values()) {
      if (typeof found !== 'number') yield found;
      else if (found >= end) yield this.#unpack(found);
    }
  }

  /** Reads the pages of a snapshot, before any other head. */
  loadPages(pages: readonly string[], { tracks_by_agent }: HeadsSummary): void {
    for (const page of pages) this.#addPage(page);
    for (const subject of this.#bySubject.keys())
      if (subjectKindOf(subject) === 'task') this.index.completedTasks += 1;
    for (const [agentId, tracks] of tracks_by_agent) this.index.tracksByAgent.set(agentId, new Set(tracks));
  }

  #addPage(text: string): void {
    const starts = startsOfLines(text);
    const packedIndex = this.#pages.length * this.pageHeads;
    this.#pages.push({ text, starts, currentCount: 0 });
    for (let line = 0; line + 1 < starts.length; line += 1)
      this.#setPacked(packedSubject(lineAt(text, starts, line)), packedIndex + line);
  }

  #setPacked(subject: string, packedIndex: number): void {
    const before = this.#bySubject.get(subject);
    this.#bySubject.set(subject, packedIndex);
    (this.#pageOf(packedIndex) as Page).currentCount += 1;
    if (typeof before === 'number') this.#forget(before);
  }

  #packCompleted(): void {
    const heads = [...new Set(this.#completed)].filter((head) => this.#bySubject.get(head.subject) === head);
    this.#completed = [];
    for (let from = 0; from < heads.length; from += this.pageHeads) {
      const lines = heads.slice(from, from + this.pageHeads).map(packHead);
      this.#addPage(`${lines.join('\n')}\n`);
    }
  }

  #unpack(packedIndex: number): Head {
    const known = this.#unpacked.get(packedIndex);
    if (known !== undefined) return known;
    const { text, starts } = this.#pageOf(packedIndex) as Page;
    const head = unpackHead(lineAt(text, starts, packedIndex % this.pageHeads));
    if (this.#unpacked.size >= UNPACKED_MAX) this.#unpacked.clear();
    this.#unpacked.set(packedIndex, head);
    return head;
  }

  /** A packed head was replaced. A page that is mostly outdated is packed again, or it would be kept for ever. */
  #forget(packedIndex: number): void {
    this.#unpacked.delete(packedIndex);
    const page = this.#pageOf(packedIndex) as Page;
    page.currentCount -= 1;
    const { text, starts, currentCount } = page;
    if (currentCount * 2 > starts.length) return;
    const first = packedIndex - (packedIndex % this.pageHeads);
    for (let line = 0; line + 1 < starts.length; line += 1) {
      const subject = packedSubject(lineAt(text, starts, line));
      if (this.#bySubject.get(subject) !== first + line) continue;
      const head = this.#unpack(first + line);
      this.#unpacked.delete(first + line);
      this.#bySubject.set(subject, head);
      this.#completed.push(head);
    }
    this.#pages[first / this.pageHeads] = null;
  }

  #pageOf(packedIndex: number): Page | null | undefined {
    return this.#pages[Math.floor(packedIndex / this.pageHeads)];
  }
}

const lineAt = (text: string, starts: readonly number[], line: number): string =>
  text.slice(starts[line], (starts[line + 1] as number) - 1);

function startsOfLines(text: string): number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}
