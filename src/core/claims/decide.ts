import type { CommandType, Decider, SubjectCommand } from './commands.js';
import { decideClaim } from './decide/claim.js';
import { decideExpire } from './decide/expire.js';
import {
  decideNote,
  decideRelease,
  decideRenew,
  decideResume,
  decideSuspend,
} from './decide/holder-commands.js';
import { OPERATOR_DECIDERS } from './decide/operator-commands.js';
import { decideReview } from './decide/review.js';
import { decideSubmit } from './decide/submit.js';

const DECIDERS: { readonly [Type in CommandType]: Decider<SubjectCommand<Type>> } = {
  claim: decideClaim,
  renew: decideRenew,
  release: decideRelease,
  submit: decideSubmit,
  suspend: decideSuspend,
  resume: decideResume,
  record_review: decideReview,
  ...OPERATOR_DECIDERS,
  note: decideNote,
  expire: decideExpire,
};

/**
 * Decides what a command does to a head at a given time under the given rules. Refusals are values. Pure: the same
 * inputs give the same decision on every machine. No other code makes these decisions.
 */
export const decide: Decider<SubjectCommand> = (head, command, context) =>
  (DECIDERS[command.type] as Decider<SubjectCommand>)(head, command, context);
