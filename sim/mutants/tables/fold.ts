import type { Mutant } from '../mutant.js';

const LEASE = 'src/core/claims/lease.ts';
const EVOLVE = 'src/core/claims/evolve.ts';
const DECISION_BUILDER = 'src/core/claims/decide/decision-builder.ts';

/** Faults in time comparisons, and in the effect of an event on a head. */
export const FOLD_MUTANTS: readonly Mutant[] = [
  {
    name: 'lapsed-an-instant-late',
    file: LEASE,
    find: '(isOpenClaim(claim) && nowMs >= lapsesAtMs(claim, rules));',
    replace: '(isOpenClaim(claim) && nowMs > lapsesAtMs(claim, rules));',
    harm: 'At the expiry instant the holder can renew and others can take over.',
  },
  {
    name: 'takeable-an-instant-late',
    file: LEASE,
    find: 'isLapsed(head, nowMs - rules.skew_margin_ms, rules);',
    replace: 'isLapsed(head, nowMs - rules.skew_margin_ms - 1, rules);',
    harm: 'At the expiry instant neither the holder can renew nor others can take over.',
  },
  {
    name: 'takeable-without-the-margin',
    file: LEASE,
    find: 'isLapsed(head, nowMs - rules.skew_margin_ms, rules);',
    replace: 'isLapsed(head, nowMs, rules);',
    harm: 'When clocks differ, a claim is taken over while its lease is valid.',
  },
  {
    name: 'suspended-lapses-with-its-old-lease',
    file: LEASE,
    find: "claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms;",
    replace: 'claim.expires_at_ms;',
    harm: 'A claim is taken over while its holder waits for a person.',
  },
  {
    name: 'hold-policy-ignored',
    file: LEASE,
    find: "  if (rules.stale_policy === 'hold') return capMs;\n",
    replace: '',
    harm: 'A claim that only a person may free is taken over.',
  },
  {
    name: 'max-hold-ignored',
    file: LEASE,
    find: 'return Math.min(leaseEndsMs ?? Number.POSITIVE_INFINITY, capMs);',
    replace: 'return leaseEndsMs ?? Number.POSITIVE_INFINITY;',
    harm: 'A claim exceeds the maximum hold time of the project.',
  },
  {
    name: 'unwritten-expiry-not-counted',
    file: LEASE,
    find: 'return head.failures + (hasUnrecordedExpiry ? 1 : 0);',
    replace: 'return head.failures;',
    harm: 'Whether a task with too many failures is granted again depends on whether the sweeper ran.',
  },
  {
    name: 'expiry-not-counted',
    file: EVOLVE,
    find: 'failures: head.failures + 1, last_error: null };',
    replace: 'failures: head.failures, last_error: null };',
    harm: 'A task that crashes every agent is granted for ever.',
  },
  {
    name: 'failure-counted-twice',
    file: EVOLVE,
    find: "failures: head.failures + (head.claim?.state === 'EXPIRED' ? 0 : 1),",
    replace: 'failures: head.failures + 1,',
    harm: 'A generation that expired and then reported an error counts as two failures.',
  },
  {
    name: 'expiry-releases',
    file: EVOLVE,
    find: `claim: endedClaim(head, 'EXPIRED', 'EXPIRED'),`,
    replace: `claim: endedClaim(head, 'RELEASED', 'EXPIRED'),`,
    harm: 'A late result is accepted before the sweeper ran and refused after.',
  },
  {
    name: 'expiry-not-told',
    file: DECISION_BUILDER,
    find: '    this.emitExpiry(context);\n',
    replace: '',
    harm: 'The log shows two holders at once, and the history depends on the sweeper.',
  },
  {
    name: 'generation-forgotten-on-completion',
    file: EVOLVE,
    find: "    phase: 'COMPLETED',\n    result,",
    replace: "    phase: 'COMPLETED',\n    generation: 0,\n    result,",
    harm: 'After a reset generations restart, and old handles are valid for new claims.',
  },
  {
    name: 'generation-forgotten-on-release',
    file: EVOLVE,
    find: 'return isForgiven ? { claim, failures: 0, last_error: null } : { claim };',
    replace: 'return isForgiven ? { claim, generation: 0, failures: 0, last_error: null } : { claim };',
    harm: 'After a release generations restart, and the handle of a zombie is valid for a new claim.',
  },
  {
    name: 'reset-lowers-the-generation',
    file: EVOLVE,
    find: "    phase: 'OPEN',\n    epoch: payload.epoch,",
    replace: "    phase: 'OPEN',\n    generation: head.generation - 1,\n    epoch: payload.epoch,",
    harm: 'Handles of the previous epoch become valid again.',
  },
  {
    name: 'reset-within-the-epoch',
    file: EVOLVE,
    find: '    epoch: payload.epoch,\n',
    replace: '',
    harm: 'Results built on the old result are not detected as outdated.',
  },
  {
    name: 'reset-keeps-the-result',
    file: EVOLVE,
    find: '    result: null,\n    failures: 0,',
    replace: '    failures: 0,',
    harm: 'An open task has a result, and a second one is accepted.',
  },
];
