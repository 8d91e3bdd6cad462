import { z } from 'zod';
import {
  locateIn,
  type PlanDocument,
  type PlanInput,
  readPlanDocument,
  readTaskItems,
  renderPlan,
  renderSteps,
  soundTaskItems,
} from '../../core/plan/index.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../caller.js';
import { type Documents, LARGE_YAML_CHARS } from '../documents/documents.js';
import { type DocumentJob, type DocumentParcel, unpackList, unpackPlan } from '../documents/job.js';
import { JsonText } from '../documents/json-text.js';
import type { Environment } from '../environment.js';
import { sha256Hex } from '../identity.js';
import { inSlices } from '../in-slices.js';
import {
  type PlanAsked,
  PlanOperation,
  type PlanProposal,
  type PlanResult,
  versionOf,
} from '../operations/plan.js';
import { readBody } from '../operations/read.js';
import { Additions, Faulty, Replacement } from '../plan-proposals.js';
import { isProblem, type Problem, problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import type { Projects } from '../projects.js';
import type { ReadTurns } from '../queries/read-turns.js';
import { scopeFault } from '../scope.js';
import { mutating } from '../wire/bodies.js';

/** A proposal, what tells its request from another, and what the document says of its request. */
interface Read {
  readonly proposal: PlanProposal;
  readonly body: unknown;
  readonly request_id?: string | undefined;
}

/** A plan that changes so often is rendered at once. */
const RENDER_ATTEMPTS_MAX = 3;

const besideBody = z.strictObject(mutating);

/** What is to be done: the plan of a project, and the tasks that join it while it runs. */
export class Plans {
  constructor(
    private readonly projects: Projects,
    private readonly documents: Documents,
    private readonly turns: ReadTurns,
    private readonly environment: Environment,
  ) {}

  get(scope: ProjectKey): Reply<{ version: number; plan: PlanInput }> {
    return this.turns.take(scope.tenant_id, () =>
      this.projects.in(scope, (project) => this.rendered(project)),
    );
  }

  /** A version and the plan of that version: where the plan changed meanwhile, it is rendered again. */
  private async rendered(project: Project): Promise<{ version: number; plan: PlanInput }> {
    const { plan } = project.state;
    const { project_id } = project.key;
    for (let attempt = 0; attempt < RENDER_ATTEMPTS_MAX; attempt += 1) {
      const { revision } = plan;
      const version = versionOf(project.desk());
      const rendered = await inSlices(renderSteps(plan, project_id), this.environment);
      if (plan.revision === revision) return { version, plan: rendered };
    }
    return { version: versionOf(project.desk()), plan: renderPlan(plan, project_id) };
  }

  /** `plan`: YAML as text, a value, or JSON as text. What is large is read in a thread. */
  async put(
    scope: ProjectKey,
    plan: unknown,
    options: { if_match?: number; request_id?: string } = {},
    caller = OPEN_CALLER,
  ): Reply<PlanResult> {
    const fault = scopeFault(scope);
    if (fault !== null) return fault;
    const read = await this.readPlan(scope, plan);
    if (isProblem(read)) return read;
    return this.run(scope, 'put_plan', { request_id: options.request_id, ...read }, options.if_match, caller);
  }

  /** `tasks`: a list, or the whole body as JSON text. */
  async add(
    scope: ProjectKey,
    tasks: unknown,
    options: { request_id?: string } = {},
    caller = OPEN_CALLER,
  ): Reply<PlanResult> {
    const fault = scopeFault(scope);
    if (fault !== null) return fault;
    const read =
      tasks instanceof JsonText
        ? await this.readLarge(scope, { kind: 'tasks', text: tasks.text }, tasks)
        : { proposal: new Additions(readTaskItems(tasks)), body: tasks };
    if (isProblem(read)) return read;
    return this.run(scope, 'add_tasks', { request_id: options.request_id, ...read }, undefined, caller);
  }

  private run(
    scope: ProjectKey,
    verb: PlanAsked['verb'],
    { proposal, body, request_id }: Read,
    if_match: number | undefined,
    caller: Caller,
  ): Reply<PlanResult> {
    const asked: PlanAsked = { verb, proposal, body, request_id, if_match: if_match ?? null };
    return this.projects.in(scope, (project) => project.run(new PlanOperation(asked, caller), caller));
  }

  private async readPlan(scope: ProjectKey, plan: unknown): Promise<Read | Problem> {
    if (plan instanceof JsonText) {
      return this.readLarge(scope, { kind: 'plan', form: 'json', text: plan.text }, plan);
    }
    if (typeof plan !== 'string')
      return { proposal: this.replacing(readPlanDocument({ json: plan })), body: plan };
    if (plan.length > LARGE_YAML_CHARS)
      return this.readLarge(scope, { kind: 'plan', form: 'yaml', text: plan });
    return { proposal: this.replacing(readPlanDocument({ yaml: plan })), body: sha256Hex(plan) };
  }

  private async readLarge(scope: ProjectKey, job: DocumentJob, source?: JsonText): Promise<Read | Problem> {
    const parcel = await this.documents.read(scope.tenant_id, job);
    if (isProblem(parcel)) return parcel;
    if (parcel.kind === 'malformed') {
      return problem('INVALID_REQUEST', `body: ${parcel.fault}`, [{ path: '', message: parcel.fault }]);
    }
    const named = readBody(besideBody, parcel.beside);
    if (isProblem(named)) return named;
    if (source !== undefined && named.request_id !== undefined) source.request_id = named.request_id;
    const proposal = await this.proposalOf(parcel);
    const about = named.request_id === undefined ? {} : { request_id: named.request_id };
    return { proposal, body: 'digest' in parcel ? parcel.digest : '', ...about };
  }

  private async proposalOf(parcel: DocumentParcel): Promise<PlanProposal> {
    switch (parcel.kind) {
      case 'plan_faults':
        return new Faulty(parcel.faults);
      case 'plan': {
        const input = await inSlices(unpackPlan(parcel), this.environment);
        return this.replacing({ ok: true, input, locate: locateIn(parcel.places) });
      }
      case 'tasks':
        return new Additions(soundTaskItems(await inSlices(unpackList(parcel.pieces), this.environment)));
      default:
        throw new Error(`a plan was read as ${parcel.kind}`);
    }
  }

  private replacing(document: PlanDocument): PlanProposal {
    return document.ok ? new Replacement(document, this.environment) : new Faulty(document.faults);
  }
}
