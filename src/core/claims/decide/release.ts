import { isoTime } from '../../events/envelope.js';
import type { Decision, DecisionContext, ReleaseCommand } from '../commands.js';
import type { Head } from '../head.js';
import { DecisionBuilder, holderActor, refuse, replay } from './decision-builder.js';
import { handleFault, isHolderHandle } from './handle.js';

const BACKOFF_FIRST_MS = 5_000;
const BACKOFF_MAX_MS = 15 * 60_000;

/** Exponential backoff: the delay doubles with every consecutive failure, up to 15 minutes. */
export function backoffMs(failures: number): number {
  return Math.min(BACKOFF_FIRST_MS * 2 ** Math.min(failures - 1, 20), BACKOFF_MAX_MS);
}

export function decideRelease(head: Head, command: ReleaseCommand, ctx: DecisionContext): Decision {
  if (isAlreadyReleased(head, command, ctx)) return replay(head, 'RELEASED');
  const fault = handleFault(head, command.handle, ctx);
  if (fault !== null) return refuse(head, fault);
  const builder = new DecisionBuilder(head, ctx);
  const isError = command.reason === 'ERROR';
  // Each generation counts as one failure at most: a recorded expiry has already counted this one.
  const failures = builder.head.failures + (builder.head.claim?.state === 'EXPIRED' ? 0 : 1);
  builder.emit('released', holderActor(head), {
    reason: command.reason,
    ...(command.message === null ? {} : { message: command.message }),
    ...(isError ? { retry_at: isoTime(builder.at_ms + backoffMs(failures)) } : {}),
  });
  builder.emitPoisonHold(ctx);
  return builder.build('RELEASED');
}

/** A repeated release replays the first one, as long as the subject was not granted again. */
function isAlreadyReleased(head: Head, command: ReleaseCommand, ctx: DecisionContext): boolean {
  const { claim } = head;
  if (claim === null || claim.state !== 'RELEASED' || claim.release_reason === 'COMPLETED') return false;
  return command.handle.generation === head.generation && isHolderHandle(head, command.handle, ctx);
}
