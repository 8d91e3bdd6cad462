import type { ClaimsCommand, Decision, DecisionContext } from './commands.js';
import { decideClaim } from './decide/claim.js';
import { decideExpire } from './decide/expire.js';
import { decideNote } from './decide/note.js';
import {
  decideAdopt,
  decideForceRelease,
  decideHold,
  decideReassign,
  decideReset,
  decideUnhold,
} from './decide/operator-commands.js';
import { decideRelease } from './decide/release.js';
import { decideRenew, decideResume, decideSuspend } from './decide/renew.js';
import { decideReview } from './decide/review.js';
import { decideSubmit } from './decide/submit.js';
import type { Head } from './head.js';

/**
 * Decides what a command does to a head at a given time under the given rules. Refusals are values. Pure: the same
 * inputs give the same decision on every machine. No other code makes these decisions.
 */
export function decide(head: Head, command: ClaimsCommand, ctx: DecisionContext): Decision {
  switch (command.type) {
    case 'claim':
      return decideClaim(head, command, ctx);
    case 'renew':
      return decideRenew(head, command, ctx);
    case 'release':
      return decideRelease(head, command, ctx);
    case 'submit':
      return decideSubmit(head, command, ctx);
    case 'suspend':
      return decideSuspend(head, command, ctx);
    case 'resume':
      return decideResume(head, command, ctx);
    case 'record_review':
      return decideReview(head, command, ctx);
    case 'force_release':
      return decideForceRelease(head, command, ctx);
    case 'reassign':
      return decideReassign(head, command, ctx);
    case 'reset':
      return decideReset(head, command, ctx);
    case 'hold':
      return decideHold(head, command, ctx);
    case 'unhold':
      return decideUnhold(head, command, ctx);
    case 'adopt':
      return decideAdopt(head, command, ctx);
    case 'note':
      return decideNote(head, command, ctx);
    case 'expire':
      return decideExpire(head, ctx);
  }
}
