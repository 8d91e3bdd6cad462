import { v7 as newUuid } from 'uuid';
import { compileMachine, planFault } from '../../core/engine/compile-machine.js';
import { edgePlan } from '../../core/engine/edge-plan.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { isUnanswered } from '../../engine/coordination.js';
import { executeRun, type RunEnd, type RunHost } from '../../engine/runs/execute-run.js';
import { openCheckRunner } from '../check/open-check-runner.js';
import { command } from '../command.js';
import type { CommandContext } from '../context.js';
import { readConfiguration, workspaceServices } from '../engine/workspace-services.js';
import { EXIT, failureWithCode, wrongUsage } from '../exit.js';
import { checklistText, runText } from '../output/run.js';
import { reportRefusal } from '../replies.js';
import { abortOnStop } from '../stop.js';

export const addIterate = command('iterate <id>', {
  description: 'run an edge: construct a candidate, check it, converge or escalate',
  options: {
    '--role <role>': 'agent role to work in',
    '--dry-run': 'print the checklist and the state machine, and change nothing',
    '--unsandboxed': 'run checks without a sandbox',
    '--yes': 'confirm the commands of the checks',
  },
  help: `
A run that was cut off goes on from its last completed step. If a person must decide, the exit code is 3: see gen review,
and run the command again after the decision.

Examples:
  gen iterate REQ-F-AUTH-001#design_code
  gen iterate REQ-F-AUTH-001#design_code --dry-run
  gen runs`,
  async run(context, id, { role, dryRun, unsandboxed: isUnsandboxed = false, yes: isConfirmed = false }) {
    const { feature_id, edge } = edgeOf(id);
    const workspace = context.requireWorkspace();
    const { methodology, vector } = await readConfiguration(workspace, feature_id);
    const plan = edgePlan(methodology, vector, edge);
    const fault = planFault(plan);
    if (fault !== null) throw wrongUsage(fault);
    if (dryRun) {
      const compiled = compileMachine(plan);
      return context.show({ checks: plan.checks, ...compiled }, () =>
        checklistText(plan.checks, compiled, context),
      );
    }
    if (plan.construct === null)
      throw wrongUsage(
        `${edge} has no constructor. Set construct in .ai-workspace/engine.yml or in the file of the edge.`,
      );
    const howToConfirm = `gen iterate '${id}' --yes${context.repeatedOptions()}`;
    const options = { isConfirmed, isUnsandboxed, howToConfirm };
    const runCheck = await openCheckRunner(context, workspace.root, plan.checks, options);
    const genesis = await context.genesis();
    const { tenant: tenant_id, project: project_id } = await context.target();
    const agent_id = (await context.fixedAgent()) ?? `engine-${context.io.user}`;
    const services = workspaceServices({
      ...{
        workspace,
        genesis,
        agent_id,
        feature_id,
        edge,
        methodology,
        title: vector.title,
        runCheck,
        env: context.io.env,
      },
      agent_role: role ?? null,
    });
    const stop = abortOnStop(context.io);
    try {
      const request = { tenant_id, project_id, feature_id, edge, ...withoutUndefined({ agent_role: role }) };
      report(context, await executeRun(request, services, hostOf(context), stop.signal));
    } finally {
      stop.end();
    }
  },
});

function edgeOf(id: string): { feature_id: string; edge: string } {
  const { feature_id, edge } = subjectKindOf(id) === 'edge' ? subjectKeys(id) : {};
  if (feature_id === undefined || edge === undefined)
    throw wrongUsage(
      `${id} is not an edge of a feature. Pass FEATURE#EDGE, such as REQ-F-AUTH-001#design_code.`,
    );
  return { feature_id, edge: canonicalEdge(edge) };
}

/** Prints each state as it is entered. */
function hostOf(context: CommandContext): RunHost {
  return {
    newRunId: () => newUuid(),
    random: Math.random,
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
    onStart: ({ run_id, generation }) => context.printNotice(`Run ${run_id}, generation ${generation}`),
    onState: (state) => context.printNotice(`  ${state}`),
  };
}

function report(context: CommandContext, end: RunEnd): void {
  if (end.status === 'REFUSED') {
    if (isUnanswered(end.refusal)) throw failureWithCode(end.refusal.code, end.refusal.detail);
    reportRefusal(context, end.refusal);
    return;
  }
  if (end.status === 'CLAIM_LOST')
    throw failureWithCode('GENERATION_MISMATCH', `${end.says} This run has ended here.`);
  const { run } = end;
  context.show(run, () => runText(run, context));
  if (run.status === 'WAITING' || run.status === 'ESCALATED') context.exit_code = EXIT.human;
  else if (run.status !== 'CONVERGED') context.exit_code = EXIT.refused;
}
