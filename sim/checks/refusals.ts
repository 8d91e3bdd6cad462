import type { Head } from '../../src/core/claims/head.js';
import type { SimHandle } from '../actors/commands.js';

const isOpen = ({ claim }: Head): boolean => claim?.state === 'ACTIVE' || claim?.state === 'SUSPENDED';

/** For each refusal, the condition on the head that makes it true; reasons that depend on more are not checked. */
const REASON_PREDICATES: Readonly<Record<string, (head: Head, handle: SimHandle | null) => boolean>> = {
  DENIED_COMPLETED: ({ phase }) => phase === 'COMPLETED',
  TASK_ALREADY_COMPLETED: ({ phase }) => phase === 'COMPLETED',
  DENIED_ACTIVE_CLAIM: isOpen,
  NO_CLAIM: (head) => !isOpen(head),
  STALE_GENERATION: ({ generation }, handle) => handle === null || handle.generation < generation,
  FUTURE_GENERATION: ({ generation }, handle) => handle === null || handle.generation > generation,
  GENERATION_MISMATCH: ({ generation }, handle) => handle === null || handle.generation !== generation,
};

/** Whether a refusal was true at some moment while it was decided, given the heads of that period. */
export function wasRefusalTrue(reason: string, handle: SimHandle | null, heads: readonly Head[]): boolean {
  const isTrue = REASON_PREDICATES[reason];
  return isTrue === undefined || heads.some((head) => isTrue(head, handle));
}
