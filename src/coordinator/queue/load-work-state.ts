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
 * Loads a project up to a position: the plan from its events, everything else from the current heads, so the cost does
 * not grow with the log.
 */
export async function loadWorkState(source: StateSource, state: WorkState, position: number): Promise<void> {
  await readPlanEvents(source, position, (event) => evolveWork(state, event));
  await readHeads(source, state);
  await setPosition(source, state, position);
}

/** Sets the position to which the state is folded. */
export async function setPosition(source: StateSource, state: WorkState, position: number): Promise<void> {
  const [last] = position === 0 ? [] : await eventsAt(source, [position]);
  state.last_updated = last?.timestamp ?? null;
  state.position = position;
}

/** Applies the events to the state, at least up to a position. An event does not change a head that is already newer. */
export async function readEventsUntil({ store, key }: StateSource, state: WorkState, position: number) {
  while (state.position < position) {
    const events = await store.events(key, { after: state.position, limit: PAGE_ITEMS });
    if (events.length === 0) return;
    for (const event of events) evolveWork(state, event);
  }
}

export async function eventsAt({ store, key }: StateSource, positions: readonly number[]) {
  const events: EventEnvelope[] = [];
  for (const position of positions) {
    events.push(...(await store.events(key, { after: position - 1, until_position: position, limit: 1 })));
  }
  return events;
}

/** Reads the changes of the plan: its tasks are in the events only, not in its head. */
export async function readPlanEvents(
  { store, key }: StateSource,
  until_position: number,
  onEvent: (event: EventEnvelope) => void,
): Promise<void> {
  for (let after = 0; ; ) {
    const query = { subject: PLAN_SUBJECT, after, until_position, limit: PLAN_PAGE_EVENTS };
    const events = await store.events(key, query);
    for (const event of events) onEvent(event);
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
