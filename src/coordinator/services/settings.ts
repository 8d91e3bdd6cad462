import { canonicalJson } from '../../core/canonical-json.js';
import type { Limits, Policy } from '../../core/claims/policy.js';
import { LIMITS_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../caller.js';
import { policyOf } from '../desk.js';
import type { Environment } from '../environment.js';
import { sha256Hex } from '../identity.js';
import { ReadingInTurn } from '../methodology/reading-in-turn.js';
import { type Configuration, ConfigureOperation, invalidMethodology } from '../operations/configure.js';
import { readBody } from '../operations/read.js';
import { SettingsOperation } from '../operations/settings.js';
import { isProblem, type Reply } from '../problem.js';
import type { Project } from '../project.js';
import { type Projects, reachable } from '../projects.js';
import { tenantFault } from '../scope.js';
import * as wire from '../wire.js';

/** How work is done: a project's policy and methodology, and the limits of its tenant. */
export class Settings {
  private readonly readings: ReadingInTurn;

  constructor(
    private readonly projects: Projects,
    environment: Environment,
  ) {
    this.readings = new ReadingInTurn(environment);
  }

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
      return tenant.project.run(operation);
    });
  }

  /** Takes the files of a workspace as what the project says of how it works. */
  async configure(scope: ProjectKey, body: unknown, caller = OPEN_CALLER): Reply<wire.ConfigureResult> {
    const read = readBody(wire.configureBody, body);
    if (isProblem(read)) return read;
    const { files, request_id } = read;
    const reading = await this.readings.read(new Map(Object.entries(files)));
    if (!reading.ok) return invalidMethodology(reading.faults);
    const asked = { reading, request_id, digest: sha256Hex(canonicalJson(files)) };
    return this.projects.in(scope, (project) => configureIn(project, asked, caller));
  }
}

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
    const step = await project.run(new ConfigureOperation({ ...asked, request_id }, caller));
    if (isProblem(step)) return step;
    const { left, ...done } = step;
    changed += done.features_changed;
    if (left > 0) continue;
    const reason = part > 0 ? 'CONFIGURED' : done.reason;
    return { ...done, reason, features_changed: changed };
  }
}
