import type { Anchor } from '../../core/audit/checkpoint.js';
import { HISTORY_LOST_EVENT, type LossOfHistory } from '../../core/audit/history-lost.js';
import type { ConsistencyProof, InclusionProof } from '../../core/audit/proof.js';
import { type AuditKeyList, type AuditKeyResult, auditKeyBody } from '../../core/contract/audit.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { repeatEvery } from '../background/repeat.js';
import { parseBody } from '../operations/parse-body.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { type AsyncReply, catchStoreErrors, isProblem, type Problem } from '../wire/problem.js';
import { type AcceptedLoss, lossWithFloor, readHighestGeneration, recordLoss } from './accept-loss.js';
import { type KeyVerb, keyChange, keyChangeReply } from './key-changes.js';
import { ProjectAudit } from './project-audit.js';
import { noCheckpointProblem, type ProofSource, proveConsistency, proveInclusion } from './proofs.js';
import type { AuditOptions } from './signer.js';

const TICK_MS = 1000;
const DELIVERY_AT_STOP_MS_MAX = 2000;

/** Writes checkpoints of the loaded projects in the background, and provides proofs from them. */
export class AuditService {
  private readonly audits = new WeakMap<Project, ProjectAudit>();
  private readonly stopTimer: () => void;

  /** Without options nothing is written, but queries about existing checkpoints are answered. */
  constructor(
    private readonly projects: Projects,
    private readonly environment: Environment,
    private readonly options: AuditOptions | null,
  ) {
    const writeDueCheckpoints = (auditOptions: AuditOptions): Promise<void>[] =>
      [...projects.listLoaded()].map(async (project) => {
        const audit = this.auditOf(project);
        await audit.startTree();
        if (audit.isDue) await audit.checkpoint(auditOptions);
        // Not awaited: a sink may take long.
        void audit.deliver();
      });
    this.stopTimer =
      options === null ? () => {} : repeatEvery(environment, TICK_MS, () => writeDueCheckpoints(options));
  }

  /** Ends the background work. */
  cancel(): void {
    this.stopTimer();
  }

  /** Writes a checkpoint in each loaded project that has events without one. */
  async checkpoint(): Promise<void> {
    const { options } = this;
    if (options === null) return;
    await Promise.allSettled(this.loadedAudits().map((audit) => audit.checkpoint(options)));
  }

  /** Ends the background work, and writes and delivers the last checkpoints. */
  async stop(): Promise<void> {
    this.cancel();
    await this.checkpoint();
    await this.deliverAll(this.loadedAudits());
  }

  /** Writes and delivers a last checkpoint of a project that is about to be unloaded. */
  async finish(project: Project): Promise<void> {
    const { options } = this;
    if (options === null) return;
    const audit = this.auditOf(project);
    await audit.checkpoint(options);
    await this.deliverAll([audit]);
  }

  /**
   * Sends checkpoints to the sinks, and waits for a limited time. What a slow sink does not get in that time is sent
   * when the project is loaded again.
   */
  private async deliverAll(audits: readonly ProjectAudit[]): Promise<void> {
    const delivered = Promise.allSettled(audits.map((audit) => audit.deliver()));
    await Promise.race([delivered, this.pause(DELIVERY_AT_STOP_MS_MAX)]);
  }

  private loadedAudits(): ProjectAudit[] {
    return [...this.projects.listLoaded()].map((project) => this.auditOf(project));
  }

  /** The loaded projects whose checkpoints contradict each other, are not valid or cannot be written, and why. */
  *alarms(): Iterable<ProjectKey & { readonly alarm: string }> {
    for (const project of this.projects.listLoaded()) {
      const alarm = this.audits.get(project)?.alarm ?? null;
      if (alarm !== null) yield { ...project.key, alarm };
    }
  }

  /** The number of checkpoints that sinks have not confirmed yet. A checkpoint counts once for each such sink. */
  undelivered(): number {
    return [...this.projects.listLoaded()].reduce(
      (sum, project) => sum + (this.audits.get(project)?.undelivered ?? 0),
      0,
    );
  }

  /** The last checkpoint. */
  lastCheckpoint(projectKey: ProjectKey): AsyncReply<Anchor> {
    return this.withRecords(projectKey, async ({ records }) => {
      const { lastCheckpoint: last } = records;
      return last === null ? noCheckpointProblem() : records.anchorOf(last);
    });
  }

  /** Proves that an event is in the log of the last checkpoint. */
  proof(projectKey: ProjectKey, position: number): AsyncReply<InclusionProof> {
    return this.withRecords(projectKey, (source) => proveInclusion(source, position));
  }

  /** Proves that the log at a checkpoint is a prefix of the log at a later checkpoint. */
  consistency(projectKey: ProjectKey, from: number, to: number | null): AsyncReply<ConsistencyProof> {
    return this.withRecords(projectKey, (source) => proveConsistency(source, from, to));
  }

  /** Adds the signature of this coordinator to a record, if the coordinator has a key that the project accepts. */
  async signRecord<T extends object>(project: Project, eventType: string, payload: T): Promise<T> {
    const { options } = this;
    return options === null ? payload : this.auditOf(project).signRecord(options, eventType, payload);
  }

  /** Records that history was lost. Auditors accept the record only if it is signed. */
  acceptLoss(projectKey: ProjectKey, accepted: AcceptedLoss): AsyncReply<LossOfHistory> {
    return this.projects.withProjectOrCreate(projectKey, (project) =>
      catchStoreErrors(async () => {
        const highest = await readHighestGeneration(project.store, projectKey);
        const loss = await this.signRecord(
          project,
          HISTORY_LOST_EVENT,
          lossWithFloor(accepted, highest, project.now()),
        );
        const reply = await project.run(recordLoss(loss));
        if (!isProblem(reply)) await this.checkpoint();
        return reply;
      }),
    );
  }

  /** Every audit key that the project ever had. */
  keys(projectKey: ProjectKey): AsyncReply<AuditKeyList> {
    return this.withRecords(projectKey, async ({ records }) => ({ keys: records.keys.list() }));
  }

  /** Revokes a key that is lost or no longer trusted, and enrols this coordinator's key in its place. */
  async replaceKey(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<AuditKeyResult> {
    return this.changeKeys(projectKey, 'replace', body, caller);
  }

  /** Ends a key: signatures that it makes from now on are invalid. */
  async revokeKey(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<AuditKeyResult> {
    return this.changeKeys(projectKey, 'revoke', body, caller);
  }

  private changeKeys(
    projectKey: ProjectKey,
    verb: KeyVerb,
    body: unknown,
    caller: Caller,
  ): AsyncReply<AuditKeyResult> {
    const fields = parseBody(auditKeyBody, body);
    if (isProblem(fields)) return Promise.resolve(fields);
    const signer = this.options?.signer ?? null;
    return this.projects.withProject(projectKey, (project) =>
      catchStoreErrors(async () => {
        const audit = this.auditOf(project);
        const { keys } = audit.records;
        const operation = keyChange({ keys, signer, verb, body: fields, caller });
        const decided = await audit.changeKeys(() => project.run(operation, caller));
        return isProblem(decided) ? decided : keyChangeReply(decided, keys);
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
    const existing = this.audits.get(project);
    if (existing !== undefined) return existing;
    const audit = new ProjectAudit(project, this.options);
    this.audits.set(project, audit);
    return audit;
  }
}
