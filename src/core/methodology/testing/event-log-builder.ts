import { type EventEnvelope, isoTime } from '../../events/envelope.js';
import { evolveMethodology } from '../progress/evolve.js';
import { emptyMethodologyState, type MethodologyState } from '../progress/feature-state.js';

export const START_MS = Date.parse('2026-03-01T09:00:00.000Z');
const MINUTE_MS = 60_000;

type EventOverrides = Partial<Omit<EventEnvelope, 'event_type' | 'position'>>;

/** Builds a log: events one minute apart, at consecutive positions. */
export class EventLogBuilder {
  readonly events: EventEnvelope[] = [];

  append(
    event_type: string,
    feature_id?: string | null,
    edge?: string | null,
    payload = {},
    overrides: EventOverrides = {},
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
      ...overrides,
    });
    return this;
  }

  /** Starts and converges each edge. */
  converge(featureId: string, ...edges: readonly string[]): this {
    for (const edge of edges) {
      this.append('edge_started', featureId, edge).append('edge_converged', featureId, edge);
    }
    return this;
  }

  /** Starts an edge and completes one iteration per delta. */
  iterate(featureId: string, edge: string, ...deltas: readonly number[]): this {
    this.append('edge_started', featureId, edge);
    deltas.forEach((delta, index) => {
      this.append('iteration_completed', featureId, edge, {
        iteration: index + 1,
        delta,
        status: 'iterating',
      });
    });
    return this;
  }

  fold(): MethodologyState {
    return foldAll(this.events);
  }
}

export function foldAll(events: Iterable<EventEnvelope>, state = emptyMethodologyState()): MethodologyState {
  for (const event of events) evolveMethodology(state, event);
  return state;
}
