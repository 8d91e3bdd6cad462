import { subjectKindOf } from '../../core/subject.js';
import { lineageTable } from '../../core/views/index.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { showClaimReply } from '../claim-output.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { AT_OPTION, LEASE_OPTION, parseWholeNumber } from '../option-parsers.js';
import { explanationLines } from '../output/explanation.js';
import { lineageText } from '../output/lineage.js';
import { expiredText } from '../output/overview.js';
import { taskText } from '../output/task.js';
import { formatUtc } from '../output/text.js';
import { reportRefusal, unwrapReply } from '../replies.js';
import { claimInSession } from '../signing.js';
import { noteCommand, releaseClaimCommand, renewCommand } from './holder.js';
import { operatorCommands } from './operate.js';
import { proposeCommand } from './propose.js';
import { refreshDraftsCommand } from './refresh-drafts.js';
import { submitCommand } from './submit.js';
import { taskAddCommand } from './task-add.js';
import { taskProofCommand } from './task-proof.js';
import { taskResultCommands } from './task-result.js';

const claim = defineCommand('claim <id>', {
  description: 'claim a task or an edge',
  options: { ...LEASE_OPTION, '--role <role>': 'agent role to work in' },
  help: `
If this session holds the task already, the reply is the same claim, with its handle.
An edge of a feature is named FEATURE#EDGE. In a workspace the reply names the folder to write to and the checks of the
edge. In single-agent mode the agent is primary, has the role full_stack, and needs no lease.

Examples:
  gen task claim A-001-schema --lease 10m
  gen task claim REQ-F-AUTH-001#design_code --role architect`,
  async run(context, task_id, { lease: lease_duration_seconds, role: agent_role }) {
    const genesis = await context.genesis();
    const agent_id = await context.agent();
    const with_briefing = subjectKindOf(task_id) === 'edge' ? undefined : true;
    const optionalFields = withoutUndefined({ lease_duration_seconds, agent_role, with_briefing });
    const reply = unwrapReply(
      await claimInSession(context, (session_id) =>
        genesis.claimTask({ task_id, agent_id, session_id, resume: true, ...optionalFields }),
      ),
    );
    if (reply.success || reply.current_holder !== agent_id) return showClaimReply(context, reply);
    reportRefusal(context, reply, await ownClaimText(context, task_id));
  },
});

async function ownClaimText(context: CommandContext, taskId: string): Promise<string> {
  const genesis = await context.genesis();
  const { claim, generation } = unwrapReply(await genesis.task(taskId));
  const { expires_at = null, session_id = '' } = claim ?? {};
  const until = expires_at === null ? '' : `, until ${formatUtc(expires_at)} UTC`;
  const where = session_id === (await context.session()) ? '' : `, in session ${session_id}`;
  return `you hold it (generation ${generation}${until}${where}).`;
}

const show = defineCommand('show <id>', {
  description: 'show the state',
  options: AT_OPTION,
  async run(context, taskId, { at }) {
    const genesis = await context.genesis();
    const atQuery = withoutUndefined({ at });
    const state = unwrapReply(await genesis.task(taskId, atQuery));
    if (context.is_json) return context.printJson(state);
    const lineage = unwrapReply(await genesis.history(taskId, atQuery));
    context.print(taskText(state, lineage, context));
  },
});

const history = defineCommand('history <id>', {
  description: 'show the lineage: every generation, its holder and its outcome',
  options: AT_OPTION,
  async run(context, taskId, { at }) {
    const lineage = unwrapReply(await (await context.genesis()).history(taskId, withoutUndefined({ at })));
    context.printReply(lineage, () => lineageText(lineage, lineageTable(lineage), context));
  },
});

const explain = defineCommand('explain <id>', {
  description: 'explain why a task can or cannot be claimed, and tell its holder what to do next',
  async run(context, taskId) {
    const genesis = await context.genesis();
    const explanation = unwrapReply(await genesis.explain(taskId, await context.session()));
    context.printReply(explanation, () => explanationLines(explanation, context.paint));
  },
});

const expired = defineCommand('expired', {
  description: 'list expired claims whose work was not claimed again',
  options: {
    '--before <time>': 'only leases that ended before this time (ISO-8601; default: now)',
    '--after <id>': 'continue after this task of an earlier reply',
    '--limit <n>': { about: 'maximum number of claims (default: 1000)', parse: parseWholeNumber },
    ...AT_OPTION,
  },
  help: '\nExamples:\n  gen task expired\n  gen task expired --before 2026-01-31T12:00:00Z --json',
  async run(context, options) {
    const genesis = await context.genesis();
    const reply = unwrapReply(await genesis.expiredClaims(withoutUndefined(options)));
    context.printReply(reply, ({ claims, next }) => expiredText(claims, next, context));
  },
});

export const taskCommand = defineCommand('task', {
  description: 'claim, submit, inspect and manage a task',
  subcommands: [
    claim,
    renewCommand,
    releaseClaimCommand,
    noteCommand,
    refreshDraftsCommand,
    proposeCommand,
    submitCommand,
    show,
    history,
    explain,
    expired,
    taskResultCommands,
    taskProofCommand,
    taskAddCommand,
    operatorCommands,
  ],
});
