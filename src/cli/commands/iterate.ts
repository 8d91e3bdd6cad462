import { compileMachine } from '../../core/engine/compile-machine.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { canonicalEdge } from '../../core/methodology/definition/edge-name.js';
import { unknownRoleText } from '../../core/methodology/definition/unknown-role.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import { isCoordinationFailure } from '../../engine/coordination.js';
import type { RunEnd } from '../../engine/runs/execute-run.js';
import { warnAboutChecklist } from '../check/left-out-checks.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { autoIterate } from '../engine/auto-iterate.js';
import { noConstructorText, readEdgePlan, runEdge } from '../engine/run-edge.js';
import { readConfiguration } from '../engine/workspace-services.js';
import { EXIT, failureWithCode, wrongUsage } from '../exit.js';
import { checklistText, reportStopped, showRun } from '../output/run.js';
import { reportRefusal } from '../replies.js';
import { abortOnStop } from '../stop.js';

export const iterateCommand = defineCommand('iterate [id]', {
  description: 'run an edge: construct a candidate, check it, converge or escalate',
  options: {
    '--auto': 'continue with the next edges until nothing is ready or a person is needed',
    '--loop': 'with --auto: continue with other edges if a person is needed, and wait if nothing is ready',
    '--role <role>': 'agent role to work in',
    '--dry-run': 'print the checklist and the state machine, and change nothing',
    '--unsandboxed': 'run checks without a sandbox',
    '--yes': 'confirm the commands of the constructor, the evaluator and the checks',
  },
  help: `
Commands of constructors, evaluators and checks come with the repository: each must be confirmed once, and again when it
changes. Until then nothing is run, and the exit code is 3.

An interrupted run resumes after its last completed step. If a person must decide, the exit code is 3: decide with
gen review, then run the command again.

With --auto the id is the first edge or a feature; without an id, all features are run. Requested runs come first, then
the recommendations of gen start. Edges without a constructor are skipped. gen iterate stops with exit code 3 at a review, an
escalation or an expired time box, and prints the command to run next; with 0 if nothing is ready; with 1 after
10,000 runs; with 130 after a signal such as Ctrl-C. With --loop it runs until a signal, and skips edges that cannot be
run; it ends earlier only if the server cannot be reached or the configuration cannot be read.

Examples:
  gen iterate REQ-F-AUTH-001#design_code
  gen iterate REQ-F-AUTH-001#design_code --dry-run
  gen iterate --auto REQ-F-AUTH-001
  gen iterate --auto --loop --role full_stack
  gen runs`,
  async run(context, id, options) {
    const { auto: isAuto = false, loop: isLoop = false, role: agent_role, dryRun } = options;
    const { unsandboxed: isUnsandboxed = false, yes: isConfirmed = false } = options;
    if (isLoop && !isAuto) throw wrongUsage('--loop requires --auto.');
    if (dryRun) {
      if (isAuto) throw wrongUsage('--dry-run shows one edge. Omit --auto, and pass FEATURE#EDGE.');
      return showMachine(context, edgeOf(id, ''));
    }
    if (agent_role !== undefined) await assertKnownRole(context, agent_role);
    const confirm = howToConfirm(context, id, { isAuto, isLoop, isUnsandboxed, agent_role });
    const runOptions = { agent_role, isUnsandboxed, isConfirmed, howToConfirm: confirm };
    const stop = abortOnStop(context.io);
    try {
      if (isAuto) {
        const scope = id === undefined ? { feature_id: null, edge: null } : scopeOf(id);
        return await autoIterate(context, { ...runOptions, ...scope, isLoop }, stop.signal);
      }
      const end = await runEdge(context, edgeOf(id), runOptions, stop.signal);
      if (stop.signal.aborted) reportStopped(context);
      else report(context, end);
    } finally {
      stop.end();
    }
  },
});

/** Refuses an unknown agent role before the run. No edge converges with such a role, which only the end of the run would report. */
async function assertKnownRole(context: CommandContext, agentRole: string): Promise<void> {
  const { methodology } = await readConfiguration(context.requireWorkspace(), await context.genesis(), null);
  const unknownText = unknownRoleText(methodology, agentRole);
  if (unknownText !== null) throw wrongUsage(unknownText);
}

/** The current command line with `--yes` added. */
function howToConfirm(
  context: CommandContext,
  id: string | undefined,
  options: { isAuto: boolean; isLoop: boolean; isUnsandboxed: boolean; agent_role: string | undefined },
): string {
  const { isAuto, isLoop, isUnsandboxed, agent_role } = options;
  const words = [
    ...(id === undefined ? [] : [id]),
    ...(isAuto ? ['--auto'] : []),
    ...(isLoop ? ['--loop'] : []),
    ...(agent_role === undefined ? [] : ['--role', agent_role]),
    ...(isUnsandboxed ? ['--unsandboxed'] : []),
  ];
  return `${genCommand('iterate', ...words, '--yes')}${context.repeatedOptions()}`;
}

interface EdgeName {
  readonly feature_id: string;
  readonly edge: string;
}

async function showMachine(context: CommandContext, edge: EdgeName): Promise<void> {
  const plan = await readEdgePlan(context, edge);
  const compiled = compileMachine(plan);
  const missing = plan.construct === null ? [noConstructorText(plan.edge)] : [];
  await warnAboutChecklist(context, edge);
  context.printReply({ checks: plan.checks, ...compiled }, () => [
    checklistText(plan.checks, compiled, context),
    ...missing,
    '',
    JSON.stringify(compiled.machine, null, 2),
  ]);
}

const scopeOf = (id: string): EdgeName | { feature_id: string; edge: null } =>
  subjectKindOf(id) === 'edge' ? edgeOf(id) : { feature_id: id, edge: null };

function edgeOf(id = '', alternative = ', or --auto'): EdgeName {
  const { feature_id, edge } = subjectKindOf(id) === 'edge' ? subjectKeys(id) : {};
  if (feature_id === undefined || edge === undefined)
    throw wrongUsage(
      `${id === '' ? 'No edge was given' : `${id} is not an edge`}. Pass FEATURE#EDGE, such as REQ-F-AUTH-001#design_code${alternative}.`,
    );
  return { feature_id, edge: canonicalEdge(edge) };
}

function report(context: CommandContext, end: RunEnd): void {
  if (end.status === 'REFUSED') {
    if (isCoordinationFailure(end.refusal)) throw failureWithCode(end.refusal.code, end.refusal.detail);
    reportRefusal(context, end.refusal);
    return;
  }
  if (end.status === 'CLAIM_LOST')
    throw failureWithCode('GENERATION_MISMATCH', `${end.says} The run was ended on this machine.`);
  const { run } = end;
  showRun(run, context);
  if (run.status === 'WAITING' || run.status === 'ESCALATED') context.exit_code = EXIT.human;
  else if (run.status !== 'CONVERGED') context.exit_code = EXIT.refused;
}
