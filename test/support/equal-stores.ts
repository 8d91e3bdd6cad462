import { describe, expect, test } from 'vitest';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { CoordinatorHarness } from './coordinator-harness.js';
import { RandomClient } from './random-client.js';
import { SeededRandom } from './seeded-random.js';

const SEQUENCES_PER_STORE = 100;
/** `npm run test:long` compares this many sequences. */
const SEQUENCES = 1_000;
/** The first sequence of each group. The sequences of a group run concurrently. */
export const SEQUENCE_GROUPS = Array.from(
  { length: SEQUENCES / SEQUENCES_PER_STORE },
  (_, index) => index * SEQUENCES_PER_STORE,
);
const STEPS_MIN = 20;
const STEPS_MAX = 60;
const SECONDS = [0, 0, 1, 5, 20, 40, 120, 310, 700, 4000] as const;

/** Outcomes that the sequences together must produce; otherwise the comparison is worthless. */
const REQUIRED_OUTCOMES = [
  ...[
    'GRANTED',
    'DENIED_ACTIVE_CLAIM',
    'DENIED_COMPLETED',
    'DENIED_DEPENDENCIES',
    'DENIED_HELD',
    'DENIED_LIMIT',
  ],
  ...[
    'RENEWED',
    'ALREADY_EXPIRED',
    'GENERATION_MISMATCH',
    'NO_CLAIM',
    'RELEASED',
    'SESSION_CLOSED',
    'SUSPENDED',
  ],
  ...[
    'ACCEPTED',
    'STALE_GENERATION',
    'TASK_ALREADY_COMPLETED',
    'LEASE_EXPIRED',
    'DEPENDENCY_CHANGED',
    'ESCALATED',
  ],
  ...[
    'REASSIGNED',
    'FORCED',
    'HELD',
    'UNHELD',
    'RESET',
    'ADOPTED',
    'APPROVED',
    'REJECTED',
    'CHANGES_REQUESTED',
  ],
];

const UUID_V7 = /"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"/g;

/** JSON with the random event ids masked. Ids of refusals are derived from what they refuse, and stay. */
const normalizedJson = (value: unknown): string =>
  JSON.stringify(value ?? null).replace(UUID_V7, '"an event id"');

function expectSame(label: string, left: unknown, right: unknown): void {
  const [expected, actual] = [normalizedJson(left), normalizedJson(right)];
  // Most are equal as text; the others may still be equal apart from the order of keys.
  if (expected !== actual) expect(JSON.parse(actual), label).toEqual(JSON.parse(expected));
}

/**
 * A group of sequences on one store. Each has its own tenant, so that concurrent sequences do not affect each other.
 */
class ClientGroup {
  readonly clients: readonly RandomClient[];

  private constructor(
    readonly harness: CoordinatorHarness,
    first: number,
  ) {
    const scopeOf = (seed: number): ProjectKey => ({ tenant_id: `tenant-${seed}`, project_id: 'shop' });
    this.clients = Array.from({ length: SEQUENCES_PER_STORE }, (_, index) => {
      return new RandomClient(harness.coordinator, scopeOf(first + index), first + index);
    });
  }

  static async open(name: 'memory' | 'file', first: number): Promise<ClientGroup> {
    const group = new ClientGroup(await CoordinatorHarness.open(name), first);
    await Promise.all(group.clients.map((client) => client.begin()));
    return group;
  }

  async step(seconds: number, shouldSweep: boolean) {
    this.harness.advance(seconds);
    if (shouldSweep) await this.harness.coordinator.sweep();
    return Promise.all(this.clients.map((client) => client.step()));
  }

  readAll() {
    return Promise.all(this.clients.map((client) => readProject(this.harness, client)));
  }
}

/**
 * The log, with refusals of one moment in the order of their ids: how often work was refused before is read from the
 * log, so the refusals of a batch are recorded in the order in which these reads end.
 */
function sortRefusals(events: readonly EventEnvelope[]): Omit<EventEnvelope, 'position'>[] {
  const refusedAt = (event: EventEnvelope): string => (event.seq === undefined ? event.timestamp : '');
  const ordered = events.map(({ position: _, ...event }) => event as EventEnvelope);
  for (let start = 0; start < ordered.length; ) {
    const at = refusedAt(ordered[start] as EventEnvelope);
    let end = start + 1;
    while (at !== '' && end < ordered.length && refusedAt(ordered[end] as EventEnvelope) === at) end += 1;
    const group = ordered.slice(start, end).sort((a, b) => (a.event_id < b.event_id ? -1 : 1));
    ordered.splice(start, group.length, ...group);
    start = end;
  }
  return ordered;
}

/** A lineage without the number of refusals: those that are only counted are not known after a restart. */
const withoutCount = (lineage: object) => ({ ...lineage, refused_count: null });

/** A session with its log as a set: refusals of one moment may be in any order. */
const inAnyOrder = (session: object) => ({
  ...session,
  ...('task_log' in session && Array.isArray(session.task_log)
    ? { task_log: session.task_log.map(normalizedJson).sort() }
    : {}),
});

/** The log of a client's project, the replies to queries about what the client has touched, and the counts of permits. */
async function readProject(
  harness: CoordinatorHarness,
  { projectKey, subjects }: RandomClient,
): Promise<Record<string, unknown>> {
  const { coordinator, store } = harness;
  const { queries, sessions } = coordinator;
  const { tenant_id } = projectKey;
  const position = await harness.position(projectKey);
  return {
    log: sortRefusals(await harness.events(projectKey)),
    states: await queries.batchGetStates(projectKey, subjects),
    lineages: (
      await Promise.all(subjects.map((subject) => queries.getClaimHistory(projectKey, subject)))
    ).map(withoutCount),
    explanations: await Promise.all(subjects.map((subject) => queries.explain(projectKey, subject))),
    memories: (await Promise.all(['s1', 's2', 's3'].map((id) => sessions.get(tenant_id, id)))).map(
      inAnyOrder,
    ),
    sessions: await sessions.list(tenant_id),
    status: await queries.status(projectKey),
    status_then: await queries.status(projectKey, Math.ceil(position / 2)),
    agents: await queries.agents(projectKey),
    plan: await coordinator.plans.get(projectKey),
    policy: await coordinator.settings.getPolicy(projectKey),
    limits: await coordinator.settings.getLimits(tenant_id),
    claims_live: await store.countPermits(tenant_id, 'claims'),
    sessions_live: await store.countPermits(tenant_id, 'sessions'),
  };
}

type GroupReadings = Awaited<ReturnType<ClientGroup['readAll']>>;

function compare(when: string, first: number, left: GroupReadings, right: GroupReadings): void {
  for (const [at, readings] of left.entries()) {
    for (const part of Object.keys(readings)) {
      expectSame(`sequence ${first + at}: ${part} ${when}`, readings[part], right[at]?.[part]);
    }
  }
}

/** Runs groups of sequences on both stores. `isWhole`: together they must produce every one of REQUIRED_OUTCOMES. */
export function describeMemoryAndFileEquivalence(groups: readonly number[], isWhole = true): void {
  describe('the memory store and the file store', () => {
    const seenOutcomes = new Set<string>();

    test.each(groups)(
      'give the same replies to a hundred random sequences from %i on, and the same state after a restart',
      async (first) => {
        const random = new SeededRandom(first + 1);
        const memory = await ClientGroup.open('memory', first);
        const file = await ClientGroup.open('file', first);
        const steps = STEPS_MIN + random.below(STEPS_MAX - STEPS_MIN + 1);
        for (let step = 0; step < steps; step += 1) {
          const [seconds, shouldSweep] = [random.pick(SECONDS), random.chance(15)];
          const memoryTurns = await memory.step(seconds, shouldSweep);
          const fileTurns = await file.step(seconds, shouldSweep);
          for (const [at, turn] of memoryTurns.entries()) {
            seenOutcomes.add((turn.reply as { reason?: string }).reason ?? '');
            expectSame(
              `sequence ${first + at}, step ${step}: ${JSON.stringify(turn.step)}`,
              turn,
              fileTurns[at],
            );
          }
        }
        const fileReadings = await file.readAll();
        compare('at the end', first, await memory.readAll(), fileReadings);
        await file.harness.restart();
        compare('after a restart', first, fileReadings, await file.readAll());
      },
    );

    test.runIf(isWhole)('are compared on every required outcome', () => {
      expect(REQUIRED_OUTCOMES.filter((reason) => !seenOutcomes.has(reason))).toEqual([]);
    });
  });
}
