import { foldRuns, RUN_EVENT_TYPES, type Run } from '../../core/engine/runs.js';
import { command } from '../command.js';
import type { CommandContext } from '../context.js';
import { readEvents } from '../engine/read-events.js';
import { CommandFailure } from '../exit.js';
import { costText, runText } from '../output/run.js';

export const addRuns = command('runs [id]', {
  description: 'list the runs of edges, or show one',
  options: { '--feature <id>': 'only this feature' },
  help: `
The runs come from the log. An id is that of a run; its first characters are enough.

Examples:
  gen runs
  gen runs --feature REQ-F-AUTH-001
  gen runs 0199c1de`,
  async run(context, id, { feature }) {
    const runs = await readRuns(context, feature);
    if (id !== undefined) {
      const run = findRun(runs, id);
      return context.show(run, () => runText(run, context));
    }
    context.show({ runs }, () =>
      runs.length === 0
        ? 'No edge has been run. Run one: gen iterate FEATURE#EDGE'
        : runsTable(runs, context),
    );
  },
});

async function readRuns(context: CommandContext, feature: string | undefined): Promise<Run[]> {
  const genesis = await context.genesis();
  const filter = feature === undefined ? {} : { feature_id: feature };
  const pages = await Promise.all(RUN_EVENT_TYPES.map((type) => readEvents(genesis, { ...filter, type })));
  return foldRuns(pages.flat().sort((a, b) => a.position - b.position));
}

function findRun(runs: readonly Run[], id: string): Run {
  const found = runs.filter(({ run_id }) => run_id.startsWith(id));
  const [run, other] = found;
  if (run === undefined) throw new CommandFailure(`There is no run ${id}. Known runs: gen runs`);
  if (other !== undefined)
    throw new CommandFailure(`${id} begins the ids of ${found.length} runs. Pass more characters.`);
  return run;
}

const runsTable = (runs: readonly Run[], context: CommandContext): string =>
  context.table([...runs].reverse(), [
    { head: 'RUN', cell: ({ run_id }) => run_id, is_fixed: true },
    { head: 'EDGE', cell: ({ subject }) => subject },
    { head: 'STATUS', cell: ({ status, reason }) => (reason === null ? status : `${status} (${reason})`) },
    { head: 'ITERATIONS', cell: ({ iterations }) => String(iterations) },
    { head: 'SPENT', cell: ({ spent }) => costText(spent), is_flexible: true },
    { head: 'STARTED', cell: ({ started_at }) => started_at, is_fixed: true },
  ]);
