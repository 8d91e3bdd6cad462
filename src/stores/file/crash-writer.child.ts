import { writeSync } from 'node:fs';
import { isoTime, type NewEvent } from '../../core/events/envelope.js';
import { type AnyHead, fold } from '../../core/fold.js';
import type { Transaction } from '../store.js';
import { openFileStore } from './file-store.js';

/** A process to be killed: it commits in an endless loop and prints each confirmed commit before the next one. */
const [root = '', name = ''] = process.argv.slice(2);
const projectKey = { tenant_id: 't', project_id: 'p' };
const store = await openFileStore({ root, segment_bytes_max: 200_000 });

function eventOf(fields: Partial<NewEvent>): NewEvent {
  const base = {
    event_type: 'thing_happened',
    timestamp: isoTime(0),
    ...projectKey,
    agent_id: 'a',
    payload: {},
  };
  return { event_id: `${fields.subject}/${fields.seq}`, ...base, ...fields };
}

function transactionOf(subject: string, count: number, hasLooseEvent: boolean): Transaction {
  const events = Array.from({ length: count }, (_, index) => eventOf({ subject, seq: index + 1 }));
  const head = events.reduce<AnyHead | null>((before, event) => fold(before, event), null) as AnyHead;
  return {
    ...projectKey,
    swaps: [{ subject, expected_seq: 0, head, events }],
    checks: [],
    rules_seq: null,
    changes_rules: false,
    requests: [],
    loose_events: hasLooseEvent ? [eventOf({ event_id: `note${subject}` })] : [],
    permits: [],
    permit_limits: [],
    not_before_ms: null,
    not_after_ms: null,
  };
}

async function commitOn(lane: number): Promise<void> {
  for (let round = 0; ; round += 1) {
    const subject = `~${name}-${lane}-${round}`;
    const [outcome] = await store.commit([transactionOf(subject, (round % 3) + 1, round % 4 === 0)]);
    if (outcome?.kind !== 'committed') throw new Error(`The commit ended in ${outcome?.kind}.`);
    writeSync(1, `${JSON.stringify({ subject, positions: outcome.positions })}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, lane) => commitOn(lane)));
