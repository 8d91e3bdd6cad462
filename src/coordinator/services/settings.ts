import { changedPolicy, isTrackCountAllowed, type Limits, type Policy } from '../../core/claims/policy.js';
import { type ConfigureResult, configureBody } from '../../core/contract/configuration.js';
import { limitsBody, policyBody } from '../../core/contract/settings.js';
import { projectIdSchema } from '../../core/ids.js';
import { changedFeatures } from '../../core/methodology/definition/config-diff.js';
import type { Feature } from '../../core/methodology/definition/methodology.js';
import { LIMITED_TRACKS_MAX } from '../../core/plan/index.js';
import { LIMITS_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { ProjectKey } from '../../stores/store.js';
import { type Caller, OPEN_CALLER } from '../authentication/caller.js';
import { type DocumentReader, malformedProblem } from '../documents/documents.js';
import { listFromChunks, type ParsedDocument } from '../documents/job.js';
import type { UnparsedJson } from '../documents/unparsed-json.js';
import {
  type ConfigureRequest,
  configureOperation,
  invalidMethodologyProblem,
} from '../operations/configure.js';
import { parseBody } from '../operations/parse-body.js';
import { changeSettings } from '../operations/settings.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Project } from '../queue/project.js';
import type { Projects } from '../queue/projects.js';
import { policyFromRecord } from '../queue/rules-cache.js';
import type { Environment } from '../runtime/environment.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, catchStoreErrors, fieldProblem, isProblem } from '../wire/problem.js';
import { tenantProblem } from '../wire/project-key.js';

/** A project's policy and methodology, and its tenant's limits. */
export class SettingsService {
  constructor(
    private readonly projects: Projects,
    private readonly documentReader: DocumentReader,
    private readonly environment: Environment,
  ) {}

  getPolicy(projectKey: ProjectKey): AsyncReply<Policy> {
    return this.projects.withProject(projectKey, (project) =>
      project.readDurable(async () => project.view().policy),
    );
  }

  async putPolicy(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<Policy> {
    const fields = parseBody(policyBody, body);
    if (isProblem(fields)) return fields;
    const { request_id: _, signature: __, ...change } = fields;
    const changedSettings = (view: DecisionView) => {
      const settings = changedPolicy(policyFromRecord(view.record(POLICY_SUBJECT)), change);
      return isTrackCountAllowed(settings) ? { record: settings, settings } : tooManyTracksProblem();
    };
    const operation = changeSettings(POLICY_SUBJECT, 'POLICY_CHANGED', changedSettings, caller, fields);
    return this.projects.withProject(projectKey, (project) => project.run(operation, caller));
  }

  async getLimits(tenantId: string): AsyncReply<Limits> {
    const problem = tenantProblem(tenantId);
    if (problem !== null) return problem;
    return catchStoreErrors(async () => {
      const tenant = await this.projects.keepTenantLimits(tenantId);
      await tenant.project.refresh();
      return tenant.currentLimits();
    });
  }

  async putLimits(tenantId: string, body: unknown, caller = OPEN_CALLER): AsyncReply<Limits> {
    const fields = parseBody(limitsBody, body);
    if (isProblem(fields)) return fields;
    const problem = tenantProblem(tenantId);
    if (problem !== null) return problem;
    const { request_id: _, signature: __, ...change } = fields;
    return catchStoreErrors(async () => {
      const tenant = await this.projects.keepTenantLimits(tenantId);
      // Only values that were set are recorded, so that the others follow the defaults of the server.
      const changedSettings = () => {
        const record = { ...tenant.changedLimits(), ...withoutUndefined(change) };
        return { record, settings: { ...tenant.currentLimits(), ...record } };
      };
      const operation = changeSettings(LIMITS_SUBJECT, 'LIMITS_CHANGED', changedSettings, caller, fields);
      return tenant.project.run(operation, caller);
    });
  }

  /** Configures the project from the files of its workspace. */
  async configure(projectKey: ProjectKey, body: unknown, caller = OPEN_CALLER): AsyncReply<ConfigureResult> {
    const fields = parseBody(configureBody, body);
    if (isProblem(fields)) return fields;
    const { files, unreadable = {}, request_id } = fields;
    const job = {
      kind: 'methodology',
      files: Object.entries(files),
      unreadable: Object.entries(unreadable),
    } as const;
    const document = await this.documentReader.read(projectKey.tenant_id, job);
    return isProblem(document) ? document : this.applyDocument(projectKey, document, request_id, caller);
  }

  /** Configures a project from the unparsed text of a request body, which also names the project. */
  async configureText(
    tenant_id: string,
    body: UnparsedJson,
    caller = OPEN_CALLER,
  ): AsyncReply<ConfigureResult> {
    const document = await this.documentReader.read(tenant_id, { kind: 'files', text: body.text });
    if (isProblem(document)) return document;
    if (document.kind === 'malformed') return malformedProblem(document.fault);
    const fields = parseBody(configureExtraFields, document.extraFields);
    if (isProblem(fields)) return fields;
    const { project_id, request_id } = fields;
    if (request_id !== undefined) body.request_id = request_id;
    return this.applyDocument({ tenant_id, project_id }, document, request_id, caller);
  }

  private async applyDocument(
    projectKey: ProjectKey,
    document: ParsedDocument,
    request_id: string | undefined,
    caller: Caller,
  ): AsyncReply<ConfigureResult> {
    if (document.kind === 'methodology_faults') return invalidMethodologyProblem(document.faults);
    if (document.kind !== 'methodology') throw new Error(`expected a methodology, got ${document.kind}`);
    const { methodology, warnings, faults, requestDigest } = document;
    const features = await runInSlices(listFromChunks<Feature>(document.chunks), this.environment);
    return this.projects.withProjectOrCreate(projectKey, async (project) => {
      const changed = await runInSlices(changedFeatures(features, project.view()), this.environment);
      const fields = {
        methodology,
        warnings,
        faults,
        feature_count: features.length,
        request_id,
        requestDigest,
      };
      return configureInParts(project, { ...fields, changed }, caller);
    });
  }
}

const configureExtraFields = configureBody
  .omit({ files: true, unreadable: true })
  .extend({ project_id: projectIdSchema });

const tooManyTracksProblem = () =>
  fieldProblem(
    'max_agents_per_track',
    `expected at most ${LIMITED_TRACKS_MAX} tracks with a value. Remove one: set it to null.`,
  );

/** Writes the features in transactions of limited size until all are written. */
async function configureInParts(
  project: Project,
  configuration: ConfigureRequest,
  caller: Caller,
): AsyncReply<ConfigureResult> {
  let changed = 0;
  for (let part = 0; ; part += 1) {
    const isFirst = part === 0 || !configuration.request_id;
    const request_id = isFirst ? configuration.request_id : `${configuration.request_id}~${part}`;
    const step = await project.run(configureOperation({ ...configuration, request_id }, caller), caller);
    if (isProblem(step)) return step;
    const { left, ...result } = step;
    changed += result.features_changed;
    if (left > 0) continue;
    const reason = part > 0 ? 'CONFIGURED' : result.reason;
    return { ...result, reason, features_changed: changed };
  }
}
