import type { Mutant } from '../mutant.js';

const LEASE = 'src/core/claims/lease.ts';
const EVOLVE = 'src/core/claims/evolve.ts';
const TELL = 'src/core/claims/decide/decision-builder.ts';

/** Faults in time comparisons, and in the effect of an event on a head. */
export const FOLD_MUTANTS: readonly Mutant[] = [
  {
    name: 'lapsed-an-instant-late',
    file: LEASE,
    find: '(isOpenClaim(claim) && nowMs >= lapsesAtMs(claim, rules));',
    replace: '(isOpenClaim(claim) && nowMs > lapsesAtMs(claim, rules));',
    why: 'In one instant the holder may renew and everybody else may take over.',
  },
  {
    name: 'takeable-an-instant-late',
    file: LEASE,
    find: 'nowMs >= lapsesAtMs(claim, rules) + rules.skew_margin_ms;',
    replace: 'nowMs > lapsesAtMs(claim, rules) + rules.skew_margin_ms;',
    why: 'In one instant nobody may have the work: its holder no longer, the others not yet.',
  },
  {
    name: 'takeable-without-the-margin',
    file: LEASE,
    find: 'nowMs >= lapsesAtMs(claim, rules) + rules.skew_margin_ms;',
    replace: 'nowMs >= lapsesAtMs(claim, rules);',
    why: 'Where clocks differ, work is taken from somebody whose lease still runs.',
  },
  {
    name: 'suspended-lapses-with-its-old-lease',
    file: LEASE,
    find: "claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms;",
    replace: 'claim.expires_at_ms;',
    why: 'A claim is taken away while its holder waits for a human.',
  },
  {
    name: 'hold-policy-ignored',
    file: LEASE,
    find: "  if (rules.stale_policy === 'hold') return cap;\n",
    replace: '',
    why: 'Work that only a human may free is taken over.',
  },
  {
    name: 'max-hold-ignored',
    file: LEASE,
    find: 'return Math.min(lease ?? Number.POSITIVE_INFINITY, cap);',
    replace: 'return lease ?? Number.POSITIVE_INFINITY;',
    why: 'A claim lasts beyond the longest the project allows.',
  },
  {
    name: 'unwritten-expiry-not-counted',
    file: LEASE,
    find: 'return head.failures + (hasUnrecordedExpiry ? 1 : 0);',
    replace: 'return head.failures;',
    why: 'Whether poisoned work is granted once more depends on whether the sweeper came by.',
  },
  {
    name: 'expiry-not-counted',
    file: EVOLVE,
    find: 'failures: head.failures + 1, last_error: null };',
    replace: 'failures: head.failures, last_error: null };',
    why: 'Work that kills every agent is handed out for ever.',
  },
  {
    name: 'failure-counted-twice',
    file: EVOLVE,
    find: "failures: head.failures + (head.claim?.state === 'EXPIRED' ? 0 : 1),",
    replace: 'failures: head.failures + 1,',
    why: 'A generation that ran out and then reported its error counts as two failures.',
  },
  {
    name: 'expiry-releases',
    file: EVOLVE,
    find: `claim: endedClaim(head, 'EXPIRED', 'EXPIRED'),`,
    replace: `claim: endedClaim(head, 'RELEASED', 'EXPIRED'),`,
    why: 'A late result counts before the sweeper came by, and not after.',
  },
  {
    name: 'expiry-not-told',
    file: TELL,
    find: '    this.emitExpiry(ctx);\n',
    replace: '',
    why: 'The log shows two holders at once, and the history depends on the sweeper.',
  },
  {
    name: 'generation-forgotten-on-completion',
    file: EVOLVE,
    find: "    phase: 'COMPLETED',\n    result,",
    replace: "    phase: 'COMPLETED',\n    generation: 0,\n    result,",
    why: 'After a reset generations begin again, and old handles open new claims.',
  },
  {
    name: 'generation-forgotten-on-release',
    file: EVOLVE,
    find: 'return isForgiven ? { claim, failures: 0, last_error: null } : { claim };',
    replace: 'return isForgiven ? { claim, generation: 0, failures: 0, last_error: null } : { claim };',
    why: 'After a release generations begin again, and a zombie’s handle opens its successor’s claim.',
  },
  {
    name: 'reset-lowers-the-generation',
    file: EVOLVE,
    find: "    phase: 'OPEN',\n    epoch: payload.epoch,",
    replace: "    phase: 'OPEN',\n    generation: head.generation - 1,\n    epoch: payload.epoch,",
    why: 'The handles of the epoch before come back to life.',
  },
  {
    name: 'reset-within-the-epoch',
    file: EVOLVE,
    find: '    epoch: payload.epoch,\n',
    replace: '',
    why: 'What was built on the old result cannot tell that there is a new one.',
  },
  {
    name: 'reset-keeps-the-result',
    file: EVOLVE,
    find: '    result: null,\n    failures: 0,',
    replace: '    failures: 0,',
    why: 'Open work has a result, and a second one is accepted beside it.',
  },
];
