import { subjectKindOf } from '../subject.js';
import { isTaskId } from './task-id.js';

/** Enough of the digest to distinguish results; the full digest is stored beside it. */
const HASH_LENGTH = 12;
const REF_LENGTH_MAX = 400;
const REF_PATTERN = /^wp-(\S+)-gen([1-9][0-9]{0,8})-([0-9a-f]{12})$/;

export interface WorkProductRef {
  /** The task or edge that the result belongs to. */
  readonly subject: string;
  readonly generation: number;
  /** First twelve hex digits of the SHA-256 of the content. */
  readonly hash: string;
}

export const workProductRef = (subject: string, generation: number, sha256: string): string =>
  `wp-${subject}-gen${generation}-${sha256.slice(0, HASH_LENGTH)}`;

/**
 * Null if it is not a reference of ours. The suffix has a fixed form, so a description that contains `-gen1-` is
 * harmless.
 */
export function parseWorkProductRef(ref: string): WorkProductRef | null {
  if (ref.length > REF_LENGTH_MAX) return null;
  const match = REF_PATTERN.exec(ref);
  if (match === null) return null;
  const [, subject = '', generation = '', hash = ''] = match;
  if (subjectKindOf(subject) === 'record' || (subjectKindOf(subject) === 'task' && !isTaskId(subject)))
    return null;
  return { subject, generation: Number(generation), hash };
}
