import type { Genesis } from '../../client/index.js';
import { isProblem } from '../../client/replies.js';
import type { EvidencePolicy } from '../../core/contract/values.js';
import { NO_COST } from '../../core/engine/check-outcome.js';
import { type EdgePlan, edgePlan } from '../../core/engine/edge-plan.js';
import { escalateIfChecksChanged } from '../../core/engine/guarded-check-files.js';
import { checkAuthority } from '../../core/methodology/definition/authority.js';
import { projectChecks } from '../../core/methodology/definition/checklist.js';
import { checksOfDefaultProfileOnly } from '../../core/methodology/definition/default-profile-checks.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import type { Feature, Methodology } from '../../core/methodology/definition/methodology.js';
import { newFeature } from '../../core/methodology/definition/new-feature.js';
import { parseMethodology } from '../../core/methodology/definition/read-methodology.js';
import type { ExecuteCheck } from '../../engine/checks/check-execution.js';
import { openConstructor } from '../../engine/constructors/open-constructor.js';
import { contextQuery, contextTexts } from '../../engine/context/context-texts.js';
import { loadContext } from '../../engine/context/load-context.js';
import type { EdgeCoordination } from '../../engine/coordination.js';
import { engineError } from '../../engine/engine-error.js';
import { openEvaluator } from '../../engine/evaluators/open-evaluator.js';
import type { EngineServices } from '../../engine/handlers/services.js';
import { readWorkspaceFiles } from '../../workspace/read-files.js';
import { findContextFiles } from '../../workspace/scan/context-files.js';
import type { Workspace } from '../../workspace/workspace.js';
import { CommandFailure, wrongUsage } from '../exit.js';
import { earlierAttemptTexts } from './earlier-attempts.js';
import { evidenceChanges } from './evidence-changes.js';
import { fetchEvents } from './fetch-events.js';
import { remoteBlobs } from './remote-blobs.js';
import { workspaceCandidateFiles } from './workspace-candidate-files.js';

interface ServiceOptions {
  readonly workspace: Workspace;
  readonly genesis: Genesis;
  readonly agent_id: string;
  readonly agent_role: string | null;
  readonly feature_id: string;
  readonly edge: string;
  /** Used only by `authorityOf`. `readPlan` reads the configuration again. */
  readonly methodology: Methodology;
  readonly feature: Feature;
  readonly runCheck: ExecuteCheck;
  /** Rejects if a person has not confirmed the commands of the constructor and the evaluator. */
  readonly assertConfirmed: (plan: EdgePlan) => Promise<void>;
  readonly env: NodeJS.ProcessEnv;
}

/** The engine in a workspace: its configuration, its drafts, and the coordinator that serves it. */
export function workspaceServices(options: ServiceOptions): EngineServices {
  const { workspace, genesis, agent_id, agent_role, feature_id, edge, methodology, feature, runCheck, env } =
    options;
  const { assertConfirmed } = options;
  const task_id = edgeSubject(feature_id, edge);
  const blobs = remoteBlobs(genesis);
  const agentOptions = { folder: workspace.root, env };
  return {
    coordination: coordinationOf(genesis),
    blobs,
    files: workspaceCandidateFiles(workspace, genesis, blobs, { agent_id, task_id }),
    async readPlan(feature, edgeName) {
      const current = await readConfiguration(workspace, genesis, feature);
      return edgePlan(current.methodology, current.feature, edgeName, await evidencePolicy(genesis));
    },
    async loadContext({ context, settings }) {
      const { files, missing_required } = findContextFiles(workspace, context);
      return loadContext({
        files,
        missing_required,
        rag_threshold_bytes: settings.context?.rag_threshold_bytes,
      });
    },
    contextTexts: async (manifest, plan) => contextTexts(manifest, contextQuery(plan, feature.title)),
    earlierAttemptTexts: (subject) => earlierAttemptTexts(genesis, blobs, subject),
    async openConstructor(plan) {
      if (plan.construct === null)
        throw engineError(
          'failed',
          `${plan.edge} has no constructor. Set construct in engine.yml or in the file of the edge.`,
        );
      await assertConfirmed(plan);
      return openConstructor(plan.construct, agentOptions);
    },
    async openEvaluator(plan) {
      await assertConfirmed(plan);
      return plan.evaluate === null ? null : openEvaluator(plan.evaluate, agentOptions);
    },
    runCheck,
    spentSoFar: (feature) => spentSoFar(genesis, feature),
    authorityOf({ edge, evidence, checks }, files) {
      const paths = files.map(({ path }) => path);
      const authority = checkAuthority(methodology, { edge, agent_role, files: paths, is_human: false });
      if (evidence !== 'verified') return authority;
      const guards = [...checks, ...projectChecks(methodology)];
      return escalateIfChecksChanged(
        authority,
        files,
        guards,
        checksOfDefaultProfileOnly(methodology, feature, edge),
      );
    },
    agent_id,
    now: () => performance.now() + performance.timeOrigin,
  };
}

/** The policy `evidence` of the project: whether reports or runners decide its deterministic checks. */
export async function evidencePolicy(genesis: Pick<Genesis, 'policy'>): Promise<EvidencePolicy> {
  const policy = await genesis.policy();
  if (isProblem(policy)) throw engineError('unavailable', policy.detail);
  return policy.evidence;
}

interface Configuration {
  readonly methodology: Methodology;
  readonly feature: Feature;
}

/**
 * The configuration files of the workspace, and the features that only the log has, such as spawned ones. Refuses files with
 * a fault that a run must not ignore.
 */
export async function readProject(workspace: Workspace, genesis: Pick<Genesis, 'events'>) {
  const { methodology, features } = await readProjectFiles(workspace);
  const configuredIds = new Set(features.map(({ feature_id }) => feature_id));
  const recorded = await recordedFeatures(genesis);
  return {
    methodology,
    features: [...features, ...recorded.filter((one) => !configuredIds.has(one.feature_id))],
  };
}

/** The features in the log: the last record of each. */
async function recordedFeatures(genesis: Pick<Genesis, 'events'>): Promise<Feature[]> {
  const events = await fetchEvents(genesis, { type: 'FEATURE_CHANGED' });
  const records = events.map(({ payload }) => payload.record as Feature | undefined);
  return [...new Map(records.flatMap((one) => (one === undefined ? [] : [[one.feature_id, one]]))).values()];
}

async function readProjectFiles(workspace: Workspace) {
  const { files, unreadable } = await readWorkspaceFiles(workspace);
  const parsed = parseMethodology(files, unreadable);
  if (!parsed.ok) {
    const [fault] = parsed.faults;
    throw wrongUsage(
      `The configuration cannot be read: ${fault?.file}: ${fault?.message}. Correct it first.`,
    );
  }
  const engineFault = parsed.faults.find(({ file }) => /(^|\/)engine\.ya?ml$/.test(file));
  if (engineFault !== undefined)
    throw wrongUsage(
      `${engineFault.file}:${engineFault.line}:${engineFault.column}: ${engineFault.message} Correct the file first: without it a run has no budget.`,
    );
  return parsed;
}

/** The configuration of a feature. With `featureId` null, of an empty feature with the default profile. */
export async function readConfiguration(
  workspace: Workspace,
  genesis: Pick<Genesis, 'events'>,
  featureId: string | null,
): Promise<Configuration> {
  const { methodology, features } = await readProjectFiles(workspace);
  if (featureId === null)
    return {
      methodology,
      feature: newFeature({ feature_id: 'FEATURE', title: '', profile: methodology.default_profile }),
    };
  const isNamed = ({ feature_id }: Feature): boolean => feature_id === featureId;
  const feature = features.find(isNamed) ?? (await recordedFeatures(genesis)).find(isNamed);
  if (feature === undefined)
    throw new CommandFailure(
      `There is no feature ${featureId}. Create it: gen spawn --type feature --id ${featureId} --reason WHY. Or write .ai-workspace/features/active/${featureId}.yml.`,
    );
  return { methodology, feature };
}

function coordinationOf(genesis: Genesis): EdgeCoordination {
  return {
    claimTask: (body) => genesis.claimTask(body),
    renewLease: (body) => genesis.renewLease(body),
    releaseClaim: (body) => genesis.releaseClaim(body),
    suspendClaim: (body) => genesis.suspendClaim(body),
    appendEvent: (body) => genesis.appendEvent(body),
    submitResult: (body) => genesis.submitResult(body),
    proposeCandidate: (body) => genesis.proposeCandidate(body),
    explain: (subject) => genesis.explain(subject),
    evidenceChanges: (signal) => evidenceChanges(genesis, signal),
    eventsOf: (subject) => fetchEvents(genesis, { task_id: subject }),
  };
}

/** The cost of all runs, including runs that have not ended. */
async function spentSoFar(genesis: Pick<Genesis, 'methodology'>, featureId: string) {
  const reply = await genesis.methodology.spent({ feature: featureId });
  if (isProblem(reply)) throw engineError('unavailable', reply.detail);
  const { features, project, tenant } = reply.spent;
  return { feature: features[featureId] ?? NO_COST, project, tenant };
}
