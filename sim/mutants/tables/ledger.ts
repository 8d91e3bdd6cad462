import type { Mutant } from '../mutant.js';

const LEDGER = 'src/stores/ledger.ts';
const PERMITS = 'src/stores/permits.ts';
const CLAIM_HEADS = 'src/core/heads/claim-heads.ts';
const PACKED_HEAD = 'src/core/heads/packed-head.ts';

/** Faults in the code that all stores share: transactions, permits, requests, time. */
export const LEDGER_MUTANTS: readonly Mutant[] = [
  {
    name: 'swap-without-its-seq',
    file: LEDGER,
    find: 'of transaction.swaps)\n      if (this.seqOf(subject) !== expected_seq) return true;',
    replace: 'of transaction.swaps)\n      if (this.seqOf(subject) < expected_seq) return true;',
    harm: 'When two coordinators decide at once, the second overwrites the first.',
  },
  {
    name: 'check-without-its-seq',
    file: LEDGER,
    find: 'of transaction.checks)\n      if (this.seqOf(subject) !== expected_seq) return true;',
    replace: 'of transaction.checks)\n      if (this.seqOf(subject) < expected_seq) return true;',
    harm: 'A refusal is based on an outdated head.',
  },
  {
    name: 'rules-not-compared',
    file: LEDGER,
    find: 'if (transaction.rules_seq !== null && transaction.rules_seq !== this.rules_seq) return true;',
    replace: '',
    harm: 'A decision made under an old plan or policy is committed under the new one.',
  },
  {
    name: 'not-before-ignored',
    file: LEDGER,
    find: `    if (transaction.not_before_ms !== null && now_ms < transaction.not_before_ms)\n      return { kind: 'early', now_ms };\n`,
    replace: '',
    harm: 'A coordinator whose clock is ahead expires claims too early.',
  },
  {
    name: 'not-after-ignored',
    file: LEDGER,
    find: `    if (transaction.not_after_ms !== null && now_ms >= transaction.not_after_ms)\n      return { kind: 'late', now_ms };\n`,
    replace: '',
    harm: 'A delayed renewal revives an expired claim.',
  },
  {
    name: 'not-after-an-instant-late',
    file: LEDGER,
    find: 'now_ms >= transaction.not_after_ms',
    replace: 'now_ms > transaction.not_after_ms',
    harm: 'At the instant a claim expires it can be both renewed and taken over.',
    tests: ['src/stores/memory/memory-store.test.ts'],
  },
  {
    name: 'head-deleted-on-completion',
    file: LEDGER,
    find: '    this.heads.set(head as AnyHead);\n',
    replace: `    if ((head as { phase?: string }).phase !== 'COMPLETED') this.heads.set(head as AnyHead);\n`,
    harm: 'Completed tasks are lost and start again from the first generation.',
  },
  {
    name: 'note-written-twice',
    file: LEDGER,
    find: 'const isNew = !this.looseEventIds.has(looseEvent.event_id) && !newIds.has(looseEvent.event_id);',
    replace: `const isNew = looseEvent.event_id !== '';`,
    harm: 'The same event is in the log twice.',
  },
  {
    name: 'notes-forgotten-after-a-restart',
    file: LEDGER,
    find: 'if (event.seq === undefined) this.looseEventIds.add(event.event_id);\n      else this.restoreHead',
    replace: 'if (event.seq !== undefined) this.restoreHead',
    harm: 'After a restart the same event is written a second time.',
  },
  {
    name: 'requests-forgotten-after-a-restart',
    file: LEDGER,
    find: 'of fields.requests ?? []) {',
    replace: 'of [] as LoggedRequest[]) {',
    harm: 'A retry that arrives after a restart is granted a second time.',
  },
  {
    name: 'requests-not-read-from-the-snapshot',
    file: LEDGER,
    find: '    for (const request of snapshot.requests) ledger.requests.remember(request);\n',
    replace: '',
    harm: 'A retry that arrives after a restart from a snapshot is granted a second time.',
  },
  {
    name: 'places-forgotten-after-a-restart',
    file: LEDGER,
    find: 'this.applyPermits(fields.permits ?? [], atMs);',
    replace: '',
    harm: 'After a restart a tenant can have twice its claim limit.',
  },
  {
    name: 'one-place-too-many',
    file: PERMITS,
    find: 'if (added > 0 && live + added - freed > max) return scope;',
    replace: 'if (added > 0 && live + added - freed > max + 1) return scope;',
    harm: 'A tenant exceeds its claim limit by one.',
  },
  {
    name: 'place-freed-early',
    file: PERMITS,
    find: 'if (heldPermit === undefined || heldPermit.until_ms > nowMs) return;',
    replace: 'if (heldPermit === undefined || heldPermit.until_ms > nowMs + 2000) return;',
    harm: 'A permit is reused while its holder is still working.',
  },
  {
    name: 'place-not-prolonged',
    file: PERMITS,
    find: '      heldPermit.until_ms = until_ms;\n',
    replace: '',
    harm: 'A renewed claim loses its permit when its first lease ends.',
  },
  {
    name: 'clock-jumps-with-the-wall-clock',
    file: 'src/stores/clock.ts',
    find: 'this.lastMs += Math.min(Math.max(behindMs, elapsedMs * (1 - SLEW)), elapsedMs * (1 + SLEW));',
    replace: 'this.lastMs += Math.max(behindMs, elapsedMs * (1 - SLEW));',
    harm: 'When the clock is set, every lease expires at once.',
  },
  {
    name: 'step-beyond-a-limit',
    file: LEDGER,
    find: '    if (this.permits.findFullScope(this.key.project_id, permits, permit_limits, nowMs) !== null) return null;\n',
    replace: '',
    tests: ['src/coordinator/tests/direct-decisions.test.ts'],
    harm: 'A claim that is decided on arrival is granted beyond the limit of the tenant.',
  },
  {
    name: 'step-repeated-by-its-request',
    file: LEDGER,
    find: '    if (request !== null && this.requests.has(request.key)) return null;\n',
    replace: '',
    tests: ['src/coordinator/tests/direct-decisions.test.ts'],
    harm: 'A repeated request takes effect twice.',
  },
  {
    name: 'replay-without-its-first-event',
    file: 'src/stores/request-cache.ts',
    find: '    this.firstPositions.push(positions[0] ?? 0);\n    this.eventCounts.push(positions.length);',
    replace:
      '    this.firstPositions.push((positions[0] ?? 0) + 1);\n    this.eventCounts.push(positions.length - 1);',
    harm: 'The reply to a retry lacks the event that granted it.',
  },
  {
    name: 'outdated-page-dropped-with-its-heads',
    file: CLAIM_HEADS,
    find: '      if (this.#bySubject.get(subject) !== firstIndex + line) continue;\n',
    replace: '      continue;\n',
    harm: 'Completed tasks are lost when others of their page start again.',
  },
  {
    name: 'packed-head-without-its-generation',
    file: PACKED_HEAD,
    find: '    subject,\n    seq,\n    generation,\n    epoch,\n    last_at_ms,',
    replace: '    subject,\n    seq,\n    1,\n    epoch,\n    last_at_ms,',
    harm: 'A completed task goes back to its first generation, and old results count again.',
  },
];
