import { OPEN_CALLER } from '../src/coordinator/authentication/caller.js';
import { ClaimOperation, type ClaimRequest } from '../src/coordinator/operations/claim.js';
import { parseClaim } from '../src/coordinator/operations/parse-body.js';
import { type DecisionSource, DecisionView, Overlay } from '../src/coordinator/queue/decision-view.js';
import type { Attempt } from '../src/coordinator/queue/operation.js';
import { SESSIONS_SCOPE } from '../src/coordinator/queue/permit-limits.js';
import { RefusalCounter } from '../src/coordinator/queue/refusal-counter.js';
import { RulesCache } from '../src/coordinator/queue/rules-cache.js';
import { systemEnvironment } from '../src/coordinator/runtime/environment.js';
import { ENTERPRISE_LIMITS } from '../src/core/claims/policy.js';
import { applyCommit, emptyWork, evolveWork } from '../src/core/views/index.js';
import { EventIndex } from '../src/stores/event-index.js';
import { BlockWriters } from '../src/stores/file/block-writer.js';
import { CHAIN_START } from '../src/stores/file/line.js';
import { WriteBatch } from '../src/stores/file/write-batch.js';
import { ProjectLedger } from '../src/stores/ledger.js';
import { TenantPermits } from '../src/stores/permits.js';
import { tracksOf } from './harness.js';
import { table } from './table.js';

const CLAIMS = 100_000;
const BATCH = 256;
const ROUNDS = 3;
const KEY = { tenant_id: 'bench', project_id: 'project-0' };
const STAGES = ['read', 'operation', 'attempt', 'apply', 'encode', 'index', 'settle'] as const;

/** Measures where the time of a claim goes, stage by stage, without promises and without a disk. */
export async function benchStages(): Promise<void> {
  const rows = Array.from({ length: ROUNDS }, (_, round) => [String(round + 1), ...runRound()]);
  console.log(`\nMicroseconds per claim and stage, ${CLAIMS} claims in batches of ${BATCH}\n`);
  console.log(table(['round', ...STAGES, 'sum'], rows));
}

function runRound(): string[] {
  const stageMs = new Map<string, number>();
  const timeStage = <T>(stage: (typeof STAGES)[number], work: () => T): T => {
    const startMs = performance.now();
    const result = work();
    stageMs.set(stage, (stageMs.get(stage) ?? 0) + performance.now() - startMs);
    return result;
  };
  const { source, ids } = plannedProject();
  const sessionUntilMsById = source.sessionUntilMs as Map<string, number>;
  const ledger = new ProjectLedger(KEY, new TenantPermits());
  const index = new EventIndex();
  const overlay = new Overlay();
  const writers = new BlockWriters();
  let seal = CHAIN_START;
  for (let at = 0; at < CLAIMS; at += BATCH) {
    const bodies = ids.slice(at, at + BATCH).map((taskId, offset) => bodyOf(taskId, at + offset));
    const claims = timeStage('read', () =>
      bodies.map((body) => parseClaim(body, OPEN_CALLER) as ClaimRequest),
    );
    const operations = timeStage('operation', () =>
      claims.map((claim) => new ClaimOperation(claim, OPEN_CALLER)),
    );
    const nowMs = Date.now();
    const view = new DecisionView(source, nowMs, overlay);
    const attempts = timeStage('attempt', () =>
      operations.map((operation) => {
        view.beginOperation(null);
        return operation.attempt(view) as Attempt<unknown>;
      }),
    );
    const applied = timeStage('apply', () =>
      attempts.map(({ transaction }) => ledger.apply(transaction, nowMs)),
    );
    const transactions = applied.flatMap(({ fields, ...writes }) =>
      fields === null ? [] : [{ ...writes, fields }],
    );
    const batch = new WriteBatch(writers, seal, 0);
    timeStage('encode', () => {
      for (const { events, first_position, fields } of transactions)
        batch.add(events, first_position, fields, nowMs);
      seal = batch.finish(0, undefined).seal;
    });
    timeStage('index', () => {
      for (const event of batch.events) index.add(index.position + 1, event);
    });
    batch.release();
    timeStage('settle', () => {
      view.discardStaged();
      for (const [offset, { transaction }] of attempts.entries()) {
        const outcome = applied[offset]?.outcome;
        if (outcome?.kind !== 'committed')
          throw new Error(`A claim of the benchmark was not committed: ${outcome?.kind}.`);
        for (const { scope, member, until_ms } of transaction.permits) {
          if (scope === SESSIONS_SCOPE) sessionUntilMsById.set(member, until_ms ?? 0);
        }
        applyCommit(source.state, transaction, outcome.positions);
      }
    });
  }
  const each = STAGES.map((stage) => ((stageMs.get(stage) ?? 0) * 1000) / CLAIMS);
  return [...each, each.reduce((sum, us) => sum + us, 0)].map((us) => us.toFixed(2));
}

const bodyOf = (task_id: string, index: number) => ({
  task_id,
  agent_id: `agent-${index % 1000}`,
  session_id: `session-${index % 1000}`,
  request_id: `claim-${index}`,
});

function plannedProject(): { source: DecisionSource; ids: string[] } {
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
  const source: DecisionSource = {
    key: KEY,
    state,
    rules_seq: 0,
    limits: { ...ENTERPRISE_LIMITS, max_concurrent_claims: 10_000_000, max_active_sessions: 1_000_000 },
    claimIdSecret: 'k'.repeat(80),
    environment: systemEnvironment,
    rulesCache: new RulesCache(0),
    sessionUntilMs: new Map<string, number>(),
    hasOtherWriters: false,
    refusals: new RefusalCounter(async () => {}),
    settled: () => Promise.resolve(),
  };
  return { source, ids: added.map(({ id }) => id) };
}
