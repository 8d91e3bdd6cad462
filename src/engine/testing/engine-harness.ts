import { setTimeout as delay } from 'node:timers/promises';
import type { Coordinator } from '../../coordinator/coordinator.js';
import { type Environment, systemEnvironment } from '../../coordinator/runtime/environment.js';
import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { isProblem, type Problem } from '../../coordinator/wire/problem.js';
import { NO_COST } from '../../core/engine/check-outcome.js';
import type { EdgePlan } from '../../core/engine/edge-plan.js';
import type { ResultManifest } from '../../core/methodology/definition/manifest.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey, Store } from '../../stores/store.js';
import { runBlobsOf } from '../blobs/store-run-blobs.js';
import type { CoordinationFailure, EdgeCoordination } from '../coordination.js';
import type { EngineServices } from '../handlers/services.js';
import type { RunHost } from '../runs/execute-run.js';
import { derivedRunId } from '../runs/run-events.js';

/** A coordinator with its store, and the project whose edges are run. */
export interface EngineHarness {
  readonly coordinator: Coordinator;
  readonly store: Pick<Store, 'events'>;
  readonly blobs: Blobs;
  readonly key: ProjectKey;
  readonly environment: Pick<Environment, 'clock'>;
}

const replyOrFailure = <Reply extends object>(reply: Reply | Problem): Reply | CoordinationFailure =>
  isProblem(reply) ? { code: reply.problem, detail: reply.detail } : reply;

const POLL_MS = 5;

/** A coordinator in process, as the engine sees it. */
const coordinationOf = ({ coordinator, store, key }: EngineHarness): EdgeCoordination => ({
  claimTask: async (body) => replyOrFailure(await coordinator.claims.claimTask(key, body)),
  renewLease: async (body) => replyOrFailure(await coordinator.holder.renewLease(key, body)),
  releaseClaim: async (body) => replyOrFailure(await coordinator.holder.releaseClaim(key, body)),
  suspendClaim: async (body) => replyOrFailure(await coordinator.holder.suspendClaim(key, body)),
  appendEvent: async (body) => replyOrFailure(await coordinator.holder.appendEvent(key, body)),
  submitResult: async (body) => replyOrFailure(await coordinator.holder.submitResult(key, body)),
  proposeCandidate: async (body) => replyOrFailure(await coordinator.evidence.propose(key, body)),
  explain: async (subject) => replyOrFailure(await coordinator.queries.explain(key, subject)),
  async *evidenceChanges(signal) {
    while (!signal.aborted) {
      yield;
      await delay(POLL_MS);
    }
  },
  eventsOf: (subject) => store.events(key, { after: 0, limit: 100_000, subject }),
});

export interface ScriptedRun {
  readonly plan: EdgePlan;
  /** The content of the candidate's only file, by iteration. */
  readonly candidate: (iteration: number) => string;
  /** Whether a check passes on a content. */
  readonly passes: (check: string, content: string) => boolean;
}

/** What the scripted constructor and checks have really done, to compare with the log. */
export interface RunTrace {
  readonly constructed: number[];
  readonly checked: string[];
  /** The prompt of each construction. */
  readonly prompts?: string[];
}

interface ScriptOptions {
  readonly agent_id?: string;
  readonly trace?: RunTrace;
}

/** Services whose constructor and checks are scripted, on a real coordinator. */
export const scriptedServices = (
  harness: EngineHarness,
  script: ScriptedRun,
  options: ScriptOptions = {},
): EngineServices => scriptedServicesOn(coordinationOf(harness), harness, script, options);

/** Scripted services on a given coordination; the harness provides only blobs, tenant and clock. */
export function scriptedServicesOn(
  coordination: EdgeCoordination,
  { blobs, key: { tenant_id }, environment }: Pick<EngineHarness, 'blobs' | 'key' | 'environment'>,
  { plan, candidate, passes }: ScriptedRun,
  { agent_id = 'engine', trace = { constructed: [], checked: [] } }: ScriptOptions,
): EngineServices {
  const runBlobs = runBlobsOf(blobs, tenant_id);
  let draft = '';
  const contentOf = async ({ files }: ResultManifest): Promise<string> =>
    Buffer.from((await blobs.get(tenant_id, files[0]?.sha256 ?? '')) ?? []).toString();
  return {
    coordination,
    blobs: runBlobs,
    files: {
      prepare: async () => ({ folder: '/draft', refreshed: [] }),
      async collect() {
        const bytes = Buffer.from(draft);
        const sha256 = sha256Hex(bytes);
        await blobs.put(tenant_id, sha256, bytes);
        const file = {
          path: 'src/a.txt',
          sha256,
          size_bytes: bytes.byteLength,
          executable: false,
          base_sha256: null,
        };
        return { kind: 'files', files: [file], total_bytes: bytes.byteLength };
      },
      workCopy: async (manifest) => ({
        folder: await contentOf(manifest),
        read_only_mounts: [],
        remove: async () => {},
      }),
      texts: async (manifest) => [{ name: 'src/a.txt', text: await contentOf(manifest) }],
    },
    readPlan: async () => plan,
    loadContext: async () => ({ manifest: Buffer.from('[]'), context_hash: '', is_searched: false }),
    contextTexts: async () => [],
    earlierAttemptTexts: async () => [],
    openConstructor:
      async () =>
      async ({ iteration, prompt }) => {
        trace.constructed.push(iteration);
        trace.prompts?.push(prompt);
        draft = candidate(iteration);
        return { says: `candidate ${iteration}`, constructed_by: `maker-${iteration}`, cost: NO_COST };
      },
    openEvaluator: async () => null,
    runCheck: async ({ check, copy }) => {
      trace.checked.push(`${check.name} ${copy.folder}`);
      const result = passes(check.name, copy.folder) ? 'pass' : 'fail';
      const { name, type, required } = check;
      const nothing = { command_sha256: null, signal: null, report: null, output_sha256: null };
      const exit_code = result === 'pass' ? 0 : 1;
      const outcome = {
        name,
        type,
        required,
        result,
        says: `${result}ed`,
        exit_code,
        duration_ms: 0,
        ...nothing,
      } as const;
      return { outcome, output: new Uint8Array(), report: null };
    },
    spentSoFar: async () => ({ feature: NO_COST, project: NO_COST, tenant: NO_COST }),
    authorityOf: () => ({ decision: 'granted', reason: null }),
    agent_id,
    now: () => environment.clock.wallMs(),
  };
}

/** A host without waits. */
export const instantHost = (): RunHost => ({
  newRunId: derivedRunId,
  sleep: async () => {},
  random: () => 0.5,
  setTimer: systemEnvironment.setTimer,
});
