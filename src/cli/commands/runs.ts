import type { RunSummary } from '../../core/contract/runs.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { subjectKeys } from '../../core/subject.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { defineCommand } from '../command.js';
import type { CommandContext } from '../context.js';
import { failureWithCode, wrongUsage } from '../exit.js';
import { costText, runStatusLine, runText } from '../output/run.js';
import { reportRefusal, showDecision, unwrapReply } from '../replies.js';

const show = defineCommand('show <id>', {
  description: 'show a run: its states, times, inputs and outputs, failures first, and its cost',
  help: `
Examples:
  gen runs show 0199c1de`,
  async run(context, id) {
    const { methodology } = await context.genesis();
    const { run_id } = await findRun(context, id);
    const { run, omitted_steps } = unwrapReply(await methodology.run(run_id));
    context.printReply(run, () => runText(run, context));
    if (omitted_steps > 0)
      context.printNotice(`The oldest ${omitted_steps} steps are omitted. See gen events.`);
  },
});

const cancel = defineCommand('cancel <id>', {
  description: 'cancel a run; its executor loses the claim of the edge',
  options: { '--comment <text>': 'why the run is cancelled' },
  help: `
Needs the credential of an admin. What the run has already recorded stays in the log.

Examples:
  gen runs cancel 0199c1de --comment "wrong budget"`,
  async run(context, id, { comment }) {
    const { methodology } = await context.genesis();
    const { run_id } = await findRun(context, id);
    const reply = unwrapReply(await methodology.cancelRun(run_id, withoutUndefined({ comment })));
    showDecision(context, reply, () => `Run ${run_id} is cancelled.`);
  },
});

const retry = defineCommand('retry <id>', {
  description: 'request a new run of the edge, which begins with the findings of this run',
  options: { '--role <role>': 'agent role to work in' },
  help: `
The run must have ended without convergence. Execute the new run with gen iterate.

Examples:
  gen runs retry 0199c1de
  gen iterate REQ-F-AUTH-001#design_code`,
  async run(context, id, { role: agent_role }) {
    const { methodology } = await context.genesis();
    const { run_id, task_id } = await findRun(context, id);
    const { feature_id = '', edge = '' } = subjectKeys(task_id);
    const request = { feature_id, edge, retry_of: run_id, ...withoutUndefined({ agent_role }) };
    const reply = unwrapReply(await methodology.requestRun(request));
    if (!reply.success) {
      if (reply.reason === 'UNKNOWN_ROLE') throw wrongUsage(reply.next);
      return reportRefusal(context, reply);
    }
    if (reply.reason === 'DRY_RUN') return;
    const { reviews } = unwrapReply(await methodology.reviews());
    const review = reviews.find((pending) => pending.task_id === task_id);
    const withRole = agent_role === undefined ? [] : ['--role', agent_role];
    context.printReply(reply, ({ run, reason }) => [
      reason === 'REQUESTED' ? `Run ${run.run_id} is requested.` : `Run ${run.run_id} is under way already.`,
      ...(review === undefined ? [] : [`The edge waits for a review. Decide first: ${review.next}`]),
      `Execute it: ${genCommand('iterate', task_id, ...withRole)}`,
    ]);
  },
});

export const runsCommand = defineCommand('runs', {
  description: 'list, inspect, cancel and retry the runs of edges',
  options: { '--feature <id>': 'only this feature' },
  help: `
Lists the runs in the log, newest first. A run id may be shortened to its first characters.

Examples:
  gen runs
  gen runs --feature REQ-F-AUTH-001
  gen runs show 0199c1de`,
  subcommands: [show, cancel, retry],
  async run(context, { feature }) {
    const { methodology } = await context.genesis();
    const reply = unwrapReply(await methodology.runs(withoutUndefined({ feature })));
    context.printReply(reply, ({ runs }) =>
      runs.length === 0
        ? 'No edge has been run. Run one: gen iterate FEATURE#EDGE'
        : runsTable(runs, context),
    );
    if (reply.next !== null) context.printNotice('Older runs are omitted. Select some with --feature.');
  },
});

const PAGES_MAX = 20;
const MATCHES_SHOWN_MAX = 10;

/** The run whose id begins with these characters, among the newest runs. */
async function findRun(context: CommandContext, id: string): Promise<RunSummary> {
  const { methodology } = await context.genesis();
  const matches: RunSummary[] = [];
  let after: string | null | undefined;
  for (let page = 0; page < PAGES_MAX && after !== null; page += 1) {
    const { runs, next } = unwrapReply(
      await methodology.runs({ limit: 1000, ...withoutUndefined({ after }) }),
    );
    matches.push(...runs.filter(({ run_id }) => run_id.startsWith(id)));
    after = next;
  }
  const [run, other] = matches;
  if (run === undefined) throw failureWithCode('UNKNOWN_RUN', `There is no run ${id}. Known runs: gen runs`);
  if (other === undefined) return run;
  const shown = matches.slice(0, MATCHES_SHOWN_MAX);
  const lines = shown.map(({ run_id, task_id }) => `  ${run_id}  ${task_id}`);
  const more = matches.length > shown.length ? [`  and ${matches.length - shown.length} more`] : [];
  const title = `The ids of ${matches.length} runs begin with ${id}. Pass more characters of one of these:`;
  throw failureWithCode('AMBIGUOUS_RUN', [title, ...lines, ...more].join('\n'));
}

const runsTable = (runs: readonly RunSummary[], context: CommandContext): string =>
  context.table(runs, [
    { title: 'RUN', cell: ({ run_id }) => run_id, is_fixed: true },
    { title: 'EDGE', cell: ({ task_id }) => task_id },
    { title: 'STATUS', cell: runStatusLine, is_flexible: true },
    { title: 'ITERATIONS', cell: ({ iterations }) => String(iterations) },
    { title: 'SPENT', cell: ({ spent }) => costText(spent), is_flexible: true },
    { title: 'STARTED', cell: ({ started_at }) => started_at ?? 'not yet', is_fixed: true },
  ]);
