import { viewInputOf } from '../../coordinator/methodology/view-input.js';
import { generationFloor } from '../../core/audit/history-lost.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Policy, rulesLookup } from '../../core/claims/policy.js';
import type { MethodologyStatus } from '../../core/contract/methodology-views.js';
import type { ProjectStatus } from '../../core/contract/overview.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { RecordedConfig } from '../../core/methodology/definition/config-diff.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import { evolveMethodology } from '../../core/methodology/progress/evolve.js';
import { emptyMethodologyState } from '../../core/methodology/progress/feature-state.js';
import { statusView } from '../../core/methodology/views/status.js';
import { featureSubject, LOSS_SUBJECT, METHODOLOGY_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import type { FoldContext } from '../../core/views/fold-context.js';
import { emptyProject, evolveProject } from '../../core/views/project-state.js';
import type { ProjectKey } from '../../stores/store.js';

/** The events that record a workspace's files in its log. */
const CONFIG_EVENT_TYPES: ReadonlySet<string> = new Set(['METHODOLOGY_CHANGED', 'FEATURE_CHANGED']);

/**
 * A project's status computed directly from its events, by the coordinator's folds and views. It serves the most
 * frequent command, so it opens no coordinator and keeps no events.
 */
export class StatusProjection implements RecordedConfig {
  private readonly work = emptyProject();
  private readonly state = emptyMethodologyState();
  private key: ProjectKey | null = null;
  private lastConfigEvent: EventEnvelope | null = null;

  visit(event: EventEnvelope): void {
    this.key ??= { tenant_id: event.tenant_id, project_id: event.project_id };
    if (CONFIG_EVENT_TYPES.has(event.event_type)) this.lastConfigEvent = event;
    evolveProject(this.work, event);
    evolveMethodology(this.state, event);
  }

  get title(): string {
    return this.key?.project_id ?? '';
  }

  /** When the workspace's files were last loaded into the log; null if never. */
  get configuredAtMs(): number | null {
    if (this.methodology === null) return null;
    return this.lastConfigEvent === null ? null : Date.parse(this.lastConfigEvent.timestamp);
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
