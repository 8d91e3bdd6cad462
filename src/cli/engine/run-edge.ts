import type { Genesis } from '../../client/index.js';
import { didYouMean } from '../../core/closest-names.js';
import { planFault } from '../../core/engine/compile-machine.js';
import {
  checksWithoutEvaluator,
  type EdgePlan,
  edgePlan,
  nonConvergingPlanFault,
} from '../../core/engine/edge-plan.js';
import { reviewToDecide } from '../../core/engine/review-to-decide.js';
import { edgeSubject } from '../../core/methodology/definition/edge-name.js';
import { profileOf } from '../../core/methodology/definition/profile.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { ExecuteCheck } from '../../engine/checks/check-execution.js';
import { executeRun, type RunEnd, type RunHost } from '../../engine/runs/execute-run.js';
import { processTimer } from '../../engine/runs/keep-claim.js';
import { derivedRunId } from '../../engine/runs/run-events.js';
import { agentCommands, assertConfirmed } from '../check/agent-commands.js';
import { checkCommands, confirmCommands } from '../check/confirmed-commands.js';
import { type CheckExecutionOptions, openCheckExecution } from '../check/open-check-execution.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode, wrongUsage } from '../exit.js';
import { unwrapReply } from '../replies.js';
import { cliFolder } from '../state/cli-folder.js';
import { lockEdge } from './edge-lock.js';
import { observeRun } from './live-run.js';
import { evidencePolicy, readConfiguration, workspaceServices } from './workspace-services.js';

export interface RunEdgeOptions {
  readonly agent_role: string | undefined;
  readonly isUnsandboxed: boolean;
  readonly isConfirmed: boolean;
  /** The current command line with `--yes` added. */
  readonly howToConfirm: string;
}

/** The name under which this command claims edges. */
export const executorName = async (context: CommandContext): Promise<string> =>
  (await context.fixedAgent()) ?? `engine-${context.io.user}`;

export const noConstructorText = (edge: string): string =>
  `${edge} has no constructor. Set construct in .ai-workspace/engine.yml or in the file of the edge.`;

/** The refusal of agent checks without an evaluator: no candidate could pass them, so no agent is started. */
const noEvaluatorText = (edge: string, names: readonly string[]): string =>
  `${edge} has agent checks (${names.join(', ')}), but no evaluator. Set evaluate in .ai-workspace/engine.yml or in the file of the edge, or make the checks deterministic.`;

export async function readEdgePlan(
  context: CommandContext,
  { feature_id, edge }: { readonly feature_id: string; readonly edge: string },
): Promise<EdgePlan> {
  const genesis = await context.genesis();
  const { methodology, feature } = await readConfiguration(context.requireWorkspace(), genesis, feature_id);
  const edges = methodology.topology.transitions.map((transition) => transition.edge);
  if (!edges.includes(edge))
    throw new CommandFailure(`The graph has no edge ${edge}.${didYouMean(edge, edges)} Its edges: gen zoom`);
  const plan = edgePlan(methodology, feature, edge, await evidencePolicy(genesis));
  const fault = planFault(plan);
  if (fault !== null) throw wrongUsage(fault);
  return plan;
}

/** Runs an edge of the workspace and shows the run. A stopped run ends as `WAITING` and can continue later. */
export async function runEdge(
  context: CommandContext,
  { feature_id, edge }: { readonly feature_id: string; readonly edge: string },
  { agent_role, isUnsandboxed, isConfirmed, howToConfirm }: RunEdgeOptions,
  signal: AbortSignal,
): Promise<RunEnd> {
  const workspace = context.requireWorkspace();
  const genesis = await context.genesis();
  const { methodology, feature } = await readConfiguration(workspace, genesis, feature_id);
  const plan = await readEdgePlan(context, { feature_id, edge });
  if (plan.construct === null) throw wrongUsage(noConstructorText(edge));
  const fault = nonConvergingPlanFault(plan, profileOf(methodology, feature).name);
  if (fault !== null) throw new CommandFailure(fault);
  const unjudged = checksWithoutEvaluator(plan);
  if (unjudged.length > 0) throw wrongUsage(noEvaluatorText(edge, unjudged));
  await assertNotInReview(genesis, { feature_id, edge });
  const options = { isConfirmed, isUnsandboxed, howToConfirm };
  const runCheck = await openCheckExecutionFor(context, workspace.root, plan, options);
  const { tenant: tenant_id, project: project_id } = await context.target();
  const agent_id = await executorName(context);
  const services = workspaceServices({
    workspace,
    genesis,
    agent_id,
    agent_role: agent_role ?? null,
    assertConfirmed: (pinned) =>
      assertConfirmed(context, workspace.root, edgeSubject(feature_id, edge), agentCommands(pinned)),
    ...{ feature_id, edge, methodology, feature, runCheck, env: context.io.env },
  });
  const lock = await lockEdge(cliFolder(context.io), agent_id, edgeSubject(feature_id, edge));
  const observer = observeRun(context, plan);
  let ended: RunEnd | null = null;
  try {
    const request = { tenant_id, project_id, feature_id, edge, ...withoutUndefined({ agent_role }) };
    ended = await executeRun(request, services, { ...HOST, ...observer }, signal);
    return ended;
  } finally {
    observer.end(signal.aborted ? null : ended);
    await lock.release();
  }
}

/** Refuses an edge that waits for a review: its next candidate could not be submitted, so no constructor is started. */
async function assertNotInReview(
  { methodology }: Pick<Genesis, 'methodology'>,
  { feature_id, edge }: { readonly feature_id: string; readonly edge: string },
): Promise<void> {
  const subject = edgeSubject(feature_id, edge);
  const { reviews } = unwrapReply(await methodology.reviews());
  const { runs } = unwrapReply(await methodology.runs({ feature: feature_id, status: 'WAITING' }));
  const review = reviewToDecide(reviews, runs, subject);
  if (review !== undefined)
    throw failureWithCode('ESCALATED', `${subject} waits for a review. Decide first: ${review.next}`);
}

/** Has a person confirm all commands that the run starts on this machine, and opens the executor of the checks. */
async function openCheckExecutionFor(
  context: CommandContext,
  root: string,
  plan: EdgePlan,
  options: CheckExecutionOptions,
): Promise<ExecuteCheck> {
  const agents = agentCommands(plan);
  if (plan.evidence === 'verified') {
    await confirmCommands(context, root, agents, options);
    return refuseLocalChecks;
  }
  const runCheck = await openCheckExecution(
    context,
    root,
    [...agents, ...checkCommands(plan.checks)],
    options,
  );
  const subject = edgeSubject(plan.feature_id, plan.edge);
  return async (run) => {
    // A resumed run has the checks of the plan that it began with.
    await assertConfirmed(context, root, subject, checkCommands([run.check]));
    return runCheck(run);
  };
}

/** Under `evidence: verified` only runners run deterministic checks, so these need no confirmation and no sandbox here. */
const refuseLocalChecks: ExecuteCheck = async ({ check }) => {
  throw new Error(`${check.name} must be run by a runner (policy \`evidence: verified\`)`);
};

const HOST: RunHost = {
  newRunId: derivedRunId,
  random: Math.random,
  setTimer: processTimer,
  sleep: (seconds, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, seconds * 1000);
      signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer);
          reject(signal.reason);
        },
        { once: true },
      );
    }),
};
