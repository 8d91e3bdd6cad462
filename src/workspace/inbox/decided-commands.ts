import { parseSubject } from '../../coordinator/operations/parse-body.js';
import { isProblem } from '../../coordinator/wire/problem.js';
import type { FailingCheck } from '../../core/contract/checks.js';
import type { RenewalResult, SubmissionResult } from '../../core/contract/claim-replies.js';
import { adviceFor, type ClaimRefusal, type SubmissionRefusal } from '../../core/contract/codes.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { InboxCommand } from './command.js';
import {
  type InboxReply,
  type RecalledRefusal,
  replayGrant,
  type WorkspaceContext,
} from './execute-command.js';
import { inboxSessionOf } from './names.js';

/** Maximum number of cached ids: more than those of a busy day. Above it the cache is cleared, and the log read again. */
const IDS_KEPT_MAX = 100_000;

/**
 * Which commands the log has already decided, so that none is decided twice: a crash may fall between a decision
 * and the removal of its file, a power loss may restore removed files, and an agent that lost an outcome may drop
 * its file again. The log is read once per scope; later decisions are added in memory.
 *
 * The coordinator also remembers grants and appended events, but only for a day. It would decide other commands again, by
 * a head that later commands may have changed; the log has the original decision.
 */
export class DecidedCommands {
  private readonly idsByScope = new Map<string, Promise<Set<string>>>();
  private idCount = 0;

  constructor(private readonly context: WorkspaceContext) {}

  /** The reply to a command that the log has already decided, rebuilt from its event; null if the log has no such event. */
  async replyFor(command: InboxCommand): Promise<InboxReply | null> {
    const scope = historyScopeOf(command);
    if (scope === null || !(await this.idsOf(scope)).has(command.request_id)) return null;
    const commandEvents = (await this.eventsOf(scope)).filter(
      (event) => event.request_id === command.request_id && isByAgent(event, command.agent_id),
    );
    const appended = command.kind === 'append' ? commandEvents.at(-1) : undefined;
    if (appended !== undefined) return { success: true, reason: 'APPENDED', event_id: appended.event_id };
    const granted = commandEvents.find(
      // Other agents can choose the same request id: a grant is returned only to its own session.
      ({ event_type, session_id }) => event_type === 'edge_started' && session_id === command.session_id,
    );
    if (granted !== undefined) return replayGrant(this.context, granted);
    // A result accepted with a warning left two events, the warning last.
    const decisive = commandEvents.find(({ event_type }) => REPLY_BUILDERS.has(event_type));
    return (decisive && REPLY_BUILDERS.get(decisive.event_type)?.(decisive)) ?? null;
  }

  async add(command: InboxCommand): Promise<void> {
    const scope = historyScopeOf(command);
    const cachedIds = scope === null ? undefined : this.idsByScope.get(scopeKey(scope));
    if (cachedIds !== undefined) (await cachedIds).add(command.request_id);
    this.idCount += 1;
  }

  /** Forgets the ids of the command's scope, because it is unknown whether the command was decided. The log is read again. */
  invalidate(command: InboxCommand): void {
    const scope = historyScopeOf(command);
    if (scope !== null) this.idsByScope.delete(scopeKey(scope));
  }

  private idsOf(scope: HistoryScope): Promise<Set<string>> {
    const name = scopeKey(scope);
    const cachedIds = this.idsByScope.get(name);
    if (cachedIds !== undefined) return cachedIds;
    if (this.idCount > IDS_KEPT_MAX) {
      this.idsByScope.clear();
      this.idCount = 0;
    }
    const ids = this.readIds(scope);
    this.idsByScope.set(name, ids);
    ids.catch(() => this.idsByScope.delete(name));
    return ids;
  }

  private async readIds(scope: HistoryScope): Promise<Set<string>> {
    const ids = new Set((await this.eventsOf(scope)).flatMap(({ request_id }) => request_id ?? []));
    this.idCount += ids.size;
    return ids;
  }

  private eventsOf(scope: HistoryScope): Promise<EventEnvelope[]> {
    return this.context.coordinator.history.read(this.context.key, scope);
  }
}

/** Whether the event is of this agent. The refusal of a command without a valid handle names the agent as principal only. */
const isByAgent = ({ agent_id, payload }: EventEnvelope, agentId: string): boolean =>
  agent_id === agentId || payload.principal === inboxSessionOf(agentId);

/** Where the log has a command's events: under its edge or, without one, under its session. */
type HistoryScope = { readonly subject: string } | { readonly session_id: string };

function historyScopeOf({ subject, session_id }: InboxCommand): HistoryScope | null {
  if (subject === null) return typeof session_id === 'string' ? { session_id } : null;
  const canonicalSubject = parseSubject(subject);
  return isProblem(canonicalSubject) ? null : { subject: canonicalSubject };
}

const scopeKey = (scope: HistoryScope): string =>
  'subject' in scope ? scope.subject : `~${scope.session_id}`;

const REPLY_BUILDERS = new Map<string, (event: EventEnvelope) => InboxReply>([
  ['heartbeat', renewalReply],
  ['edge_released', () => ({ success: true, reason: 'RELEASED' })],
  ['edge_converged', acceptedReply],
  ['convergence_escalated', (event) => refusedResultReply(event, 'ESCALATED')],
  [
    'result_rejected',
    (event) => refusedResultReply(event, event.payload.rejection_reason as SubmissionRefusal),
  ],
  ['claim_rejected', refusedClaimReply],
]);

function renewalReply({ payload }: EventEnvelope): RenewalResult {
  return { success: true, reason: 'RENEWED', new_expiry: payload.expires_at as string | null };
}

function acceptedReply({ generation: current_generation = 0, payload }: EventEnvelope): SubmissionResult {
  const late = payload.late === true;
  const work_product_ref = payload.work_product_ref as string;
  const resultFields = { work_lost: false, late, work_product_ref, parked: null } as const;
  return { accepted: true, reason: 'ACCEPTED', current_generation, ...resultFields };
}

function refusedResultReply(
  { generation = 0, payload }: EventEnvelope,
  reason: SubmissionRefusal,
): SubmissionResult {
  const current_generation = (payload.current_generation as number | undefined) ?? generation;
  const parked = payload.parked === true ? (payload.result_id as string) : null;
  const resultFields = {
    work_lost: payload.work_lost === true,
    late: false,
    work_product_ref: null,
    parked,
  } as const;
  const refused = { accepted: false, current_generation, ...resultFields, next: adviceFor(reason) } as const;
  return reason === 'NOT_CONVERGED'
    ? { ...refused, reason, failing: recordedChecks(payload.failing) }
    : { ...refused, reason };
}

/** The log has the names of the failing checks only. */
function recordedChecks(names: unknown): FailingCheck[] {
  const says = 'The check had not passed when the result was submitted.';
  return Array.isArray(names) ? names.map((name) => ({ name: String(name), says })) : [];
}

function refusedClaimReply({ payload }: EventEnvelope): RecalledRefusal {
  const reason = payload.reason as ClaimRefusal;
  const current_holder = (payload.holding_agent as string | undefined) ?? null;
  return { success: false, reason, claim: null, current_holder, next: adviceFor(reason) };
}
