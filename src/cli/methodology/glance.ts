import { sceneOf } from '../../coordinator/methodology/scene.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Policy, rulesFor } from '../../core/claims/policy.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { evolveMethodology } from '../../core/features/evolve.js';
import { emptyMethodology } from '../../core/features/feature-state.js';
import { type MethodologyStatus, statusView } from '../../core/features/status.js';
import type { FeatureVector, Methodology } from '../../core/graph/methodology.js';
import type { Known } from '../../core/graph/said-anew.js';
import { featureSubject, kindOf, METHODOLOGY_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import { emptyKeptWork, evolveKeptWork } from '../../core/views/project-state.js';
import type { ProjectStatus } from '../../core/views/status.js';
import type { Vantage } from '../../core/views/vantage.js';
import type { ProjectKey } from '../../stores/store.js';

/** The events by which a workspace's files come into its log. */
const CONFIGURING: ReadonlySet<string> = new Set(['METHODOLOGY_CHANGED', 'FEATURE_CHANGED']);

/**
 * The status of a project, straight from its events: the same folds and views that a coordinator has, without one.
 * This is asked more often than everything else together, and who asks waits for it. No event is kept.
 */
export class Glance implements Known {
  private readonly work = emptyKeptWork();
  private readonly state = emptyMethodology();
  private key: ProjectKey | null = null;
  private last_configuring: EventEnvelope | null = null;

  see(event: EventEnvelope): void {
    this.key ??= { tenant_id: event.tenant_id, project_id: event.project_id };
    if (CONFIGURING.has(event.event_type)) this.last_configuring = event;
    evolveKeptWork(this.work, event);
    evolveMethodology(this.state, event);
  }

  get title(): string {
    return this.key?.project_id ?? '';
  }

  /** When the workspace's files were last taken into the log; null: never. */
  get configured_ms(): number | null {
    if (this.methodology === null) return null;
    return this.last_configuring === null ? null : Date.parse(this.last_configuring.timestamp);
  }

  get methodology(): Methodology | null {
    return (this.work.records.get(METHODOLOGY_SUBJECT)?.value ?? null) as Methodology | null;
  }

  feature(feature_id: string): FeatureVector | null {
    return (this.work.records.get(featureSubject(feature_id))?.value ?? null) as FeatureVector | null;
  }

  status(): MethodologyStatus {
    return statusView(sceneOf(this.work, this.state, this.vantage()));
  }

  async plan(): Promise<ProjectStatus | null> {
    if (this.work.plan.subject_count === 0) return null;
    const { projectStatus } = await import('../../core/views/status.js');
    return projectStatus(this.work, this.vantage());
  }

  private vantage(): Vantage {
    const said = this.work.records.get(POLICY_SUBJECT)?.value as Partial<Policy> | undefined;
    const policy = { ...DEFAULT_POLICY, ...said };
    return {
      key: this.key ?? { tenant_id: '', project_id: '' },
      now_ms: Date.now(),
      rulesOf: (subject) => rulesFor(kindOf(subject), policy, DEFAULT_LIMITS, 0),
    };
  }
}
