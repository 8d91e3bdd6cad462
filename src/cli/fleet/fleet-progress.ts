import type { EventEnvelope } from '../../core/events/envelope.js';
import { asClaimEvent, type ClaimEvent } from '../../core/events/known-event.js';

interface HeldClaim {
  readonly task_id: string;
  readonly generation: number;
  readonly expires_at: string | null;
}

export interface RefusedResult {
  readonly agent_id: string;
  readonly task_id: string;
  readonly generation: number;
  readonly reason: string;
  /** Id of the result if the server keeps it. */
  readonly parked: string | null;
}

/** What the log says about one agent since the fleet started. */
export interface AgentProgress {
  claim: HeldClaim | null;
  accepted: number;
  /** Results that a person must decide on. */
  escalated: number;
  refused: number;
  failed: number;
  lost: number;
  released: number;
}

const REFUSED_LISTED_MAX = 1000;

/** What the agents of a fleet have done, folded from the events of the project. */
export class FleetProgress {
  readonly refused: RefusedResult[] = [];
  private readonly agents: ReadonlyMap<string, AgentProgress>;

  constructor(names: readonly string[]) {
    const none = { claim: null, accepted: 0, escalated: 0, refused: 0, failed: 0, lost: 0, released: 0 };
    this.agents = new Map(names.map((name) => [name, { ...none }]));
  }

  progressOf(name: string): AgentProgress {
    const progress = this.agents.get(name);
    if (progress === undefined) throw new Error(`${name} is not an agent of this fleet.`);
    return progress;
  }

  /** Returns a line about the event; null if it is not about this fleet's work, or not worth a line, such as a renewal. */
  apply(event: EventEnvelope): string | null {
    const claimEvent = asClaimEvent(event);
    const agent = this.agents.get(event.agent_id);
    if (claimEvent === null || agent === undefined) return null;
    const text = this.applyTo(agent, claimEvent);
    return text === null ? null : `${event.agent_id}  ${subjectOf(event)}: ${text}`;
  }

  private applyTo(agent: AgentProgress, claimEvent: ClaimEvent): string | null {
    const { event } = claimEvent;
    const { generation = 0 } = event;
    const task_id = subjectOf(event);
    const endClaim = (): void => {
      if (agent.claim?.task_id === task_id && agent.claim.generation <= generation) agent.claim = null;
    };
    switch (claimEvent.kind) {
      case 'granted':
        agent.claim = { task_id, generation, expires_at: claimEvent.payload.expires_at };
        return `claimed, generation ${generation}`;
      case 'renewed':
        // A claim that comes back from a review is renewed at once, without a new grant.
        if (agent.claim === null || agent.claim.task_id === task_id)
          agent.claim = { task_id, generation, expires_at: claimEvent.payload.expires_at };
        return null;
      case 'accepted':
        endClaim();
        agent.accepted += 1;
        return `done, the result of generation ${generation} is accepted`;
      case 'escalated':
        endClaim();
        agent.escalated += 1;
        return `the result of generation ${generation} waits for a person: gen review`;
      case 'result_refused':
        // The holder of a result that has to be improved keeps its claim.
        if (claimEvent.payload.work_lost) endClaim();
        agent.refused += 1;
        return this.addRefused(event, claimEvent.payload);
      case 'lost':
        if (claimEvent.payload.disposition === 'held') return null;
        endClaim();
        agent.lost += 1;
        return `the claim of generation ${generation} is lost (${claimEvent.payload.cause})`;
      case 'released': {
        endClaim();
        const { reason, message } = claimEvent.payload;
        if (reason === 'ERROR') agent.failed += 1;
        else agent.released += 1;
        return reason === 'ERROR' ? `failed: ${message ?? 'no message'}` : `released (${reason})`;
      }
      default:
        return null;
    }
  }

  private addRefused(event: EventEnvelope, payload: ClaimEvent<'result_refused'>['payload']): string {
    const { submitted_generation: generation, rejection_reason: reason, result_id } = payload;
    const parked = payload.parked ? result_id : null;
    const refused = { agent_id: event.agent_id, task_id: subjectOf(event), generation, reason, parked };
    if (this.refused.length < REFUSED_LISTED_MAX) this.refused.push(refused);
    return `the result of generation ${generation} is refused (${reason})`;
  }
}

const subjectOf = ({ task_id, subject }: EventEnvelope): string => task_id ?? subject ?? '';
