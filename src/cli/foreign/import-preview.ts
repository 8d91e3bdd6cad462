import type { ForeignTarget } from '../../coordinator/transfer/import-foreign.js';
import type { NewEvent } from '../../core/events/envelope.js';
import { evolveMethodology } from '../../core/methodology/progress/evolve.js';
import { emptyMethodologyState } from '../../core/methodology/progress/feature-state.js';
import { importedConvergences } from '../../core/methodology/progress/imported-convergence.js';

/** A target that writes nothing, and folds the events to see what they report. */
export class ImportPreview implements ForeignTarget {
  private readonly state = emptyMethodologyState();

  async put(events: readonly NewEvent[]) {
    for (const event of events)
      evolveMethodology(this.state, { ...event, position: this.state.position + 1 });
    return { written: 0, already_there: 0 };
  }

  async putBlob(): Promise<void> {}

  /** The edges that have converged according to the log. */
  convergedEdges(): string[] {
    return [...importedConvergences(this.state)].map(({ subject }) => subject);
  }
}
