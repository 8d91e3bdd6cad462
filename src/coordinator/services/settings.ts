import type { Limits, Policy } from '../../core/claims/policy.js';
import type { FeatureVector } from '../../core/graph/methodology.js';
import { changedFeatures } from '../../core/graph/said-anew.js';
import { projectIdSchema } from '../../core/ids.js';
import { LIMITS_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../caller.js';
import { policyOf } from '../desk.js';
import type { Documents } from '../documents/documents.js';
import { type DocumentJob, type DocumentParcel, unpackList } from '../documents/job.js';
import type { JsonText } from '../documents/json-text.js';
import type { Environment } from '../environment.js';
import { inSlices } from '../in-slices.js';
import { type Configuration, ConfigureOperation, invalidMethodology } from '../operations/configure.js';
import { readBody } from '../operations/read.js';
import { SettingsOperation } from '../operations/settings.js';
import { isProblem, type Problem, problem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import { type Projects, reachable } from '../projects.js';
import { tenantFault } from '../scope.js';
import * as wire from '../wire.js';

/** How work is done: a project's policy and methodology, and the limits of its tenant. */
export class Settings {
  constructor(
    private readonly projects: Projects,
    private readonly documents: Documents,
    private readonly environment: Environment,
  ) {}

  getPolicy(scope: ProjectKey): Reply<Policy> {
    return this.projects.in(scope, async (project) => project.desk().policy);
  }

  async putPolicy(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<Policy> {
    const read = readBody(wire.policyBody, body);
    if (isProblem(read)) return read;
    const changed = (policy: Policy): Policy => policyWith(policy, read);
    return this.projects.in(scope, (project) =>
      project.run(
        new SettingsOperation(
          POLICY_SUBJECT,
          'POLICY_CHANGED',
          (desk) => changed(policyOf(desk.record(POLICY_SUBJECT))),
          caller,
          read,
        ),
        caller,
      ),
    );
  }

  async getLimits(tenant_id: string): Reply<Limits> {
    const fault = tenantFault(tenant_id);
    if (fault !== null) return fault;
    return reachable(async () => {
      const tenant = await this.projects.tenant(tenant_id);
      await tenant.project.follow();
      return tenant.currentLimits();
    });
  }

  async putLimits(tenant_id: string, body: unknown, caller = OPEN_CALLER): Reply<Limits> {
    const read = readBody(wire.limitsBody, body);
    if (isProblem(read)) return read;
    const fault = tenantFault(tenant_id);
    if (fault !== null) return fault;
    const { request_id: _, signature: __, ...change } = read;
    return reachable(async () => {
      const tenant = await this.projects.tenant(tenant_id);
      const changed = (): Limits => ({ ...tenant.currentLimits(), ...change }) as Limits;
      const operation = new SettingsOperation(LIMITS_SUBJECT, 'LIMITS_CHANGED', changed, caller, read);
      return tenant.project.run(operation, caller);
    });
  }

  /** Takes the files of a workspace as what the project says of how it works. */
  async configure(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ConfigureResult> {
    const read = readBody(wire.configureBody, body);
    if (isProblem(read)) return read;
    const { files, request_id } = read;
    return this.configureBy(
      scope,
      { kind: 'methodology', files: Object.entries(files) },
      { request_id },
      caller,
    );
  }

  /** The same of a whole body that is still text, and names its project. */
  async configureText(tenant_id: string, body: JsonText, caller = OPEN_CALLER): Reply<wire.ConfigureResult> {
    const parcel = await this.documents.read(tenant_id, { kind: 'files', text: body.text });
    if (isProblem(parcel)) return parcel;
    if (parcel.kind === 'malformed') return malformed(parcel.fault);
    const read = readBody(besideFiles, parcel.beside);
    if (isProblem(read)) return read;
    const { project_id, request_id } = read;
    if (request_id !== undefined) body.request_id = request_id;
    return this.take({ tenant_id, project_id }, parcel, { request_id }, caller);
  }

  private async configureBy(
    scope: ProjectKey,
    job: DocumentJob,
    named: { request_id: string | undefined },
    caller: Caller,
  ): Reply<wire.ConfigureResult> {
    const parcel = await this.documents.read(scope.tenant_id, job);
    return isProblem(parcel) ? parcel : this.take(scope, parcel, named, caller);
  }

  private async take(
    scope: ProjectKey,
    parcel: DocumentParcel,
    { request_id }: { request_id: string | undefined },
    caller: Caller,
  ): Reply<wire.ConfigureResult> {
    if (parcel.kind === 'methodology_faults') return invalidMethodology(parcel.faults);
    if (parcel.kind !== 'methodology') throw new Error(`files were read as ${parcel.kind}`);
    const { methodology, warnings, digest } = parcel;
    const features = await inSlices(unpackList<FeatureVector>(parcel.pieces), this.environment);
    return this.projects.in(scope, async (project) => {
      const changed = await inSlices(changedFeatures(features, project.desk()), this.environment);
      const asked = { methodology, warnings, feature_count: features.length, changed, request_id, digest };
      return configureIn(project, asked, caller);
    });
  }
}

const malformed = (fault: string): Problem =>
  problem('INVALID_REQUEST', `body: ${fault}`, [{ path: '', message: fault }]);

const besideFiles = wire.configureBody.omit({ files: true }).extend({ project_id: projectIdSchema });

function policyWith(policy: Policy, said: wire.PolicyBody): Policy {
  const { request_id: _, signature: __, stale_policy, ...rest } = said;
  const both = typeof stale_policy === 'string' ? { task: stale_policy, edge: stale_policy } : stale_policy;
  return { ...policy, ...rest, stale_policy: { ...policy.stale_policy, ...both } } as Policy;
}

/** As many features as a unit takes, and then the next, until all is written. */
async function configureIn(
  project: Project,
  asked: Configuration,
  caller: Caller,
): Reply<wire.ConfigureResult> {
  let changed = 0;
  for (let part = 0; ; part += 1) {
    const request_id = part === 0 || !asked.request_id ? asked.request_id : `${asked.request_id}~${part}`;
    const step = await project.run(new ConfigureOperation({ ...asked, request_id }, caller), caller);
    if (isProblem(step)) return step;
    const { left, ...done } = step;
    changed += done.features_changed;
    if (left > 0) continue;
    const reason = part > 0 ? 'CONFIGURED' : done.reason;
    return { ...done, reason, features_changed: changed };
  }
}
