import type { EventEnvelope } from '../../core/events/envelope.js';
import { PLAN_SUBJECT } from '../../core/subject.js';
import { applyStoredHead, evolveWork, type WorkState } from '../../core/views/index.js';
import type { ProjectKey, Store, StoredHead } from '../../stores/store.js';

const PAGE_ITEMS = 2000;
/** Small pages, because one plan event may carry hundreds of tasks and a page is held in memory at once. */
const PLAN_PAGE_EVENTS = 32;

interface StateSource {
  readonly store: Store;
  readonly key: ProjectKey;
}

/**
 * Loads a project: the plan from its events, everything else from the current heads, so the cost does not grow with
 * the log. Returns its `rules_seq`, or null if there is no such project.
 */
export async function loadWorkState({ store, key }: StateSource, state: WorkState): Promise<number | null> {
  const row = await store.project(key);
  if (row === null) return null;
  await readPlanEvents({ store, key }, state, row.position);
  await readHeads({ store, key }, state);
  state.position = row.position;
  state.last_updated = (await eventsAt({ store, key }, [row.position])).at(-1)?.timestamp ?? null;
  return row.rules_seq;
}

/** Reads every event up to a position. Heads already newer than an event stay. */
export async function readEventsUntil({ store, key }: StateSource, state: WorkState, position: number) {
  while (state.position < position) {
    const events = await store.events(key, { after: state.position, limit: PAGE_ITEMS });
    if (events.length === 0) return;
    for (const event of events) evolveWork(state, event);
  }
}

export async function eventsAt({ store, key }: StateSource, positions: readonly number[]) {
  const found: EventEnvelope[] = [];
  for (const position of positions) {
    found.push(...(await store.events(key, { after: position - 1, until_position: position, limit: 1 })));
  }
  return found;
}

async function readPlanEvents({ store, key }: StateSource, state: WorkState, until_position: number) {
  for (let after = 0; ; ) {
    const query = { subject: PLAN_SUBJECT, after, until_position, limit: PLAN_PAGE_EVENTS };
    const events = await store.events(key, query);
    for (const event of events) evolveWork(state, event);
    const last = events.at(-1);
    if (last === undefined) return;
    after = last.position;
  }
}

async function readHeads({ store, key }: StateSource, state: WorkState): Promise<void> {
  for (let after: string | null = null; ; ) {
    const heads: StoredHead[] = await store.scanHeads(key, { after, limit: PAGE_ITEMS });
    for (const head of heads) applyStoredHead(state, head);
    const last = heads.at(-1);
    if (last === undefined) return;
    after = last.subject;
  }
}
