import { viewInputOf } from '../../coordinator/methodology/view-input.js';
import {
  DEFAULT_LIMITS,
  DEFAULT_POLICY,
  generationFloor,
  type Policy,
  rulesLookup,
} from '../../core/claims/policy.js';
import type { MethodologyStatus } from '../../core/contract/methodology-views.js';
import type { ProjectStatus } from '../../core/contract/overview.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { REDACTION_EVENT } from '../../core/events/known-event-types.js';
import type { RecordedConfig } from '../../core/methodology/definition/config-diff.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import { evolveMethodology } from '../../core/methodology/progress/evolve.js';
import { emptyMethodologyState } from '../../core/methodology/progress/feature-state.js';
import { statusView } from '../../core/methodology/views/status.js';
import { featureSubject, LOSS_SUBJECT, METHODOLOGY_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import type { FoldContext } from '../../core/views/fold-context.js';
import { loadProject, snapshotProject } from '../../core/views/project-snapshot.js';
import { emptyProject, evolveProject } from '../../core/views/project-state.js';
import type { LogPoint } from '../../stores/file/unverified-reader.js';
import type { ProjectKey } from '../../stores/store.js';
import { VERSION } from '../version.js';
import type { StatusSummary } from './status-summary.js';

/** The events that record a workspace's files in its log. */
const CONFIG_EVENT_TYPES: ReadonlySet<string> = new Set(['METHODOLOGY_CHANGED', 'FEATURE_CHANGED']);

/**
 * A project's status computed directly from its events, by the coordinator's folds and views. It serves the most
 * frequent command, so it opens no coordinator and keeps no events.
 */
export class StatusProjection implements RecordedConfig {
  private work = emptyProject();
  private state = emptyMethodologyState();
  private key: ProjectKey | null = null;
  /** When the workspace's files were last loaded into the log; null if never. */
  private configuredAt: string | null = null;
  /** Whether an event redacts other events, whose original text a summary may have. */
  hasRedaction = false;

  visit(event: EventEnvelope): void {
    this.key ??= { tenant_id: event.tenant_id, project_id: event.project_id };
    if (CONFIG_EVENT_TYPES.has(event.event_type)) this.configuredAt = event.timestamp;
    if (event.event_type === REDACTION_EVENT) this.hasRedaction = true;
    evolveProject(this.work, event);
    evolveMethodology(this.state, event);
  }

  /** The projection at the position of a summary, to which the events after that position are added. */
  static from({ log, project, methodology, configured_at }: StatusSummary): StatusProjection {
    const projection = new StatusProjection();
    projection.work = loadProject(project);
    projection.state = methodology;
    projection.key = log.key;
    projection.configuredAt = configured_at;
    return projection;
  }

  summaryAt(log: LogPoint): StatusSummary {
    const project = snapshotProject(this.work);
    return { version: VERSION, log, project, methodology: this.state, configured_at: this.configuredAt };
  }

  get title(): string {
    return this.key?.project_id ?? '';
  }

  /** When the workspace's files were last loaded into the log; null if never, or if the log has no methodology. */
  get configuredAtMs(): number | null {
    if (this.methodology === null) return null;
    return this.configuredAt === null ? null : Date.parse(this.configuredAt);
  }

  get methodology(): Methodology | null {
    return (this.work.records.get(METHODOLOGY_SUBJECT)?.value ?? null) as Methodology | null;
  }

  feature(featureId: string): Feature | null {
    return (this.work.records.get(featureSubject(featureId))?.value ?? null) as Feature | null;
  }

  status(request: { agent_id?: string } = {}): MethodologyStatus {
    return statusView({ ...viewInputOf(this.work, this.state, this.foldContext()), request });
  }

  async plan(): Promise<ProjectStatus | null> {
    if (this.work.plan.subject_count === 0) return null;
    const { projectStatus } = await import('../../core/views/status.js');
    return projectStatus(this.work, this.foldContext());
  }

  private foldContext(): FoldContext {
    const recordedPolicy = this.work.records.get(POLICY_SUBJECT)?.value as Partial<Policy> | undefined;
    const policy = { ...DEFAULT_POLICY, ...recordedPolicy };
    return {
      key: this.key ?? { tenant_id: '', project_id: '' },
      now_ms: Date.now(),
      rulesOf: rulesLookup(policy, DEFAULT_LIMITS, 0, generationFloor(this.work.records.get(LOSS_SUBJECT))),
    };
  }
}
