import type { EventEnvelope } from '../../events/envelope.js';
import { edgeSubject } from '../../methodology/definition/edge-name.js';
import { edgeIdOf, featureIdOf } from '../../methodology/progress/payload.js';
import type { ImportedOrigin } from '../adopted-from.js';
import type { ReportViolation } from './transition.js';

/** The types that report the convergence of an edge: of this coordinator, and of other Genesis tools. */
const CONVERGENCE_TYPES: ReadonlySet<string> = new Set([
  'edge_converged',
  'result_adopted',
  'convergence_achieved',
]);

/** The imported events of a log that an adoption may name. */
export class ImportedConvergences {
  /** By position: the id of the event, and the subject of its edge. */
  private readonly events = new Map<number, string>();

  add(event: EventEnvelope): void {
    if (!CONVERGENCE_TYPES.has(event.event_type)) return;
    const [feature, edge] = [featureIdOf(event), edgeIdOf(event)];
    if (feature === null || edge === null) return;
    this.events.set(event.position, `${event.event_id} ${edgeSubject(feature, edge)}`);
  }

  checkAdoption(subject: string, { event_id, position }: ImportedOrigin, report: ReportViolation): void {
    if (this.events.get(position) === `${event_id} ${subject}`) return;
    report('INV-17', `adopted ${event_id}, which is not an imported convergence at position ${position}`);
  }
}
