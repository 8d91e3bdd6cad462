import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { canonicalJson } from '../../core/canonical-json.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import type { StateMachine } from '../../core/engine/asl.js';
import { type CompiledMachine, compileMachine } from '../../core/engine/compile-machine.js';
import type { RunEventPayload } from '../../core/engine/run-events.js';
import { type CoordinationFailure, isCoordinationFailure } from '../coordination.js';
import { planDigest } from '../handlers/construct.js';
import type { ClaimOfRun, EngineServices } from '../handlers/services.js';
import { appendRunEvent, type RunAuthor } from './run-events.js';

export interface RunRequest {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly feature_id: string;
  readonly edge: string;
  readonly agent_role?: string;
  readonly lease_seconds?: number;
}

export type RefusedClaim = Exclude<ClaimResult, { success: true }> | CoordinationFailure;

export const sessionOf = (agentId: string, subject: string): string =>
  `engine-${sha256Hex(`${agentId}\n${subject}`).slice(0, 24)}`;

/** Claims an edge, in one session per agent and edge: a restarted executor gets its claim back. */
export async function claimEdge(
  { feature_id, edge, agent_role, lease_seconds }: RunRequest,
  { coordination, agent_id }: EngineServices,
  subject: string,
): Promise<ClaimOfRun | RefusedClaim> {
  const session_id = sessionOf(agent_id, subject);
  const reply = await coordination.claimTask({
    feature_id,
    edge,
    agent_id,
    session_id,
    resume: true,
    ...(agent_role === undefined ? {} : { agent_role }),
    ...(lease_seconds === undefined ? {} : { lease_duration_seconds: lease_seconds }),
  });
  if (isCoordinationFailure(reply) || !reply.success) return reply;
  return { generation: reply.claim.generation, claim_id: reply.claim.id, session_id };
}

/** Records the run with its machine. */
export async function startRun(
  { feature_id, edge }: RunRequest,
  services: EngineServices,
  author: RunAuthor,
  { run_id, retry_of }: Pick<RunEventPayload<'run_requested'>, 'run_id' | 'retry_of'>,
): Promise<StateMachine> {
  const plan = await services.readPlan(feature_id, edge);
  const { machine, workflow_type }: CompiledMachine = compileMachine(plan);
  const text = canonicalJson(machine);
  await appendRunEvent(services.coordination, author, 'run_started', {
    run_id,
    ...(retry_of === null ? {} : { retry_of }),
    workflow_type,
    machine: await services.blobs.put(Buffer.from(text)),
    machine_sha256: sha256Hex(text),
    config_sha256: planDigest(plan),
  });
  return machine;
}
