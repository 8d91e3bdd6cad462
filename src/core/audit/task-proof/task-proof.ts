import { z } from 'zod';
import { readStrictJson } from '../../strict-json.js';
import { type HashBytes, idInStatement } from '../audit-values.js';
import { anchorText } from '../checkpoint.js';
import {
  checkProof,
  describeIssue,
  type InclusionProof,
  inclusionProof,
  type ProofChecks,
  type ProofFault,
} from '../proof.js';
import { type ProofEvent, provenEvent } from './proof-event.js';
import { EVENTS_PER_PROOF_MAX, RESULT_ROLES, type TaskProofSource, withRoles } from './roles.js';
import { type SignedCommandBody, signedBody, signedBodyFault } from './session-signatures.js';
import { resultSummary } from './summary.js';

const TASK_PROOF_FORMAT = 'genesis-fleet task proof 1';

const isAscending = (items: readonly number[]): boolean =>
  items.every((item, at) => at === 0 || item > (items[at - 1] ?? 0));

/** How an accepted result came about: the events that led to it, each with its inclusion proof. */
const taskProof = z
  .strictObject({
    format: z.literal(TASK_PROOF_FORMAT),
    task_id: z.string(),
    tenant_id: idInStatement,
    project_id: idInStatement,
    summary: z.array(z.string()),
    events: z
      .array(z.strictObject({ role: z.enum(RESULT_ROLES), proof: inclusionProof }))
      .min(1)
      .max(EVENTS_PER_PROOF_MAX),
    signatures: z.array(signedBody).max(EVENTS_PER_PROOF_MAX),
  })
  .refine(({ events }) => isAscending(events.map(({ proof }) => proof.index)), {
    error: 'events: expected each once, in the order of the log',
  })
  .refine(({ signatures }) => isAscending(signatures.map(({ position }) => position)), {
    error: 'signatures: expected each once, in the order of the log',
  })
  .refine(({ events }) => new Set(events.map(({ proof }) => anchorText(proof.checkpoint))).size === 1, {
    error: 'events: expected one checkpoint for all',
  })
  .refine(
    ({ tenant_id, project_id, events: [first] }) =>
      first?.proof.checkpoint.tenant_id === tenant_id && first.proof.checkpoint.project_id === project_id,
    { error: 'the checkpoint is of another project' },
  );
export type TaskProof = z.infer<typeof taskProof>;

/** Stable codes, in the order of the checks. Those of inclusion proofs come first. */
type TaskProofFault = ProofFault | 'ROLE_MISMATCH' | 'SUMMARY_MISMATCH' | 'BAD_SESSION_SIGNATURE';

type TaskProofVerdict =
  | { readonly ok: true; readonly proof: TaskProof }
  | { readonly ok: false; readonly code: TaskProofFault; readonly detail: string };

type RefusedTaskProof = Extract<TaskProofVerdict, { ok: false }>;
const refused = (code: TaskProofFault, detail: string): RefusedTaskProof => ({ ok: false, code, detail });

/** Whether a text has the format of a task proof, and must be checked as one. */
export function isTaskProofText(text: string): boolean {
  const parsed = readStrictJson(text);
  return 'value' in parsed && (parsed.value as { format?: unknown } | null)?.format === TASK_PROOF_FORMAT;
}

export function checkTaskProofText(text: string, checks: ProofChecks): TaskProofVerdict {
  const parsed = readStrictJson(text);
  return 'fault' in parsed ? refused('MALFORMED', parsed.fault) : checkTaskProof(parsed.value, checks);
}

export function checkTaskProof(value: unknown, checks: ProofChecks): TaskProofVerdict {
  const parsed = taskProof.safeParse(value);
  if (!parsed.success) return refused('MALFORMED', describeIssue(parsed.error));
  const proof = parsed.data;
  const events: ProofEvent[] = [];
  for (const { proof: inclusion } of proof.events) {
    const verdict = checkProof(inclusion, checks);
    if (!verdict.ok)
      return refused(verdict.code, `event at position ${inclusion.index + 1}: ${verdict.detail}`);
    const event = provenEvent(inclusion);
    if (event === null) return refused('MALFORMED', `position ${inclusion.index + 1}: not an event of a log`);
    events.push(event);
  }
  return contentFault(proof, events, checks) ?? { ok: true, proof };
}

/** The fault of what the file states about its events; null if all of it follows from the events. */
function contentFault(proof: TaskProof, events: readonly ProofEvent[], checks: ProofChecks) {
  const source = { task_id: proof.task_id, events, hash: checks.hash };
  const roles = new Map(withRoles(source).map(({ event, role }) => [event.position, role]));
  if (roles.size === 0) return refused('ROLE_MISMATCH', `no event accepts a result of ${proof.task_id}`);
  for (const { role, proof: inclusion } of proof.events) {
    const expected = roles.get(inclusion.index + 1) ?? 'none';
    if (role !== expected)
      return refused(
        'ROLE_MISMATCH',
        `position ${inclusion.index + 1}: expected the role ${expected}, not ${role}`,
      );
  }
  return summaryFault(proof, source) ?? signaturesFault(proof, events, checks);
}

function summaryFault({ events: [first], signatures, ...proof }: TaskProof, source: TaskProofSource) {
  if (first === undefined) return null;
  const expected = resultSummary({ ...source, checkpoint: first.proof.checkpoint, signatures });
  const length = Math.max(expected.length, proof.summary.length);
  for (let at = 0; at < length; at += 1) {
    if (expected[at] !== proof.summary[at])
      return refused(
        'SUMMARY_MISMATCH',
        `line ${at + 1}: expected from the events: ${expected[at] ?? 'nothing more'}`,
      );
  }
  return null;
}

function signaturesFault(proof: TaskProof, events: readonly ProofEvent[], checks: ProofChecks) {
  for (const signed of proof.signatures) {
    const fault = signedBodyFault(signed, { project: proof, events }, checks);
    if (fault !== null) return refused('BAD_SESSION_SIGNATURE', `position ${signed.position}: ${fault}`);
  }
  return null;
}

/** Assembles a proof, with the known bodies of signed commands; null if there is no result. */
export function assembleTaskProof(
  taskId: string,
  proofs: readonly InclusionProof[],
  hash: HashBytes,
  signaturesOf: (events: readonly ProofEvent[]) => readonly SignedCommandBody[],
): TaskProof | null {
  const events = proofs.flatMap((proof) => provenEvent(proof) ?? []);
  const byPosition = new Map(proofs.map((proof) => [proof.index + 1, proof]));
  const roles = withRoles({ task_id: taskId, events, hash });
  const [first] = proofs;
  if (first === undefined || roles.length === 0) return null;
  const proofEvents = roles.map(({ event }) => event);
  const { tenant_id, project_id } = first.checkpoint;
  const signatures = [...signaturesOf(proofEvents)];
  return {
    format: TASK_PROOF_FORMAT,
    task_id: taskId,
    tenant_id,
    project_id,
    summary: resultSummary({
      task_id: taskId,
      events: proofEvents,
      hash,
      checkpoint: first.checkpoint,
      signatures,
    }),
    events: roles.map(({ event, role }) => ({
      role,
      proof: byPosition.get(event.position) as InclusionProof,
    })),
    signatures,
  };
}
