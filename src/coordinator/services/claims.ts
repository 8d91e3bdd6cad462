import { nextBody } from '../../core/contract/claim-bodies.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { importedConvergenceWarning } from '../../core/methodology/progress/imported-convergence.js';
import { subjectKindOf } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { withSignatureCheck, withSignedText } from '../authentication/signatures.js';
import type { MethodologyService } from '../methodology/service.js';
import { briefingFor } from '../operations/briefing.js';
import { atomicClaimOperation, ClaimOperation, type ClaimRequest, replayClaim } from '../operations/claim.js';
import { roleProblem } from '../operations/convergence-facts.js';
import { NextOperation, wantsEdges } from '../operations/next.js';
import { parseBatchClaim, parseClaim, parseRoleBody } from '../operations/parse-body.js';
import { checkPushedIds } from '../operations/pushed.js';
import { unknownProjectResult } from '../operations/render.js';
import { runSessionCommand } from '../operations/session-command.js';
import { waitForWork } from '../operations/wait.js';
import type { EventHistory } from '../queries/history.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { type AsyncReply, isProblem, type Problem, problemFromStoreError } from '../wire/problem.js';

/** Grants claims: on a named subject, on several, or on the best ready work. */
export class ClaimService {
  constructor(
    private readonly projects: Projects,
    private readonly history: EventHistory,
    private readonly methodology: Pick<MethodologyService, 'stateOf'>,
    private readonly environment: Environment,
  ) {}

  claimTask(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<ClaimResult> {
    const parsed = parseClaim(body, caller);
    if (isProblem(parsed)) return Promise.resolve(parsed);
    const command = { command: 'claim_task', body } as const;
    const claim =
      parsed.body.signature === undefined
        ? parsed
        : { ...parsed, body: withSignedText(projectKey, command, parsed.body) };
    return runSessionCommand(
      this.projects,
      projectKey,
      command,
      (project) => {
        const problem = caller.may_review ? null : roleProblem(project, [claim], caller);
        if (problem !== null) return Promise.resolve(problem);
        const reply = this.runClaim(project, claim, caller);
        return claim.with_briefing
          ? reply.then((granted) => this.withBriefing(projectKey, project, granted))
          : reply;
      },
      unknownProjectResult,
    );
  }

  /** Repeats the reply to an earlier grant, including its claim id. Call it only for the authenticated holder. */
  replayGrant(projectKey: ProjectKey, granted: EventEnvelope): AsyncReply<ClaimResult> {
    return this.projects.withProject(projectKey, async (project) => replayClaim([granted], project.view()));
  }

  async batchClaim(
    projectKey: ProjectKey,
    body: unknown,
    caller = OPEN_CALLER,
  ): AsyncReply<{ results: readonly (ClaimResult | Problem)[] }> {
    const batch = parseBatchClaim(body, caller);
    if (isProblem(batch)) return batch;
    const { mode, request_id } = batch;
    const sessionCommands = (body as { claims: unknown[] }).claims.map(
      (each) => ({ command: 'claim_task', body: each }) as const,
    );
    const claims = batch.claims.map((claim, index) => {
      if (claim.body.signature === undefined) return claim;
      return { ...claim, body: withSignedText(projectKey, sessionCommands[index]!, claim.body) };
    });
    return this.projects.withProject(
      projectKey,
      async (project) => {
        const problem = roleProblem(project, claims, caller);
        if (problem !== null) return problem;
        if (mode === 'partial') {
          // Read before the first claim, so that claims are decided in the order in which the batch has them.
          const warnings = claims.map((claim) => this.importWarning(project, claim));
          const texts = warnings.every((warning) => warning === null) ? [] : await Promise.all(warnings);
          const replies = claims.map((claim, index) =>
            withSignatureCheck(project, sessionCommands[index]!, () =>
              this.runWithWarning(project, claim, caller, texts[index] ?? null),
            ),
          );
          return { results: await Promise.all(replies) };
        }
        for (const each of sessionCommands) {
          const problem = await withSignatureCheck(project, each, async () => null);
          if (problem !== null) return problem;
        }
        const results = await project.run(atomicClaimOperation(claims, caller, request_id), caller);
        return isProblem(results) ? results : { results };
      },
      (unknown) => ({ results: claims.map(() => unknownProjectResult(unknown)) }),
    );
  }

  /**
   * Claims the best ready work and returns it with its briefing. Waits up to `wait_seconds` for work to become ready;
   * `signal` ends the wait early.
   */
  async next(
    projectKey: ProjectKey,
    body: unknown,
    caller = OPEN_CALLER,
    signal?: AbortSignal,
  ): AsyncReply<ClaimResult> {
    const fields = parseRoleBody(nextBody, body, caller);
    if (isProblem(fields)) return fields;
    const sessionCommand = { command: 'next', body } as const;
    const { wait_seconds, ...claimFields } = withSignedText(projectKey, sessionCommand, fields);
    return runSessionCommand(
      this.projects,
      projectKey,
      sessionCommand,
      async (project) => {
        const problem = roleProblem(project, [{ body: fields }], caller);
        if (problem !== null) return problem;
        const readMethodology = () => this.methodology.stateOf(project);
        const context = { caller, project, signal, readMethodology };
        const tryNext = () => project.run(new NextOperation(claimFields, context), caller);
        const { session_id, track } = claimFields;
        const wait = {
          session_id,
          seconds: wait_seconds,
          track,
          wantsEdges: wantsEdges(claimFields),
          signal,
          caller,
        };
        const reply = await waitForWork(project, this.environment, wait, tryNext);
        return this.withBriefing(projectKey, project, reply);
      },
      unknownProjectResult,
    );
  }

  private runClaim(project: Project, claim: ClaimRequest, caller: Caller): AsyncReply<ClaimResult> {
    const warning = this.importWarning(project, claim);
    if (warning === null) return this.runWithWarning(project, claim, caller, null);
    return warning.then((text) => this.runWithWarning(project, claim, caller, text));
  }

  /**
   * The warning for an edge that converged according to an imported log; null if there is none. Null without a promise
   * for tasks, and for edges that were claimed here before. Read before the claim, because the claim starts the edge.
   */
  private importWarning(project: Project, { subject }: ClaimRequest): Promise<string | null> | null {
    const isNewEdge = subjectKindOf(subject) === 'edge' && project.view().peekHead(subject).generation === 0;
    if (!isNewEdge) return null;
    return this.methodology.stateOf(project).then((state) => importedConvergenceWarning(state, subject));
  }

  private runWithWarning(
    project: Project,
    claim: ClaimRequest,
    caller: Caller,
    warning: string | null,
  ): AsyncReply<ClaimResult> {
    const running = project.run(this.claimOperation(project, claim, caller), caller);
    return warning === null ? running : running.then((reply) => withWarning(reply, warning));
  }

  private claimOperation(project: Project, claim: ClaimRequest, caller: Caller) {
    const { offline } = claim.body;
    if (offline === undefined) return new ClaimOperation(claim, caller);
    const searchedLog = { history: this.history, key: project.key, subject: claim.subject };
    return checkPushedIds(new ClaimOperation(claim, caller), offline, searchedLog);
  }

  private async withBriefing(projectKey: ProjectKey, project: Project, reply: ClaimResult | Problem) {
    if (isProblem(reply) || reply.claim === null) return reply;
    try {
      const readHistory = (subject: string) => this.history.ofSubject(projectKey, subject);
      return { ...reply, briefing: await briefingFor(project.view(), reply.claim, readHistory) };
    } catch (error) {
      // The claim is granted even if its briefing cannot be read.
      if (problemFromStoreError(error) !== null) return reply;
      throw error;
    }
  }
}

function withWarning(reply: ClaimResult | Problem, warning: string): ClaimResult | Problem {
  if (isProblem(reply) || reply.reason !== 'GRANTED') return reply;
  return { ...reply, warnings: [warning, ...(reply.warnings ?? [])] };
}
