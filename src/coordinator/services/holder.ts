import type { z } from 'zod';
import type { SubmittedResult } from '../../core/claims/head.js';
import {
  itemsBody,
  releaseBody,
  renewBody,
  resumeBody,
  submitBody,
  suspendBody,
} from '../../core/contract/claim-bodies.js';
import type {
  GateResult,
  NoteResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../core/contract/claim-replies.js';
import { type AppendResult, appendBody } from '../../core/contract/events.js';
import { noteBody } from '../../core/contract/tasks.js';
import type { ChangedFile } from '../../core/engine/guarded-check-files.js';
import { subjectKindOf } from '../../core/subject.js';
import type { Blobs } from '../../stores/blobs.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { type SessionCommand, withSignedText } from '../authentication/signatures.js';
import { appendOperation, appendSubjectOf } from '../operations/append.js';
import { evidenceProblem, roleProblem } from '../operations/convergence-facts.js';
import { holderOperation } from '../operations/holder.js';
import {
  type HandleBody,
  parseBody,
  parseHolderBody,
  parseRoleBody,
  parseSubject,
} from '../operations/parse-body.js';
import { checkPushedIds } from '../operations/pushed.js';
import {
  renderGateResult,
  renderNoteResult,
  renderReleaseResult,
  renderRenewalResult,
} from '../operations/render.js';
import { buildResult, changedFilesOf } from '../operations/results.js';
import { runSessionCommand } from '../operations/session-command.js';
import { requestKeyOf } from '../operations/shared.js';
import { SubmitOperation } from '../operations/submit.js';
import type { EventHistory } from '../queries/history.js';
import type { PushedEvent } from '../queue/offline-event.js';
import type { Operation } from '../queue/operation.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import { type AsyncReply, catchStoreErrors, isProblem } from '../wire/problem.js';
import { projectKeyProblem } from '../wire/project-key.js';

/** The commands of the agent that holds a claim. */
export class HolderService {
  constructor(
    private readonly projects: Projects,
    private readonly history: EventHistory,
    private readonly blobs: Blobs,
  ) {}

  renewLease(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<RenewalResult> {
    const parsed = parseHolderCommand(projectKey, { command: 'renew_lease', body }, renewBody, caller);
    if (isProblem(parsed)) return Promise.resolve(parsed);
    const { subject, handle, fields, sessionCommand } = parsed;
    const command = { type: 'renew', handle, lease_seconds: fields.lease_duration_seconds ?? null } as const;
    const operation = holderOperation(subject, command, renderRenewalResult, fields);
    return this.runSigned(projectKey, sessionCommand, operation, caller);
  }

  releaseClaim(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<ReleaseResult> {
    const parsed = parseHolderCommand(projectKey, { command: 'release_claim', body }, releaseBody, caller);
    if (isProblem(parsed)) return Promise.resolve(parsed);
    const { subject, handle, fields, sessionCommand } = parsed;
    const { reason, message = null } = fields;
    const operation = holderOperation(
      subject,
      { type: 'release', handle, reason, message },
      renderReleaseResult,
      fields,
      fields.offline === undefined ? null : requestKeyOf(caller, 'release_claim', fields),
    );
    const checked = this.checkPushedIds(projectKey, subject, fields.offline, operation);
    return this.runSigned(projectKey, sessionCommand, checked, caller);
  }

  submitResult(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<SubmissionResult> {
    const parsed = parseHolderCommand(projectKey, { command: 'submit_result', body }, submitBody, caller);
    if (isProblem(parsed)) return Promise.resolve(parsed);
    const { subject, handle, fields, sessionCommand } = parsed;
    const evidenceError = evidenceProblem(fields, subject);
    if (evidenceError !== null) return Promise.resolve(evidenceError);
    const submit = (project: Project): AsyncReply<SubmissionResult> => {
      const size_bytes_max = project.limits.max_result_size_bytes;
      const target = { tenant_id: projectKey.tenant_id, blobs: this.blobs, size_bytes_max };
      const run = (result: SubmittedResult, files: readonly ChangedFile[]): AsyncReply<SubmissionResult> => {
        const submission = { subject, handle, result, body: fields, files, caller };
        const readHistory = () => this.history.ofSubject(projectKey, subject);
        const operation = new SubmitOperation(submission, readHistory);
        return project.run(this.checkPushedIds(projectKey, subject, fields.offline, operation), caller);
      };
      const built = buildResult(fields, subject, target);
      const isEdge = subjectKindOf(subject) === 'edge';
      if (!isEdge && !(built instanceof Promise)) return run(built, []);
      return catchStoreErrors(async () => {
        const result = await built;
        if (isProblem(result)) return result;
        const files = isEdge ? await changedFilesOf(fields, target) : [];
        return isProblem(files) ? files : run(result, files);
      });
    };
    return runSessionCommand(this.projects, projectKey, sessionCommand, submit);
  }

  renewBatch(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.forEachItem(projectKey, body, (item) => this.renewLease(projectKey, item, caller));
  }

  releaseBatch(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.forEachItem(projectKey, body, (item) => this.releaseClaim(projectKey, item, caller));
  }

  submitBatch(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER) {
    return this.forEachItem(projectKey, body, (item) => this.submitResult(projectKey, item, caller));
  }

  async suspendClaim(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const parsed = parseHolderCommand(projectKey, { command: 'suspend_claim', body }, suspendBody, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle, fields, sessionCommand } = parsed;
    const { iteration = 1, candidate_sha256, failing } = fields;
    const gate =
      candidate_sha256 === undefined
        ? null
        : { iteration, candidate_sha256, ...(failing === undefined ? {} : { failing }) };
    const requestKey = requestKeyOf(caller, 'suspend_claim', fields);
    const operation = holderOperation(
      subject,
      { type: 'suspend', handle, gate },
      renderGateResult,
      fields,
      requestKey,
    );
    const checked = this.checkPushedIds(projectKey, subject, fields.offline, operation);
    return this.runSigned(projectKey, sessionCommand, checked, caller);
  }

  async resumeClaim(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<GateResult> {
    const parsed = parseHolderCommand(projectKey, { command: 'resume_claim', body }, resumeBody, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle, fields, sessionCommand } = parsed;
    const requestKey = requestKeyOf(caller, 'resume_claim', fields);
    const operation = holderOperation(
      subject,
      { type: 'resume', handle },
      renderGateResult,
      fields,
      requestKey,
    );
    const checked = this.checkPushedIds(projectKey, subject, fields.offline, operation);
    return this.runSigned(projectKey, sessionCommand, checked, caller);
  }

  async note(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<NoteResult> {
    const parsed = parseHolderCommand(projectKey, { command: 'note', body }, noteBody, caller);
    if (isProblem(parsed)) return parsed;
    const { subject, handle, fields, sessionCommand } = parsed;
    const requestKey = requestKeyOf(caller, 'note', fields);
    const command = { type: 'note', handle, text: fields.text } as const;
    const operation = holderOperation(subject, command, renderNoteResult, fields, requestKey);
    return this.runSigned(projectKey, sessionCommand, operation, caller);
  }

  /** Appends a methodology step, reported by the agent that took it. */
  async appendEvent(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<AppendResult> {
    const fields = parseRoleBody(appendBody, body, caller);
    if (isProblem(fields)) return fields;
    const subjectText = appendSubjectOf(fields, caller);
    if (isProblem(subjectText)) return subjectText;
    const subject = subjectText === null ? null : parseSubject(subjectText);
    if (isProblem(subject)) return subject;
    const sessionCommand = { command: 'append_event', body } as const;
    const signedFields = withSignedText(projectKey, sessionCommand, fields);
    return runSessionCommand(this.projects, projectKey, sessionCommand, (project) => {
      const problem = roleProblem(project, [{ body: fields }], caller);
      return problem === null
        ? project.run(appendOperation(subject, signedFields, caller), caller)
        : Promise.resolve(problem);
    });
  }

  private async forEachItem<T>(projectKey: ProjectKey, body: unknown, run: (item: unknown) => AsyncReply<T>) {
    const fields = parseBody(itemsBody, body);
    if (isProblem(fields)) return fields;
    return projectKeyProblem(projectKey) ?? { results: await Promise.all(fields.items.map(run)) };
  }

  private runSigned<T>(
    projectKey: ProjectKey,
    command: SessionCommand,
    operation: Operation<T>,
    caller: Caller,
  ) {
    return runSessionCommand(this.projects, projectKey, command, (project) => project.run(operation, caller));
  }

  private checkPushedIds<Reply>(
    projectKey: ProjectKey,
    subject: string,
    pushed: PushedEvent | undefined,
    operation: Operation<Reply>,
  ) {
    return checkPushedIds(operation, pushed, { history: this.history, key: projectKey, subject });
  }
}

/** A holder's command as parsed, with the text that its session signed. */
function parseHolderCommand<Body extends z.ZodType<HandleBody>>(
  projectKey: ProjectKey,
  sessionCommand: SessionCommand,
  schema: Body,
  caller: Caller,
) {
  const parsed = parseHolderBody(schema, sessionCommand.body, caller);
  if (isProblem(parsed)) return parsed;
  const { subject, handle } = parsed;
  return {
    subject,
    handle,
    sessionCommand,
    fields: withSignedText(projectKey, sessionCommand, parsed.fields),
  };
}
