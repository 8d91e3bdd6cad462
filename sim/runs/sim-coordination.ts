import { isProblem } from '../../src/coordinator/index.js';
import type { AppendResult } from '../../src/core/contract/events.js';
import type { EventEnvelope } from '../../src/core/events/envelope.js';
import { edgeSubject } from '../../src/core/methodology/definition/edge-name.js';
import {
  type CoordinationFailure,
  type EdgeCoordination,
  isCoordinationFailure,
} from '../../src/engine/coordination.js';
import { engineError } from '../../src/engine/engine-error.js';
import type { CallOutcome } from '../actors/client.js';
import type { CommandFactory, SimCommand, SimHandle } from '../actors/commands.js';
import { grantedHandles } from '../actors/grants.js';
import type { ExecutionKnowledge } from '../checks/run-checks.js';

const PAGE_EVENTS = 500;

interface CoordinationParts {
  readonly commands: CommandFactory;
  readonly call: (command: SimCommand) => Promise<CallOutcome>;
  readonly knowledge: ExecutionKnowledge;
}

interface PartialHandle {
  readonly task_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly claim_id?: string | undefined;
}

/** The coordinators as an executor reaches them, over the simulated network. */
export function simCoordination({ commands, call, knowledge }: CoordinationParts): EdgeCoordination {
  const handlesByClaimId = new Map<string, SimHandle>();
  const callOnce = async <Reply>(command: SimCommand): Promise<Reply | CoordinationFailure> =>
    replyOf<Reply>(await call(command));
  /** The handle that the engine sends, with the request and the incarnation of the reply that it comes from. */
  const handleOf = ({ task_id = '', session_id = '', claim_id = '' }: PartialHandle, generation: number) => {
    const grantedHandle = handlesByClaimId.get(claim_id);
    if (grantedHandle === undefined) throw new Error(`no reply gave the handle ${claim_id} of ${task_id}`);
    const { grant_request_id, incarnation } = grantedHandle;
    return { task_id, session_id, claim_id, generation, grant_request_id, incarnation };
  };
  return {
    async claimTask({ feature_id = '', edge = '', session_id, resume, agent_role, lease_duration_seconds }) {
      const command = commands.claim({
        task_id: edgeSubject(feature_id, edge),
        session_id: session_id ?? '',
        resume: resume ?? false,
        lease_duration_seconds: lease_duration_seconds ?? 0,
        ...(agent_role === undefined ? {} : { agent_role }),
      });
      const outcome = await call(command);
      for (const handle of grantedHandles(outcome, command)) handlesByClaimId.set(handle.claim_id, handle);
      return replyOf(outcome);
    },
    renewLease: (body) => callOnce(commands.holderCommand('renew', handleOf(body, body.expected_generation))),
    releaseClaim: ({ reason, message, ...body }) =>
      callOnce(
        commands.holderCommand('release', handleOf(body, body.expected_generation), { reason, message }),
      ),
    suspendClaim: ({ task_id, session_id, claim_id, expected_generation, ...gate }) =>
      callOnce(
        commands.holderCommand(
          'suspend',
          handleOf({ task_id, session_id, claim_id }, expected_generation),
          gate,
        ),
      ),
    submitResult: ({ task_id, session_id, claim_id, generation, ...result }) =>
      callOnce(
        commands.holderCommand('submit', handleOf({ task_id, session_id, claim_id }, generation), result),
      ),
    async appendEvent(body) {
      const handle = body.claim_id === undefined ? null : handleOf(body, body.generation ?? 0);
      const reply = await callOnce<AppendResult>(commands.append(body, handle));
      if (!isCoordinationFailure(reply) && reply.success) knowledge.confirmedEventIds.add(reply.event_id);
      return reply;
    },
    // Simulated projects accept reported results: no run waits for the evidence of a runner.
    proposeCandidate: withoutEvidence,
    explain: withoutEvidence,
    evidenceChanges: withoutEvidence,
    async eventsOf(subject) {
      const events: EventEnvelope[] = [];
      let after = '';
      for (;;) {
        const page = await callOnce<{ events: EventEnvelope[]; next: string }>(
          commands.events(subject, after, PAGE_EVENTS),
        );
        if ('detail' in page) throw engineError('unavailable', page.detail);
        events.push(...page.events);
        knowledge.readToPosition = events.at(-1)?.position ?? 0;
        if (page.events.length < PAGE_EVENTS) return events;
        after = page.next;
      }
    },
  };
}

function withoutEvidence(): never {
  throw new Error('simulated projects have no runners');
}

function replyOf<Reply>(outcome: CallOutcome): Reply | CoordinationFailure {
  if (outcome.kind === 'unknown') return { code: 'TIMEOUT', detail: 'There was no reply.' };
  const { reply } = outcome;
  return isProblem(reply) ? { code: reply.problem, detail: reply.detail } : (reply as Reply);
}
