import { OPEN_CALLER } from '../src/coordinator/caller.js';
import { Desk, type DeskSource, Trial } from '../src/coordinator/desk.js';
import { systemEnvironment } from '../src/coordinator/environment.js';
import { ClaimOperation, type ClaimRequest } from '../src/coordinator/operations/claim.js';
import { readClaim } from '../src/coordinator/operations/read.js';
import { SESSIONS_SCOPE } from '../src/coordinator/rooms.js';
import { ENTERPRISE_LIMITS } from '../src/core/claims/policy.js';
import { absorb, emptyWork, evolveWork } from '../src/core/views/index.js';
import { EventIndex } from '../src/stores/event-index.js';
import { encodeBatch } from '../src/stores/file/batch.js';
import { NO_HASH } from '../src/stores/file/line.js';
import { ProjectLedger } from '../src/stores/ledger.js';
import { TenantSlots } from '../src/stores/slots.js';
import { tracksOf } from './house.js';
import { table } from './table.js';

const CLAIMS = 100_000;
const BATCH = 256;
const ROUNDS = 3;
const KEY = { tenant_id: 'bench', project_id: 'project-0' };
const STAGES = ['read', 'operation', 'attempt', 'apply', 'encode', 'index', 'settle'] as const;

/** Where the time of a claim goes, stage by stage, without promises and without a disk. */
export async function stages(): Promise<void> {
  const rows = Array.from({ length: ROUNDS }, (_, round) => [String(round + 1), ...oneRound()]);
  console.log(`\nMicroseconds per claim and stage, ${CLAIMS} claims in batches of ${BATCH}\n`);
  console.log(table(['round', ...STAGES, 'sum'], rows));
}

function oneRound(): string[] {
  const took = new Map<string, number>();
  const time = <T>(stage: (typeof STAGES)[number], work: () => T): T => {
    const began_ms = performance.now();
    const done = work();
    took.set(stage, (took.get(stage) ?? 0) + performance.now() - began_ms);
    return done;
  };
  const { source, ids } = plannedProject();
  const session_until = source.session_until as Map<string, number>;
  const ledger = new ProjectLedger(KEY, new TenantSlots());
  const index = new EventIndex();
  const trial = new Trial();
  let hash = NO_HASH;
  for (let at = 0; at < CLAIMS; at += BATCH) {
    const bodies = ids.slice(at, at + BATCH).map((task_id, of) => bodyOf(task_id, at + of));
    const claims = time('read', () => bodies.map((body) => readClaim(body) as ClaimRequest));
    const operations = time('operation', () => claims.map((claim) => new ClaimOperation(claim, OPEN_CALLER)));
    const now_ms = Date.now();
    const desk = new Desk(source, now_ms, trial);
    const attempts = time('attempt', () =>
      operations.map((operation) => {
        desk.begin(null);
        return operation.attempt(desk);
      }),
    );
    const applied = time('apply', () => attempts.map(({ unit }) => ledger.apply(unit, now_ms)));
    const units = applied.flatMap(({ record, ...rest }) => (record === null ? [] : [{ ...rest, record }]));
    const encoded = time('encode', () => encodeBatch({ units, at_ms: now_ms }, hash, 0));
    hash = encoded.hash;
    time('index', () => {
      for (const { subject, session_id } of encoded.events)
        index.add(index.position + 1, subject, session_id);
    });
    time('settle', () => {
      desk.clear();
      for (const [of, { unit }] of attempts.entries()) {
        const outcome = applied[of]?.outcome;
        if (outcome?.kind !== 'committed')
          throw new Error(`a claim of the benchmark was refused: ${outcome?.kind}`);
        for (const { scope, member, until_ms } of unit.slots) {
          if (scope === SESSIONS_SCOPE) session_until.set(member, until_ms ?? 0);
        }
        absorb(source.state, unit, outcome.positions);
      }
    });
  }
  const each = STAGES.map((stage) => ((took.get(stage) ?? 0) * 1000) / CLAIMS);
  return [...each, each.reduce((sum, us) => sum + us, 0)].map((us) => us.toFixed(2));
}

const bodyOf = (task_id: string, number: number) => ({
  task_id,
  agent_id: `agent-${number % 1000}`,
  session_id: `session-${number % 1000}`,
  request_id: `claim-${number}`,
});

function plannedProject(): { source: DeskSource; ids: string[] } {
  const added = Object.values(tracksOf(CLAIMS)).flat();
  const state = emptyWork();
  evolveWork(state, {
    event_id: '-',
    event_type: 'PLAN_CHANGED',
    timestamp: new Date().toISOString(),
    ...KEY,
    position: 1,
    subject: '~plan',
    seq: 1,
    agent_id: 'bench',
    payload: { added, changed: [], removed: [] },
  });
  state.position = 0;
  const source: DeskSource = {
    key: KEY,
    state,
    rules_seq: 0,
    limits: { ...ENTERPRISE_LIMITS, max_concurrent_claims: 10_000_000, max_active_sessions: 1_000_000 },
    claim_key: 'k'.repeat(80),
    environment: systemEnvironment,
    skew_margin_ms: 0,
    session_until: new Map<string, number>(),
    hasOtherWriters: false,
    settled: () => Promise.resolve(),
  };
  return { source, ids: added.map(({ id }) => id) };
}
