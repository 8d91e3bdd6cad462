import {
  type ClaimEventKind,
  claimEventKindOf,
  claimEventType,
} from '../../core/claims/claim-event-kinds.js';
import type { Decision } from '../../core/claims/commands.js';
import { recordingOfRefusal } from '../../core/claims/refusals.js';
import type { ClaimEventPayloads } from '../../core/events/claim-payload-schemas.js';
import type { EventDraft } from '../../core/events/envelope.js';
import { type RefusalCounts, refusalIdentity } from '../../core/views/refusals.js';
import type { Transaction } from '../../stores/store.js';
import type { Caller } from '../authentication/caller.js';
import { contentEventId } from '../runtime/identity.js';
import type { DecisionView } from './decision-view.js';
import type { NeedsFetch } from './operation.js';
import type { RefusalCounter } from './refusal-counter.js';

const REPEATS_MAX = 5;
const REFUSAL_KINDS: ReadonlySet<ClaimEventKind | undefined> = new Set(['claim_refused', 'result_refused']);

export const isRefusal = ({ event_type }: EventDraft): boolean =>
  REFUSAL_KINDS.has(claimEventKindOf(event_type));

/** A refusal as it is recorded. Without an id it is deduplicated by its content. */
interface RecordedRefusal {
  readonly draft: EventDraft;
  readonly event_id: string | null;
}

/** Records the refusals of one operation. Each is counted once, however often the operation is decided again. */
export class RefusalRecorder {
  /** Null until something is refused: most operations refuse nothing. */
  private numbered: NumberedRefusals | null = null;
  /** The counts that this operation has read, by generation and subject. */
  private loaded: Map<string, RefusalCounts> | null = null;
  private repeats = 0;
  /** Ids of refusal events whose number was already used when they were committed. */
  private takenIds: Set<string> | null = null;

  constructor(
    private readonly caller: Pick<Caller, 'principal'>,
    private readonly requestId: string | undefined,
  ) {}

  /** What must be read before these decisions can be recorded; null if nothing. */
  missingCounts(view: DecisionView, decisions: readonly Decision[]): NeedsFetch | null {
    // This runs for every command, and most commands are not refused.
    if (!decisions.some(({ loose_events }) => loose_events.length > 0)) return null;
    const drafts = decisions.flatMap(({ loose_events }) => loose_events.filter(isRefusal));
    const missing = drafts
      .map(refusalKeyOf)
      .filter(
        ({ subject, generation }) =>
          !this.loaded?.has(`${generation} ${subject}`) && !view.refusals.isLoaded(subject, generation),
      );
    return missing.length === 0 ? null : { needs: () => this.loadCounts(view, missing) };
  }

  /** The event that the log gets for a refusal; null if it is only counted. */
  record(view: DecisionView, refusal: EventDraft): RecordedRefusal | null {
    const { principal } = this.caller;
    const key = refusalKeyOf(refusal);
    const refused_count = this.numberOf(view, key, refusal);
    const kind = refusal.payload.parked === true ? 'full' : recordingOfRefusal(refused_count);
    if (kind === null) return null;
    const idParts = [view.key.project_id, key.subject, key.generation, principal, refused_count];
    if (kind === 'count') {
      const draft = countDraft(refusal, { current_generation: key.generation, principal, refused_count });
      return { draft, event_id: contentEventId(['refusals_counted', ...idParts]) };
    }
    // Replaces any such field in the payload: only the server knows the credential.
    refusal.payload = { ...refusal.payload, principal, refused_count };
    // Parked work is kept whatever the number, once per result.
    if (refusal.payload.parked === true) return { draft: refusal, event_id: null };
    const event_id = contentEventId(['refusal', ...idParts]);
    this.numbered?.byEventId.set(event_id, key);
    return { draft: refusal, event_id };
  }

  /**
   * Whether a refusal must be recorded again, because another coordinator has used its number. If it gets the same
   * number after the log was read again, the log has this very refusal: its request was repeated. `positions` are the
   * positions at which the transaction's events were committed.
   */
  shouldRepeat({ swaps, loose_events }: Transaction, positions: readonly (number | null)[]): boolean {
    const { numbered } = this;
    if (numbered === null) return false;
    const firstLooseIndex = swaps.reduce((sum, { events }) => sum + events.length, 0);
    const takenRefusals = loose_events.flatMap(({ event_id }, index) =>
      positions[firstLooseIndex + index] === null && this.isNewlyTaken(event_id)
        ? (numbered.byEventId.get(event_id) ?? [])
        : [],
    );
    if (takenRefusals.length === 0) return false;
    for (const { subject, generation } of takenRefusals) numbered.counter.drop(subject, generation);
    this.numbered = null;
    this.loaded = null;
    this.repeats += 1;
    return this.repeats <= REPEATS_MAX;
  }

  /** Discards the counts of refusals that did not take place: they are read from the log again. */
  withdraw(): void {
    for (const key of this.numbered?.numbers.keys() ?? []) {
      const cut = key.indexOf(' ');
      this.numbered?.counter.drop(key.slice(cut + 1), Number(key.slice(0, cut)));
    }
    this.numbered = null;
    this.loaded = null;
  }

  private isNewlyTaken(eventId: string): boolean {
    this.takenIds ??= new Set();
    const isNew = !this.takenIds.has(eventId);
    this.takenIds.add(eventId);
    return isNew;
  }

  private async loadCounts(view: DecisionView, keys: readonly RefusalKey[]): Promise<void> {
    this.loaded ??= new Map();
    for (const { subject, generation } of keys)
      this.loaded.set(`${generation} ${subject}`, await view.refusals.load(subject, generation));
  }

  private numberOf(view: DecisionView, { subject, generation }: RefusalKey, refusal: EventDraft): number {
    this.numbered ??= { counter: view.refusals, numbers: new Map(), byEventId: new Map() };
    const { counter, numbers } = this.numbered;
    const { principal } = this.caller;
    const key = `${generation} ${subject}`;
    const identity = refusalIdentity({ ...refusal, ...this.requestField(refusal) });
    const number =
      numbers.get(key) ??
      counter.count({ subject, generation, principal, request_identity: identity }, this.loaded?.get(key));
    numbers.set(key, number);
    return number;
  }

  private requestField({ request_id = this.requestId }: EventDraft) {
    return request_id === undefined ? {} : { request_id };
  }
}

interface NumberedRefusals {
  readonly counter: RefusalCounter;
  /** The number of each refusal, by generation and subject. */
  readonly numbers: Map<string, number>;
  /** By event id, the refusals that must be recorded again if another coordinator has used their number. */
  readonly byEventId: Map<string, RefusalKey>;
}

interface RefusalKey {
  readonly subject: string;
  readonly generation: number;
}

/** The subject and generation under which a refusal counts: the current generation, not the one that the caller named. */
function refusalKeyOf({ subject = '', payload }: EventDraft): RefusalKey {
  const { current_generation } = payload as ClaimEventPayloads['claim_refused' | 'result_refused'];
  return { subject, generation: current_generation };
}

function countDraft(refusal: EventDraft, payload: ClaimEventPayloads['refusals_counted']): EventDraft {
  const { session_id: _, agent_role: __, request_id: ___, ...fields } = refusal;
  const event_type = claimEventType('refusals_counted', refusal.subject ?? '');
  return {
    ...fields,
    event_type,
    generation: payload.current_generation,
    agent_id: payload.principal,
    payload,
  };
}
