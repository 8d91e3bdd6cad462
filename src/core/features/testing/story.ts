import { type EventEnvelope, isoTime } from '../../events/envelope.js';
import { evolveMethodology } from '../evolve.js';
import { emptyMethodology, type MethodologyState } from '../feature-state.js';

export const START_MS = Date.parse('2026-03-01T09:00:00.000Z');
const MINUTE_MS = 60_000;

export type Told = Partial<Omit<EventEnvelope, 'event_type' | 'position'>>;

/** Events one minute apart, each at the next position. */
export class Story {
  readonly events: EventEnvelope[] = [];

  tell(
    event_type: string,
    feature_id?: string | null,
    edge?: string | null,
    payload = {},
    told: Told = {},
  ): this {
    const position = this.events.length + 1;
    this.events.push({
      event_id: `e-${position}`,
      event_type,
      timestamp: isoTime(START_MS + position * MINUTE_MS),
      tenant_id: 'acme',
      project_id: 'shop',
      position,
      agent_id: 'primary',
      ...(feature_id == null ? {} : { feature_id }),
      ...(edge == null ? {} : { edge }),
      payload,
      ...told,
    });
    return this;
  }

  /** Begins and ends an edge. */
  converge(feature_id: string, ...edges: readonly string[]): this {
    for (const edge of edges) {
      this.tell('edge_started', feature_id, edge).tell('edge_converged', feature_id, edge);
    }
    return this;
  }

  /** Begins an edge and iterates it, once for each delta. */
  iterate(feature_id: string, edge: string, ...deltas: readonly number[]): this {
    this.tell('edge_started', feature_id, edge);
    deltas.forEach((delta, at) => {
      this.tell('iteration_completed', feature_id, edge, { iteration: at + 1, delta, status: 'iterating' });
    });
    return this;
  }

  folded(): MethodologyState {
    return foldAll(this.events);
  }
}

export function foldAll(events: Iterable<EventEnvelope>, state = emptyMethodology()): MethodologyState {
  for (const event of events) evolveMethodology(state, event);
  return state;
}
