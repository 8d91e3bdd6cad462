import type { Head } from '../../core/claims/head.js';
import { packHead, unpackHead } from '../../core/heads/packed-head.js';
import type { StoredHead } from '../store.js';

const HEAD_FIELDS = 13;
const CLAIM_FIELDS = 16;
/** Precedes the packed head of work that is not completed, because packed heads have no phase. */
const OPEN_MARK = 'O';

/** The heads of work are packed, all others are JSON. */
export function textOfHead(head: StoredHead): string {
  if (!isPackable(head)) return JSON.stringify(head);
  return head.phase === 'COMPLETED' ? packHead(head) : OPEN_MARK + packHead(head);
}

export function headFromText(text: string): StoredHead {
  if (text.startsWith('{')) return JSON.parse(text);
  if (!text.startsWith(OPEN_MARK)) return unpackHead(text);
  const head: Head = { ...unpackHead(text.slice(OPEN_MARK.length)), phase: 'OPEN' };
  return head;
}

/** A head with a field that is not packed stays JSON, whatever later versions add. */
function isPackable(head: StoredHead): head is Head {
  const { generation, claim } = head as Partial<Head>;
  if (generation === undefined || claim === undefined) return false;
  if (Object.keys(head).length !== HEAD_FIELDS) return false;
  return claim === null || Object.keys(claim).length === CLAIM_FIELDS;
}
