import { describe, expect, test } from 'vitest';
import type { ProjectKey } from '../../src/stores/store.js';
import { House } from './house.js';
import { Player } from './player.js';
import { Random } from './random.js';

const PER_STORE = 100;
/** `npm run test:long` compares this many sequences. */
const SEQUENCES = 1_000;
/** The first sequence of each group. The sequences of a group are played at once. */
export const GROUPS = Array.from({ length: SEQUENCES / PER_STORE }, (_, at) => at * PER_STORE);
const STEPS_MIN = 20;
const STEPS_MAX = 60;
const SECONDS = [0, 0, 1, 5, 20, 40, 120, 310, 700, 4000] as const;

/** What the sequences must have met between them, or they are not worth comparing. */
const MUST_HAPPEN = [
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

/** As the wire would show it. The ids of events are random; those of refusals follow from what they refuse, and stay. */
const asTold = (value: unknown): string => JSON.stringify(value ?? null).replace(UUID_V7, '"an event id"');

function same(what: string, left: unknown, right: unknown): void {
  const [expected, told] = [asTold(left), asTold(right)];
  // Most are alike to the letter; the others may still say the same in another order.
  if (expected !== told) expect(JSON.parse(told), what).toEqual(JSON.parse(expected));
}

/** A group of sequences on one store. Each has a tenant of its own: what they do at once cannot mix. */
class Cast {
  readonly players: readonly Player[];

  private constructor(
    readonly house: House,
    first: number,
  ) {
    const scopeOf = (seed: number): ProjectKey => ({ tenant_id: `tenant-${seed}`, project_id: 'shop' });
    this.players = Array.from({ length: PER_STORE }, (_, at) => {
      return new Player(house.coordinator, scopeOf(first + at), first + at);
    });
  }

  static async open(name: 'memory' | 'file', first: number): Promise<Cast> {
    const cast = new Cast(await House.open(name), first);
    await Promise.all(cast.players.map((player) => player.begin()));
    return cast;
  }

  async step(seconds: number, sweeps: boolean) {
    this.house.advance(seconds);
    if (sweeps) await this.house.coordinator.sweep();
    return Promise.all(this.players.map((player) => player.step()));
  }

  told() {
    return Promise.all(this.players.map((player) => everything(this.house, player)));
  }
}

/** All that can be asked about what a player has touched. */
async function everything(house: House, { scope, subjects }: Player): Promise<Record<string, unknown>> {
  const { coordinator, store } = house;
  const { queries, sessions } = coordinator;
  const { tenant_id } = scope;
  const position = await house.position(scope);
  return {
    log: await house.events(scope),
    states: await queries.batchGetStates(scope, subjects),
    lineages: await Promise.all(subjects.map((subject) => queries.getClaimHistory(scope, subject))),
    explanations: await Promise.all(subjects.map((subject) => queries.explain(scope, subject))),
    memories: await Promise.all(['s1', 's2', 's3'].map((id) => sessions.get(tenant_id, id))),
    sessions: await sessions.list(tenant_id),
    status: await queries.status(scope),
    status_then: await queries.status(scope, Math.ceil(position / 2)),
    agents: await queries.agents(scope),
    plan: await coordinator.plans.get(scope),
    policy: await coordinator.settings.getPolicy(scope),
    limits: await coordinator.settings.getLimits(tenant_id),
    claims_live: await store.occupancy(tenant_id, 'claims'),
    sessions_live: await store.occupancy(tenant_id, 'sessions'),
  };
}

type Told = Awaited<ReturnType<Cast['told']>>;

function compare(when: string, first: number, left: Told, right: Told): void {
  for (const [at, told] of left.entries()) {
    for (const part of Object.keys(told)) {
      same(`sequence ${first + at}: ${part} ${when}`, told[part], right[at]?.[part]);
    }
  }
}

/** Plays groups of sequences on both stores. `isWhole`: they must meet every outcome of MUST_HAPPEN between them. */
export function describeEqualStores(groups: readonly number[], isWhole = true): void {
  describe('memory and file store cannot be told apart', () => {
    const happened = new Set<string>();

    test.each(groups)(
      'by a hundred random sequences from %i on, nor can a store and itself opened again',
      async (first) => {
        const random = new Random(first + 1);
        const memory = await Cast.open('memory', first);
        const file = await Cast.open('file', first);
        const steps = STEPS_MIN + random.below(STEPS_MAX - STEPS_MIN + 1);
        for (let step = 0; step < steps; step += 1) {
          const [seconds, sweeps] = [random.one(SECONDS), random.chance(15)];
          const turns = await memory.step(seconds, sweeps);
          const others = await file.step(seconds, sweeps);
          for (const [at, turn] of turns.entries()) {
            happened.add((turn.reply as { reason?: string }).reason ?? '');
            same(`sequence ${first + at}, step ${step}: ${JSON.stringify(turn.step)}`, turn, others[at]);
          }
        }
        const told = await file.told();
        compare('at the end', first, await memory.told(), told);
        await file.house.restart();
        compare('after a restart', first, told, await file.told());
      },
    );

    test.runIf(isWhole)('and the sequences met every outcome worth comparing', () => {
      expect(MUST_HAPPEN.filter((reason) => !happened.has(reason))).toEqual([]);
    });
  });
}
