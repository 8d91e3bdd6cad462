import type { AnchorLine } from '../../core/audit/checkpoint.js';
import type { LossOfHistory } from '../../core/audit/history-lost.js';
import type { ConsistencyProof, InclusionProof } from '../../core/audit/proof.js';
import type { ProjectKey } from '../../stores/store.js';
import { repeatEvery } from '../background/repeat.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { type AsyncReply, catchStoreErrors, isProblem, type Problem } from '../wire/problem.js';
import { type AcceptedLoss, highestGeneration, recordLoss } from './accept-loss.js';
import { ProjectAudit } from './project-audit.js';
import { consistencyProof, inclusionProof, noCheckpointProblem, type ProofSource } from './proofs.js';
import type { AuditOptions } from './signer.js';

const TICK_MS = 1000;
const DELIVER_AT_STOP_MS = 2000;

/** Writes checkpoints of the loaded projects in the background, and answers with proofs. */
export class AuditService {
  private readonly audits = new WeakMap<Project, ProjectAudit>();
  private readonly stopTimer: () => void;

  /** Without options nothing is written; what the log has is still answered. */
  constructor(
    private readonly projects: Projects,
    private readonly environment: Environment,
    private readonly options: AuditOptions | null,
  ) {
    const writeDue = ({ signer }: AuditOptions): Promise<void>[] =>
      [...projects.all()].map(async (project) => {
        const audit = this.auditOf(project);
        if (audit.isDue) await audit.checkpoint(signer);
        // Not awaited: a sink may take long.
        void audit.deliver();
      });
    this.stopTimer = options === null ? () => {} : repeatEvery(environment, TICK_MS, () => writeDue(options));
  }

  /** Ends the background work. */
  cancel(): void {
    this.stopTimer();
  }

  /** Covers what has no checkpoint yet. */
  async checkpoint(): Promise<void> {
    const signer = this.options?.signer;
    if (signer === undefined) return;
    await Promise.allSettled(this.loaded().map((audit) => audit.checkpoint(signer)));
  }

  /** Ends the background work after a last checkpoint. */
  async stop(): Promise<void> {
    this.cancel();
    await this.checkpoint();
    // The log has the checkpoints: what a slow sink misses now, it is sent after the next start.
    const delivered = Promise.allSettled(this.loaded().map((audit) => audit.deliver()));
    await Promise.race([delivered, this.pause(DELIVER_AT_STOP_MS)]);
  }

  private loaded(): ProjectAudit[] {
    return [...this.projects.all()].map((project) => this.auditOf(project));
  }

  /** The loaded projects whose checkpoints contradict each other or are not valid, and why. */
  *alarms(): Iterable<ProjectKey & { readonly alarm: string }> {
    for (const project of this.projects.all()) {
      const alarm = this.audits.get(project)?.records.alarm ?? null;
      if (alarm !== null) yield { ...project.key, alarm };
    }
  }

  /** Checkpoints that a sink has not confirmed yet. */
  undelivered(): number {
    return [...this.projects.all()].reduce(
      (sum, project) => sum + (this.audits.get(project)?.undelivered ?? 0),
      0,
    );
  }

  /** The last checkpoint. */
  head(projectKey: ProjectKey): AsyncReply<AnchorLine> {
    return this.withRecords(projectKey, async ({ records }) => {
      const { last } = records;
      return last === null ? noCheckpointProblem() : records.anchorOf(last);
    });
  }

  /** Proves that an event is in the log of the last checkpoint. */
  proof(projectKey: ProjectKey, position: number): AsyncReply<InclusionProof> {
    return this.withRecords(projectKey, (source) => inclusionProof(source, position));
  }

  /** Proves that the log of a checkpoint is the beginning of that of a later one. */
  consistency(projectKey: ProjectKey, from: number, to: number | null): AsyncReply<ConsistencyProof> {
    return this.withRecords(projectKey, (source) => consistencyProof(source, from, to));
  }

  /** Records that history was lost, and covers it with a checkpoint: without one it does not count. */
  acceptLoss(projectKey: ProjectKey, lost: AcceptedLoss): AsyncReply<LossOfHistory> {
    return this.projects.withProject(projectKey, (project) =>
      catchStoreErrors(async () => {
        const highest = await highestGeneration(project.store, projectKey);
        const reply = await project.run(recordLoss(lost, highest));
        if (!isProblem(reply)) await this.checkpoint();
        return reply;
      }),
    );
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.environment.setTimer(ms, resolve);
    });
  }

  private withRecords<T>(
    projectKey: ProjectKey,
    answer: (source: ProofSource) => Promise<T | Problem>,
  ): AsyncReply<T> {
    return this.projects.withProject(projectKey, (project) =>
      catchStoreErrors(async () => {
        const audit = this.auditOf(project);
        await audit.records.read();
        return answer(audit);
      }),
    );
  }

  private auditOf(project: Project): ProjectAudit {
    const known = this.audits.get(project);
    if (known !== undefined) return known;
    const audit = new ProjectAudit(project, this.options);
    this.audits.set(project, audit);
    return audit;
  }
}
