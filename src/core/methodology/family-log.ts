import type { EventEnvelope } from '../events/envelope.js';
import { UNCONVERTED_LINE } from '../events/foreign-log.js';
import { isObject, type JsonObject } from '../events/plain-data.js';
import { subjectKindOf } from '../subject.js';
import { withoutUndefined } from '../without-undefined.js';
import type { Methodology, Topology } from './definition/methodology.js';
import { evolveMethodology } from './progress/evolve.js';
import { emptyMethodologyState } from './progress/feature-state.js';
import { countIn, edgeIdOf, featureIdOf, payloadField } from './progress/payload.js';

/**
 * Writes a project's events as a flat log of the family of Genesis tools. The fields that their monitor reads, such as
 * feature, edge, iteration and delta, are at the top of each line, under the names and in the spelling that it expects; the
 * payload is in `data`. The records of this coordinator (plan, settings, sessions, keys, audit) mean nothing there and are
 * left out.
 */
export class FamilyLogWriter {
  private readonly progress = emptyMethodologyState();
  private readonly edgeNames = new Map<string, string>();

  /** `topology`: names the edges of events from before the project was configured. */
  constructor(topology: Topology) {
    this.addEdgeNames(topology);
  }

  /** The line of an event; null if the event is left out. Call it for every event, in the order of the log. */
  lineOf(event: EventEnvelope): string | null {
    if (event.event_type === 'METHODOLOGY_CHANGED' && isObject(event.payload.record))
      this.addEdgeNames((event.payload.record as unknown as Methodology).topology);
    const line = this.textOf(event);
    evolveMethodology(this.progress, event);
    return line;
  }

  private textOf(event: EventEnvelope): string | null {
    const { subject, payload } = event;
    if (subject !== undefined && subjectKindOf(subject) === 'record') return null;
    const isWhole = payload.size_bytes === undefined;
    // An imported line that could not be converted to an event is written unchanged.
    if (event.event_type === UNCONVERTED_LINE && isWhole && typeof payload.raw === 'string')
      return payload.raw;
    return JSON.stringify(this.flatLine(event));
  }

  private flatLine(event: EventEnvelope): JsonObject {
    const { payload, agent_role, task_id, generation } = event;
    const { imported, ...data } = payload;
    const origin = isObject(imported) ? imported : {};
    const feature = featureIdOf(event);
    const edge = edgeIdOf(event);
    return withoutUndefined({
      event_type: event.event_type,
      timestamp: origin.original_timestamp ?? event.timestamp,
      project: origin.project ?? event.project_id,
      feature: feature ?? undefined,
      edge: edge === null ? undefined : (origin.original_edge ?? this.edgeNames.get(edge) ?? edge),
      ...this.countFields(event, feature, edge),
      status: payloadField(payload, 'status'),
      agent_id: event.agent_id,
      agent_role,
      task_id,
      generation,
      data,
    });
  }

  /**
   * The fields `iteration` and `delta`, as the event reports them. A convergence event may lack them: then its iteration is
   * that of the edge so far, and its delta is 0, as all required checks have passed.
   */
  private countFields(event: EventEnvelope, feature: string | null, edge: string | null): JsonObject {
    const { event_type, payload } = event;
    const state = this.progress.features.get(feature ?? '')?.edges.get(edge ?? '');
    const isConvergence = event_type === 'edge_converged' || event_type === 'result_adopted';
    const reported = { iteration: countIn(payload, 'iteration'), delta: countIn(payload, 'delta') };
    return withoutUndefined({
      iteration: reported.iteration ?? (isConvergence ? Math.max(state?.iteration ?? 0, 1) : undefined),
      delta: reported.delta ?? (isConvergence ? 0 : undefined),
    });
  }

  private addEdgeNames({ transitions }: Topology): void {
    for (const { edge, source, target, edge_type } of transitions)
      this.edgeNames.set(edge, `${source}${edge_type === 'co_evolution' ? '↔' : '→'}${target}`);
  }
}
