import { z } from 'zod';
import { decideProposalBody, type PlanInput, type PlanResult } from '../../core/contract/plan.js';
import { type AtQuery, mutationFields } from '../../core/contract/schema.js';
import {
  locateInSourceMap,
  type ParsedPlanDocument,
  readPlanDocument,
  readTaskItems,
  renderPlan,
  renderPlanInSlices,
  validTaskItems,
} from '../../core/plan/index.js';
import { PLAN_SUBJECT } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { type DocumentReader, LARGE_YAML_CHARS, malformedProblem } from '../documents/documents.js';
import { type DocumentJob, listFromChunks, type ParsedDocument, planFromChunks } from '../documents/job.js';
import { UnparsedJson } from '../documents/unparsed-json.js';
import { type PlanUpdate, planAdditions, planVersionIn, planVersionOf } from '../operations/apply-plan.js';
import { parseBody } from '../operations/parse-body.js';
import { invalidPlan, PlanOperation, PlanReplacement, type PlanRequest } from '../operations/plan.js';
import { decideProposal } from '../operations/task-proposals.js';
import type { EventHistory } from '../queries/history.js';
import { pastProject } from '../queries/past.js';
import type { ReadScheduler } from '../queries/read-scheduler.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import type { Environment } from '../runtime/environment.js';
import { sha256Hex } from '../runtime/identity.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, isProblem } from '../wire/problem.js';
import { projectKeyProblem } from '../wire/project-key.js';

/**
 * An update with its request. `body` distinguishes two requests with the same `request_id`: it is the value itself, or the
 * digest of a text that is large or YAML. The `request_id` is the one in the document.
 */
interface ParsedPlanRequest {
  readonly update: PlanUpdate;
  readonly body: unknown;
  readonly request_id?: string | undefined;
}

/** If the plan changes during this many attempts to render it, it is rendered synchronously. */
const RENDER_ATTEMPTS_MAX = 3;

const extraFieldsBody = z.strictObject(mutationFields);

/** A project's plan, and the tasks added to it while it runs. */
export class PlanService {
  constructor(
    private readonly projects: Projects,
    private readonly documentReader: DocumentReader,
    private readonly readScheduler: ReadScheduler,
    private readonly history: EventHistory,
    private readonly environment: Environment,
  ) {}

  get(projectKey: ProjectKey, { at }: AtQuery = {}): AsyncReply<{ version: number; plan: PlanInput }> {
    return this.readScheduler.run(projectKey.tenant_id, () =>
      this.projects.withProject(projectKey, (project) =>
        project.readDurable(() =>
          at === undefined ? this.renderConsistent(project) : this.renderPast(project, at),
        ),
      ),
    );
  }

  private async renderPast(project: Project, at: number): AsyncReply<{ version: number; plan: PlanInput }> {
    const past = await pastProject(this.history, project, at);
    if (isProblem(past)) return past;
    const { plan, records } = past.state;
    const version = planVersionIn(records.get(PLAN_SUBJECT));
    return {
      version,
      plan: await runInSlices(renderPlanInSlices(plan, project.key.project_id), this.environment),
    };
  }

  /** The plan with its version. It is rendered again if it changed during the rendering. */
  private async renderConsistent(project: Project): Promise<{ version: number; plan: PlanInput }> {
    const { plan } = project.state;
    const { project_id } = project.key;
    for (let attempt = 0; attempt < RENDER_ATTEMPTS_MAX; attempt += 1) {
      const { revision } = plan;
      const version = planVersionOf(project.view());
      const rendered = await runInSlices(renderPlanInSlices(plan, project_id), this.environment);
      if (plan.revision === revision) return { version, plan: rendered };
    }
    return { version: planVersionOf(project.view()), plan: renderPlan(plan, project_id) };
  }

  /** Replaces the plan. `plan` is YAML text, a value, or JSON text. Large texts are parsed in a thread. */
  put(
    projectKey: ProjectKey,
    plan: unknown,
    options: { if_match?: number; request_id?: string } = {},
    caller = OPEN_CALLER,
  ): AsyncReply<PlanResult> {
    return this.run(projectKey, 'put_plan', () => this.readPlan(projectKey, plan), options, caller);
  }

  /**
   * Adds tasks to the plan, or proposes them if the policy demands a person's approval. `tasks` is a list, or the whole
   * body as JSON text.
   */
  add(
    projectKey: ProjectKey,
    tasks: unknown,
    options: { request_id?: string } = {},
    caller = OPEN_CALLER,
  ): AsyncReply<PlanResult> {
    return this.run(projectKey, 'add_tasks', () => this.readTasks(projectKey, tasks), options, caller);
  }

  /** Records a person's decision about tasks that an agent proposed. */
  async decideProposal(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<PlanResult> {
    const fields = projectKeyProblem(projectKey) ?? parseBody(decideProposalBody, body);
    if (isProblem(fields)) return fields;
    return this.projects.withProject(projectKey, (project) =>
      project.run(decideProposal(fields, caller), caller),
    );
  }

  private async run(
    projectKey: ProjectKey,
    verb: PlanRequest['verb'],
    readRequest: () => AsyncReply<ParsedPlanRequest>,
    { request_id, if_match = null }: { request_id?: string; if_match?: number | null },
    caller: Caller,
  ): AsyncReply<PlanResult> {
    const problem = projectKeyProblem(projectKey);
    if (problem !== null) return problem;
    const planRequest = await readRequest();
    if (isProblem(planRequest)) return planRequest;
    const operation = new PlanOperation({ verb, if_match, request_id, ...planRequest }, caller);
    const run = (project: Project) => project.run(operation, caller);
    return verb === 'put_plan'
      ? this.projects.withProjectOrCreate(projectKey, run)
      : this.projects.withProject(projectKey, run);
  }

  private async readTasks(projectKey: ProjectKey, tasks: unknown): AsyncReply<ParsedPlanRequest> {
    if (tasks instanceof UnparsedJson)
      return this.readLargeDocument(projectKey, { kind: 'tasks', text: tasks.text }, tasks);
    return { update: planAdditions(readTaskItems(tasks)), body: tasks };
  }

  private async readPlan(projectKey: ProjectKey, plan: unknown): AsyncReply<ParsedPlanRequest> {
    if (plan instanceof UnparsedJson) {
      return this.readLargeDocument(projectKey, { kind: 'plan', form: 'json', text: plan.text }, plan);
    }
    if (typeof plan !== 'string')
      return { update: this.updateFromDocument(readPlanDocument({ json: plan })), body: plan };
    if (plan.length > LARGE_YAML_CHARS)
      return this.readLargeDocument(projectKey, { kind: 'plan', form: 'yaml', text: plan });
    return { update: this.updateFromDocument(readPlanDocument({ yaml: plan })), body: sha256Hex(plan) };
  }

  private async readLargeDocument(projectKey: ProjectKey, job: DocumentJob, source?: UnparsedJson) {
    const document = await this.documentReader.read(projectKey.tenant_id, job);
    if (isProblem(document)) return document;
    if (document.kind === 'malformed') return malformedProblem(document.fault);
    const extraFields = parseBody(extraFieldsBody, document.extraFields);
    if (isProblem(extraFields)) return extraFields;
    const requestFields = withoutUndefined({ request_id: extraFields.request_id });
    if (source !== undefined) Object.assign(source, requestFields);
    const update = await this.updateFromParsed(document);
    return { update, body: 'requestDigest' in document ? document.requestDigest : '', ...requestFields };
  }

  private async updateFromParsed(document: ParsedDocument): Promise<PlanUpdate> {
    switch (document.kind) {
      case 'plan_faults':
        return invalidPlan(document.faults);
      case 'plan': {
        const input = await runInSlices(planFromChunks(document), this.environment);
        return this.updateFromDocument({ ok: true, input, locate: locateInSourceMap(document.sourceMap) });
      }
      case 'tasks':
        return planAdditions(
          validTaskItems(await runInSlices(listFromChunks(document.chunks), this.environment)),
        );
      default:
        throw new Error(`expected a plan, got ${document.kind}`);
    }
  }

  private updateFromDocument(document: ParsedPlanDocument): PlanUpdate {
    return document.ok ? new PlanReplacement(document, this.environment) : invalidPlan(document.faults);
  }
}
