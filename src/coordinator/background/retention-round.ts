import type { Limits } from '../../core/claims/policy.js';
import { retentionDays } from '../../core/claims/retention.js';
import type { RecordHead } from '../../core/record.js';
import { POLICY_SUBJECT } from '../../core/subject.js';
import { type ProjectKey, projectPath, type Store, StoreUnavailable } from '../../stores/store.js';
import type { AuditService } from '../audit/audit-service.js';
import type { Projects } from '../queue/projects.js';
import { policyFromRecord } from '../queue/rules-cache.js';
import type { Environment } from '../runtime/environment.js';
import { DAY_MS, HOUR_MS, type Retention, retentionCutoff } from './retention.js';

/** Maximum number of projects whose progress is remembered, at about 100 bytes each. */
const REMEMBERED_PROJECTS_MAX = 100_000;
/**
 * A pass is not remembered if this many events were written since it began. It writes a few itself: records of redactions,
 * and a checkpoint.
 */
const OWN_EVENTS_MAX = 100;

/** The progress of retention in a project. */
interface RetentionProgress {
  /** The end of the log after the pass. If the log has grown since, the next pass starts at 0. */
  readonly log_position: number;
  /** The position of the last old event that was examined. */
  readonly last_old_position: number;
}

interface TenantRetention {
  readonly limits: Limits;
  readonly nowMs: number;
}

/**
 * Redacts the old events of idle projects, that is, of all projects that are not loaded, one after the other. The first
 * round begins an hour after the start, and another one a day after the end of each, or an hour after it if the store was
 * not available. A project is loaded only if it has old events to examine, and is unloaded afterwards.
 */
export class RetentionRound {
  private readonly progressByPath = new Map<string, RetentionProgress>();
  private cancelTimer: () => void = () => {};
  private isStopped = false;
  private runningRound: Promise<number> | null = null;
  private wasStoreUnavailable = false;

  constructor(
    private readonly projects: Projects,
    private readonly store: Store,
    private readonly environment: Environment,
    private readonly retention: Retention,
    private readonly audit: Pick<AuditService, 'finish'>,
  ) {
    this.schedule(HOUR_MS);
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer();
  }

  /** Runs a round, or joins the running one. Returns the number of redacted events. */
  run(): Promise<number> {
    this.runningRound ??= this.runRound().finally(() => {
      this.runningRound = null;
    });
    return this.runningRound;
  }

  private schedule(afterMs: number): void {
    if (this.isStopped) return;
    this.cancelTimer = this.environment.setTimer(afterMs, () => {
      const runAgain = () => this.schedule(this.wasStoreUnavailable ? HOUR_MS : DAY_MS);
      void this.run().then(runAgain, runAgain);
    });
  }

  private async runRound(): Promise<number> {
    this.wasStoreUnavailable = false;
    let redacted = 0;
    for (const tenantId of await this.listOrNone(() => this.store.tenantIds())) {
      const tenant = await this.attemptOrNull(() => this.retentionOf(tenantId));
      if (tenant === null) continue;
      for (const project_id of await this.listOrNone(() => this.projects.projectIdsOf(tenantId))) {
        if (this.isStopped) return redacted;
        const projectKey = { tenant_id: tenantId, project_id };
        redacted += (await this.attemptOrNull(() => this.redactIdle(projectKey, tenant))) ?? 0;
        // Some stores return without yielding to the event loop, and there may be many projects.
        await this.environment.yieldToEventLoop();
      }
    }
    return redacted;
  }

  private async retentionOf(tenantId: string): Promise<TenantRetention> {
    const store = (await this.store.storeOf?.(tenantId)) ?? this.store;
    return { limits: await this.projects.readLimits(tenantId), nowMs: await store.now() };
  }

  /** Returns the number of redacted events. */
  private async redactIdle(projectKey: ProjectKey, tenant: TenantRetention): Promise<number> {
    if (this.projects.isLoaded(projectKey)) return 0;
    const after = await this.positionToContinueAfter(projectKey);
    if (after === null || !(await this.hasOldEvents(projectKey, after, tenant))) return 0;
    const redacted = await this.projects.visitProject(projectKey, async (project) => {
      const { position } = project.state;
      const pass = await this.retention.redactOldEvents(project, after);
      if (pass.redacted > 0) await this.audit.finish(project);
      if (pass.isComplete) await this.rememberPass(projectKey, position, pass.position);
      else this.wasStoreUnavailable = true;
      return pass.redacted;
    });
    return redacted ?? 0;
  }

  /** The position to continue after; null if there is no such project, or if its whole log is old and was examined. */
  private async positionToContinueAfter(projectKey: ProjectKey): Promise<number | null> {
    const row = await this.store.project(projectKey);
    if (row === null) return null;
    const progress = this.progressByPath.get(projectPath(projectKey));
    if (progress?.log_position !== row.position) return 0;
    return progress.last_old_position < row.position ? progress.last_old_position : null;
  }

  private async hasOldEvents(
    projectKey: ProjectKey,
    after: number,
    { limits, nowMs }: TenantRetention,
  ): Promise<boolean> {
    const [record] = await this.store.heads(projectKey, [POLICY_SUBJECT]);
    const days = retentionDays(policyFromRecord(record as RecordHead | null), limits);
    const [oldEvent] = await this.store.events(projectKey, {
      after,
      until: retentionCutoff(nowMs, days),
      limit: 1,
    });
    return oldEvent !== undefined;
  }

  /**
   * Remembers a finished pass, unless a head changed during the pass. The pass may have kept an event only because the
   * head still needed it.
   */
  private async rememberPass(
    projectKey: ProjectKey,
    startPosition: number,
    last_old_position: number,
  ): Promise<void> {
    const newEvents = await this.store.events(projectKey, { after: startPosition, limit: OWN_EVENTS_MAX });
    if (newEvents.length === OWN_EVENTS_MAX || newEvents.some(({ seq }) => seq !== undefined)) return;
    const path = projectPath(projectKey);
    this.progressByPath.delete(path);
    const log_position = newEvents.at(-1)?.position ?? startPosition;
    this.progressByPath.set(path, { log_position, last_old_position });
    const [oldest] = this.progressByPath.keys();
    if (this.progressByPath.size > REMEMBERED_PROJECTS_MAX) this.progressByPath.delete(oldest as string);
  }

  private async listOrNone(list: () => Promise<string[]>): Promise<string[]> {
    return (await this.attemptOrNull(list)) ?? [];
  }

  /**
   * Returns null if `work` fails: an unreachable store or a damaged project must not end the round for other projects.
   * A damaged project is reported where it is used.
   */
  private async attemptOrNull<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.isStopped) return null;
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreUnavailable) this.wasStoreUnavailable = true;
      return null;
    }
  }
}
