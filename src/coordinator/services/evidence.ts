import {
  type EvidenceResult,
  enrolRunnerBody,
  evidenceBody,
  type ProposeResult,
  proposeBody,
  type Runner,
  type WaitingCandidate,
} from '../../core/contract/runners.js';
import type { PageQuery } from '../../core/contract/schema.js';
import { evidenceText, runnerIdSchema } from '../../core/engine/evidence.js';
import { RUNNERS_SUBJECT, subjectKindOf } from '../../core/subject.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey } from '../../stores/store.js';
import { OPEN_CALLER } from '../authentication/caller.js';
import { verifySignature, withSignatureCheck } from '../authentication/signatures.js';
import { proposeCandidate, recordEvidence } from '../operations/candidates.js';
import { runnersOf } from '../operations/edge-evidence.js';
import { parseBody, parseHolderBody, parseSubject } from '../operations/parse-body.js';
import { candidateProblem } from '../operations/results.js';
import { enrolRunner, revokeRunner, runnerOf } from '../operations/runners.js';
import { waitingCandidates } from '../queries/candidates.js';
import { pageOf } from '../queries/page.js';
import type { ReadScheduler } from '../queries/read-scheduler.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import { type AsyncReply, catchStoreErrors, fieldProblem, isProblem } from '../wire/problem.js';

/** Runners of a project, the candidates that wait for them, and their evidence. */
export class EvidenceService {
  constructor(
    private readonly projects: Projects,
    private readonly blobs: Blobs,
    private readonly readScheduler: ReadScheduler,
  ) {}

  async enrolRunner(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<Runner> {
    const fields = parseBody(enrolRunnerBody, body);
    if (isProblem(fields)) return fields;
    return this.projects.withProject(projectKey, (project) =>
      project.run(enrolRunner(fields, caller), caller),
    );
  }

  async revokeRunner(projectKey: ProjectKey, runnerId: string, caller = OPEN_CALLER): AsyncReply<Runner> {
    const id = runnerIdSchema.safeParse(runnerId);
    if (!id.success)
      return fieldProblem(
        'runner_id',
        'there is no such runner. List the runners: gen runner list.',
        'NOT_FOUND',
      );
    return this.projects.withProject(projectKey, (project) =>
      project.run(revokeRunner(id.data, caller), caller),
    );
  }

  /** The runners in the order of their enrolment. */
  listRunners(projectKey: ProjectKey): AsyncReply<{ runners: readonly Runner[] }> {
    return this.projects.query(projectKey, async (project) => {
      const runners = Object.entries(runnersOf(project.view()));
      const listed = runners.map(([id, record]) => runnerOf(id, record));
      return { runners: listed.sort((a, b) => a.enrolled_at.localeCompare(b.enrolled_at)) };
    });
  }

  async propose(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<ProposeResult> {
    const parsed = parseHolderBody(proposeBody, body, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle, fields } = parsed;
    if (subjectKindOf(subject) !== 'edge')
      return fieldProblem('task_id', 'expected an edge: only edges have checks that a runner can run');
    const { tenant_id } = projectKey;
    const propose = (project: Project) =>
      catchStoreErrors(async () => {
        const problem = await candidateProblem(fields.candidate_sha256, { tenant_id, blobs: this.blobs });
        return problem ?? project.run(proposeCandidate({ subject, handle, body: fields }, caller), caller);
      });
    const sessionCommand = { command: 'propose_candidate', body } as const;
    return this.projects.withProject(projectKey, (project) =>
      withSignatureCheck(project, sessionCommand, () => propose(project)),
    );
  }

  /** The candidates of the claimed edges, sorted by edge. */
  listCandidates(
    projectKey: ProjectKey,
    query: PageQuery = {},
  ): AsyncReply<{ candidates: readonly WaitingCandidate[]; next: string | null }> {
    return this.readScheduler.run(projectKey.tenant_id, () =>
      this.projects.query(projectKey, async (project) => {
        const candidates = waitingCandidates(project.view());
        const { items, next } = pageOf(candidates, ({ task_id }) => task_id, query);
        return { candidates: items, next };
      }),
    );
  }

  /** Records evidence. Its signature is verified before the command is queued, off the main thread. */
  async record(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<EvidenceResult> {
    const fields = parseBody(evidenceBody, body);
    if (isProblem(fields)) return fields;
    const { evidence, request_id } = fields;
    const { statement, signature } = evidence;
    const { tenant_id, project_id } = projectKey;
    if (statement.tenant_id !== tenant_id || statement.project_id !== project_id)
      return fieldProblem('evidence.statement.project_id', 'expected the project in the path of the request');
    const subject = parseSubject(statement.task_id);
    if (isProblem(subject)) return subject;
    return this.projects.withProject(projectKey, (project) =>
      catchStoreErrors(async () => {
        const publicKey = await publicKeyOf(project, statement.runner_id);
        const operation = recordEvidence(evidence, publicKey ?? '', caller, { request_id });
        if (publicKey === null || (await verifySignature(publicKey, evidenceText(statement), signature)))
          return project.run(operation, caller);
        const message = 'does not verify with the public key of the runner for this statement';
        return fieldProblem('evidence.signature', message, 'SIGNATURE_INVALID');
      }),
    );
  }
}

/** The public key of a runner. If the runner is unknown here, another coordinator may have enrolled it: refresh first. */
async function publicKeyOf(project: Project, runnerId: string): Promise<string | null> {
  const knownPublicKey = () => runnersOf(project.view())[runnerId]?.public_key ?? null;
  if (project.state.records.has(RUNNERS_SUBJECT) && knownPublicKey() !== null) return knownPublicKey();
  await project.refresh();
  return knownPublicKey();
}
