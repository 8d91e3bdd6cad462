import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { MethodologyStatus } from '../../core/contract/methodology-views.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import type { Workspace } from '../../workspace/workspace.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, EXIT, failureWithCode, wrongUsage } from '../exit.js';
import { AT_OPTION } from '../option-parsers.js';
import type { OptionsOf } from '../option-table.js';
import { featureText } from '../output/feature.js';
import { healthText } from '../output/health.js';
import { methodologyStatusText } from '../output/methodology-status.js';
import { statusText } from '../output/overview.js';
import { unwrapReply } from '../replies.js';
import { type RenderedView, showView, watch } from '../watch.js';
import type { ReadOnlyCalls } from './opened-project.js';
import { type ProjectConnection, withMethodology } from './project-connection.js';
import { submitWithDrafts } from './submit-command.js';

export const STATUS_OPTIONS = {
  '--watch': 'keep running, and show every change',
  '--feature <id>': 'show all details of one feature',
  '--health': 'list what is wrong or soon will be; exit code 1 if anything is more severe than low',
  '--gantt': 'print the features over time as a Mermaid diagram',
  '--write': 'with --gantt: write to .ai-workspace/STATUS.md',
  ...AT_OPTION,
  '--log <file>': 'show the status from the log of a related tool; the log is not changed',
} as const;
type StatusOptions = OptionsOf<typeof STATUS_OPTIONS>;
type ReadConnection = ProjectConnection<ReadOnlyCalls>;

/** Shows a methodology project: all of it, one feature, its health, or its Gantt diagram. */
export async function methodologyStatus(context: CommandContext, options: StatusOptions): Promise<void> {
  const showOnce = async (connection: ReadConnection): Promise<void> => {
    if (options.gantt) await showGantt(context, options, connection);
    else showView(context, await renderStatus(context, options, connection));
  };
  if (options.log !== undefined) {
    if (options.watch) throw wrongUsage('--watch cannot be combined with --log. Omit one of them.');
    const { withForeignLog } = await import('./foreign-log.js');
    return withForeignLog(context, options.log, showOnce);
  }
  if (!options.watch) return withMethodology(context, 'read', showOnce);
  // Opens a new connection for each view, because a lock-free read is a copy of the log that becomes outdated.
  return watch(context, () =>
    withMethodology(context, 'read', (connection) => renderStatus(context, options, connection)),
  );
}

async function renderStatus(
  context: CommandContext,
  { feature, health, at }: StatusOptions,
  { calls, plan, title, workspace }: ReadConnection,
): Promise<RenderedView> {
  const atQuery = withoutUndefined({ at });
  if (feature !== undefined) {
    const view = unwrapReply(await calls.feature(feature, atQuery));
    return { json: view, text: featureText(view, context) };
  }
  if (health) {
    const healthReply = unwrapReply(await calls.health(atQuery));
    context.exit_code = healthReply.healthy ? EXIT.done : EXIT.refused;
    return { json: healthReply, text: healthText(healthReply, context) };
  }
  const routed = unwrapReply(await calls.status({ agent_id: await context.agent(), ...atQuery }));
  const current = workspace === null ? routed : withDraftCommands(routed);
  const tasks = await plan(atQuery);
  const text = methodologyStatusText(current, title, context);
  if (tasks === null) return { json: current, text };
  return { json: { ...current, plan: tasks }, text: `${text}\n\n${statusText(tasks, context)}` };
}

/** The status with the same commands as in `gen start`. */
const withDraftCommands = (status: MethodologyStatus): MethodologyStatus => ({
  ...status,
  start_would: {
    ...status.start_would,
    command: submitWithDrafts(status.start_would, status.start_would.command),
  },
  next_actions: status.next_actions.map((action) => ({
    ...action,
    command: submitWithDrafts(status.start_would, action.command),
  })),
});

async function showGantt(
  context: CommandContext,
  { write, at }: StatusOptions,
  { calls, workspace }: ReadConnection,
): Promise<void> {
  const reply = unwrapReply(await calls.gantt(withoutUndefined({ at })));
  if (!write) return context.printReply(reply, ({ gantt }) => gantt);
  const path = await writeStatusPage(workspace, reply.gantt);
  context.printReply({ ...reply, path }, () => path);
}

/** The start of a generated page. A page that starts differently is not overwritten. */
const MARK_START = '<!-- gen status --gantt --write';
const GENERATED_MARK = `${MARK_START} generates this page and overwrites all changes. -->`;

/** Writes the Gantt diagram to the workspace as a Markdown page. Returns its path. */
async function writeStatusPage(workspace: Workspace | null, gantt: string): Promise<string> {
  if (workspace === null)
    throw failureWithCode('NO_WORKSPACE', '--write needs a workspace. Create one: gen init');
  const path = workspace.path('STATUS.md');
  const existingText = await readFile(path, 'utf8').catch(() => '');
  if (existingText.trim() !== '' && !existingText.startsWith(MARK_START)) {
    throw new CommandFailure(
      `${path} was not written by gen status, so it is kept. Move or delete it, then try again.`,
    );
  }
  const temporaryPath = `${path}.${randomUUID()}.tmp`;
  const text = `${GENERATED_MARK}\n\n# Status\n\n\`\`\`mermaid\n${gantt.trimEnd()}\n\`\`\`\n`;
  await writeFile(temporaryPath, text, { flag: 'wx' });
  await rename(temporaryPath, path);
  return path;
}
