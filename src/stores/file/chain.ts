import type { ProjectKey } from '../store.js';
import type { DecodedLine } from './line.js';

/** The end of a log, which the next line must continue. */
export interface ChainEnd {
  readonly key: ProjectKey;
  /** Of the last line. */
  readonly hash: string;
  /** Of the last event. */
  readonly position: number;
  /** The number of lines so far of an incomplete transaction. */
  readonly parts: number;
}

const SINGLE_PART = { part: 1, parts: 1 };

/** The part number of a line and the number of lines in its transaction. Most transactions are one line. */
export function transactionPart(text: string): { part: number; parts: number } {
  if (text === '1/1') return SINGLE_PART;
  const [part = 0, parts = 0] = text.split('/').map(Number);
  return { part, parts };
}

/** Why a line cannot follow the lines before it; null if it can. */
export function chainError({ event, log }: DecodedLine, part: number, end: ChainEnd): string | null {
  const { key, hash, position, parts } = end;
  if (log.prev !== hash) return 'it does not continue the line before it';
  if (part !== parts + 1) return `it is part ${log.unit} of a unit whose other parts are missing`;
  if (event === null) return null;
  if (event.tenant_id !== key.tenant_id || event.project_id !== key.project_id) {
    return `it belongs to ${event.tenant_id}/${event.project_id}, not to ${key.tenant_id}/${key.project_id}`;
  }
  const expected = position + 1;
  return event.position === expected ? null : `it has position ${event.position} instead of ${expected}`;
}
