import type { Genesis } from '../../client/index.js';
import { sha256 } from '../../coordinator/audit/audit-hash.js';
import { verifySignatureSync } from '../../coordinator/audit/verify-signature.js';
import { toBase64url, utf8 } from '../../core/audit/audit-values.js';
import type { InclusionProof } from '../../core/audit/proof.js';
import { type ProofEvent, toProofEvent } from '../../core/audit/task-proof/proof-event.js';
import { type ResultContext, resultContext, selectProofEvents } from '../../core/audit/task-proof/roles.js';
import { assembleTaskProof, checkTaskProof, type TaskProof } from '../../core/audit/task-proof/task-proof.js';
import type { EventEnvelope, EventFilter } from '../../core/contract/events.js';
import { applyPlanChange, dependenciesOf, diffPlan, Plan } from '../../core/plan/index.js';
import { failureWithCode } from '../exit.js';
import { unwrapReply } from '../replies.js';
import { type SentBody, signedBodies } from './signed-bodies.js';

const CHECKS = { hash: sha256, verify: verifySignatureSync };

/** Builds a proof of the history of a result from the replies of the server, and checks the proof. */
export async function collectTaskProof(
  client: Genesis,
  taskId: string,
  sent: readonly SentBody[],
): Promise<TaskProof> {
  const state = unwrapReply(await client.task(taskId));
  if (state.result === null) throw noResult(state.task_id, state.phase);
  const reader = new ProofEventReader(client);
  const proofEvents = await findProofEvents(client, reader, state.task_id);
  const proofs = await proveAll(client, reader, proofEvents, state.task_id);
  const proof = assembleTaskProof(state.task_id, proofs, sha256, (events) =>
    signedBodies({ project: { tenant_id: client.tenant, project_id: client.project }, events }, sent, CHECKS),
  );
  if (proof === null) throw noResult(state.task_id, state.phase);
  const verdict = checkTaskProof(proof, CHECKS);
  if (!verdict.ok)
    throw failureWithCode(
      verdict.code,
      `The server's replies do not form a valid proof: ${verdict.detail}. Check the log: gen verify.`,
    );
  return proof;
}

const noResult = (taskId: string, phase: string) =>
  failureWithCode(
    'NOT_COMPLETED',
    `${taskId} is ${phase.toLowerCase()} and has no accepted result, so there is nothing to prove. See gen task show ${taskId}.`,
  );

const PAGE_SIZE = 1000;

/** Reads events, and remembers their payloads: a proof over HTTP leaves out long payloads. */
class ProofEventReader {
  private readonly payloads = new Map<number, string>();

  constructor(private readonly client: Genesis) {}

  async read(filter: Omit<EventFilter, 'after' | 'limit'>): Promise<ProofEvent[]> {
    const envelopes: EventEnvelope[] = [];
    for (let after = ''; ; ) {
      const cursor = after === '' ? {} : { after };
      const page = unwrapReply(await this.client.events({ ...filter, ...cursor, limit: PAGE_SIZE }));
      envelopes.push(...page.events);
      if (page.events.length < PAGE_SIZE) break;
      after = page.next;
    }
    return envelopes.flatMap((event) => {
      this.payloads.set(event.position, JSON.stringify(event.payload));
      return toProofEvent(event, event.payload) ?? [];
    });
  }

  /** The proof with the payload. A payload that was redacted does not match the digest in the leaf, and is left out. */
  withPayload(proof: InclusionProof): InclusionProof {
    const payload = this.payloads.get(proof.index + 1);
    if (proof.payload !== undefined || payload === undefined) return proof;
    const { payload_sha256 } = JSON.parse(proof.leaf) as { payload_sha256: string };
    return toBase64url(sha256(utf8(payload))) === payload_sha256 ? { ...proof, payload } : proof;
  }
}

async function findProofEvents(
  client: Genesis,
  reader: ProofEventReader,
  task_id: string,
): Promise<ProofEvent[]> {
  const taskEvents = { task_id, events: await reader.read({ task_id }), hash: sha256 };
  const context = resultContext(taskEvents);
  if (context === null) return [];
  const allEvents = [...taskEvents.events];
  for (const input of inputIds(context) ?? (await plannedInputs(client, task_id)))
    allEvents.push(...(await reader.read({ task_id: input })));
  const sessions = selectProofEvents(taskEvents).flatMap(({ session_id = '' }) =>
    session_id === '' ? [] : session_id,
  );
  for (const session_id of new Set(sessions))
    allEvents.push(...(await reader.read({ session_id, type: 'SESSION_OPENED' })));
  const events = allEvents.sort((one, other) => one.position - other.position);
  return selectProofEvents({ ...taskEvents, events });
}

const inputIds = ({ inputs }: ResultContext): string[] | null =>
  inputs && [...inputs].map((input) => input.slice(0, input.lastIndexOf('@')));

/** The inputs in the plan, for a grant that has only their digest. They match the digest unless the plan has changed. */
async function plannedInputs(client: Genesis, taskId: string): Promise<readonly string[]> {
  const { plan } = unwrapReply(await client.plan());
  return dependenciesOf(applyPlanChange(new Plan(), diffPlan(null, plan)), taskId);
}

/** Maximum number of rounds. All proofs must refer to one checkpoint: after a new checkpoint all are requested again. */
const ROUNDS_MAX = 5;

const PARALLEL_CALLS = 8;

async function proveOne(client: Genesis, position: number): Promise<InclusionProof> {
  const proof = unwrapReply(await client.auditProof(position));
  return { ...proof, path: [...proof.path] };
}

async function proveAll(
  client: Genesis,
  reader: ProofEventReader,
  proofEvents: readonly ProofEvent[],
  taskId: string,
): Promise<InclusionProof[]> {
  const result = resultContext({ task_id: taskId, events: proofEvents, hash: sha256 })?.result;
  for (let round = 1; result !== undefined && round <= ROUNDS_MAX; round += 1) {
    // The server refuses this request if no checkpoint covers the result yet.
    const { checkpoint } = unwrapReply(await client.auditProof(result.position));
    const positions = proofEvents
      .map(({ position }) => position)
      .filter((each) => each <= checkpoint.position);
    const proofs: InclusionProof[] = [];
    for (let at = 0; at < positions.length; at += PARALLEL_CALLS) {
      const calls = positions.slice(at, at + PARALLEL_CALLS).map((position) => proveOne(client, position));
      proofs.push(...(await Promise.all(calls)));
    }
    if (proofs.every((proof) => proof.checkpoint.position === checkpoint.position))
      return proofs.map((proof) => reader.withPayload(proof));
  }
  if (result === undefined) return [];
  throw failureWithCode('FAILED', 'New checkpoints were written meanwhile. Run the command again.');
}
