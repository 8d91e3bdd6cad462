import {
  type ImportedCount,
  importBody,
  type TrustResult,
  trustImportsBody,
} from '../../core/contract/events.js';
import type { Blobs } from '../../stores/blobs.js';
import { isLogStore, type ProjectKey, type Store } from '../../stores/store.js';
import { OPEN_CALLER } from '../authentication/caller.js';
import type { MethodologyService } from '../methodology/service.js';
import { parseBody } from '../operations/parse-body.js';
import type { Projects } from '../queue/projects.js';
import { clampTimestamps, commitImported } from '../transfer/imported-events.js';
import { readImportedEvents } from '../transfer/read-imported-events.js';
import { trustImports } from '../transfer/trust-imports.js';
import { type AsyncReply, catchStoreErrors, isProblem } from '../wire/problem.js';

/** Imports events of other tools, and adopts the convergences that they report. */
export class ImportService {
  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    private readonly blobs: Blobs,
    private readonly methodology: Pick<MethodologyService, 'stateOf'>,
  ) {}

  /** Imports events that other tools have written. They change no head, so nothing has to be decided. */
  async importEvents(projectKey: ProjectKey, body: unknown): AsyncReply<ImportedCount> {
    const fields = parseBody(importBody, body);
    if (isProblem(fields)) return fields;
    const events = await catchStoreErrors(() => readImportedEvents(projectKey, fields, this.blobs));
    if (isProblem(events)) return events;
    return this.projects.withProjectOrCreate(projectKey, (project) =>
      catchStoreErrors(async () => {
        const clamped = clampTimestamps(events, project.now());
        const counts = await commitImported(this.store, projectKey, clamped, fields.in_parts);
        await project.refresh();
        return counts;
      }),
    );
  }

  /** Imports the lines that other programs have appended to the project's log. Resolves to whether there were any. */
  async importForeignLines(projectKey: ProjectKey): AsyncReply<boolean> {
    const { store } = this;
    if (!isLogStore(store) || store.importForeignLines === undefined) return false;
    const hasImported = await catchStoreErrors(async () => store.importForeignLines?.(projectKey) ?? false);
    if (hasImported !== true) return hasImported;
    return this.projects.withProjectOrCreate(projectKey, (project) =>
      catchStoreErrors(async () => {
        await project.refresh();
        return true;
      }),
    );
  }

  /** Adopts edges that converged according to imported logs and were never claimed here. */
  async trustImports(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<TrustResult> {
    const fields = parseBody(trustImportsBody, body);
    if (isProblem(fields)) return fields;
    return this.projects.withRefreshedProject(projectKey, async (project) =>
      trustImports(project, await this.methodology.stateOf(project), fields, caller),
    );
  }
}
