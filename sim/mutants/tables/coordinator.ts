import type { Mutant } from '../mutant.js';

const PROJECT = 'src/coordinator/project.ts';
const UNIT = 'src/coordinator/unit-builder.ts';
const FACTS = 'src/coordinator/facts.ts';
const FEED = 'src/coordinator/queries/feed.ts';

/** Faults in what is made of a decision, and in what is told. */
export const COORDINATOR_MUTANTS: readonly Mutant[] = [
  {
    name: 'denial-from-the-cache',
    file: UNIT,
    find: 'if (events.length === 0) this.check(head.subject, head.seq);\n    else this.swap',
    replace: 'if (events.length > 0) this.swap',
    why: 'Somebody is refused for a reason that was gone before they asked.',
  },
  {
    name: 'request-not-sent-along',
    file: UNIT,
    find: 'request === null ? [] : [',
    replace: 'request === null || request.key !== undefined ? [] : [',
    why: 'A retry after an unknown outcome is decided anew: one request is granted twice.',
  },
  {
    name: 'request-not-kept',
    file: UNIT,
    find: 'const keep = this.has_effect || this.swaps.length > 0;',
    replace: 'const keep = this.has_effect;',
    why: 'A retry is answered as if it were the first time.',
  },
  {
    name: 'bounds-not-sent-along',
    file: UNIT,
    find: '    if (decision.not_before_ms !== null) this.notBefore(decision.not_before_ms);\n',
    replace: '',
    why: 'A coordinator whose clock is ahead takes work away before its time.',
  },
  {
    name: 'decided-under-any-rules',
    file: UNIT,
    find: 'rules_seq: this.desk.rules_seq,',
    replace: 'rules_seq: null,',
    why: 'A coordinator that missed a change of plan or policy decides by the old one.',
  },
  {
    name: 'session-not-checked',
    file: UNIT,
    find: 'if (known !== null) return this.check(subject, known.seq);',
    replace: 'if (known !== null) return this;',
    why: 'A session that is closed at this moment is granted work.',
  },
  {
    name: 'place-not-taken',
    file: UNIT,
    find: 'if (events.length > 0) this.occupy(decision.next);',
    replace: 'if (events.length > 1) this.occupy(decision.next);',
    why: 'Claims are not counted, and a tenant has more of them than it may.',
  },
  {
    name: 'note-named-at-random',
    file: UNIT,
    find: '    ]);\n    this.notes.push(this.named(draft, event_id));',
    replace: '    ]);\n    this.notes.push(this.named(draft, event_id.slice(0, 0) || undefined));',
    why: 'The same refusal is written down again with every retry.',
  },
  {
    name: 'stands-on-trial',
    file: PROJECT,
    find: 'if (this.services.store.capabilities.single_writer) return false;',
    replace: 'if (this.services.store.capabilities.durable !== undefined) return false;',
    why: 'A unit decided on a head that never came to be replaces another’s head with the same seq.',
  },
  {
    name: 'unknown-told-as-nothing',
    file: PROJECT,
    find: 'return error instanceof StoreUnavailable\n',
    replace: 'return error instanceof Error || error instanceof StoreUnavailable\n',
    why: 'Whoever is told that nothing happened does something else, and the first thing happened too.',
  },
  {
    name: 'conflict-teaches-nothing',
    file: PROJECT,
    find: 'for (const { head } of outcome.heads) if (head !== null) learnHead(this.state, head);',
    replace: '',
    why: 'A coordinator that is behind stays behind, and refuses what it could do.',
  },
  {
    name: 'new-rules-not-read',
    file: PROJECT,
    find: 'return outcome.rules_seq !== this.rules_seq;',
    replace: 'return outcome.rules_seq < this.rules_seq;',
    why: 'After a change of rules by another coordinator nothing is decided here any more.',
  },
  {
    name: 'gate-not-remembered',
    file: 'src/coordinator/operations/holder.ts',
    find: 'unit.build(this.request, reply)',
    replace: 'unit.build(null, reply)',
    why: 'A suspension that arrives again closes the gate that was opened since.',
  },
  {
    name: 'handles-survive-lost-history',
    file: 'src/coordinator/identity.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is looked for as it stands in the source.
    find: '\\n${meta.incarnation}',
    replace: '',
    why: 'After a lossy failover two agents hold the same generation.',
  },
  {
    name: 'merge-before-its-subtasks',
    file: FACTS,
    find: "(id) => desk.head(id).phase !== 'COMPLETED')",
    replace: "(id) => !id.includes('::') && desk.head(id).phase !== 'COMPLETED')",
    why: 'A merge is granted while some of what it merges is missing.',
  },
  {
    name: 'dependencies-not-looked-up',
    file: FACTS,
    find: "(id) => desk.head(id).phase !== 'COMPLETED')",
    replace: "(id) => id === '')",
    why: 'Work is handed out in any order.',
  },
  {
    name: 'inputs-not-compared',
    file: FACTS,
    find: 'head.result === null ? null : { generation: head.result.generation, epoch: head.epoch };',
    replace: 'head.result === null ? null : { generation: 1, epoch: 0 };',
    why: 'A result counts that was made from results which no longer do.',
  },
  {
    name: 'feed-skips-an-event',
    file: FEED,
    find: 'return { events, next: cursorAt(events.at(-1)?.position ?? after) };',
    replace:
      'return { events, next: cursorAt((events.at(-1)?.position ?? after) + (events.length > 7 ? 1 : 0)) };',
    why: 'Whoever follows the feed misses what happened between two pages.',
  },
  {
    name: 'feed-repeats-an-event',
    file: FEED,
    find: 'return { events, next: cursorAt(events.at(-1)?.position ?? after) };',
    replace: 'return { events, next: cursorAt(events.at(-2)?.position ?? after) };',
    why: 'Whoever follows the feed sees the same event twice.',
  },
];
