import type { FeatureView } from '../../core/methodology/views/feature-view.js';
import type { HealthReport } from '../../core/methodology/views/health.js';
import type { MethodologyStatus } from '../../core/methodology/views/status.js';
import type { CommandContext } from '../context.js';
import { EXIT, wrongUsage } from '../exit.js';
import { methodologyStatusText } from '../output/methodology-status.js';
import { unwrapReply } from '../replies.js';
import { type RenderedView, show, watch } from '../watch.js';
import type { ReadOnlyCalls } from './calls.js';
import { type ProjectConnection, withMethodology } from './project-connection.js';
import type { StatusOptions } from './status-options.js';

/** Shows a methodology project: all of it, one feature, its health, or its Gantt diagram. */
export async function methodologyStatus(context: CommandContext, options: StatusOptions): Promise<void> {
  if (options.log !== undefined) {
    if (options.watch === true) throw wrongUsage('A log of another tool is read once: leave --watch out.');
    const { withForeignLog } = await import('./foreign-log.js');
    return withForeignLog(context, options.log, (connection) => showOnce(context, options, connection));
  }
  if (options.watch !== true)
    return withMethodology(context, 'read', (connection) => showOnce(context, options, connection));
  return watch(context, () => renderFresh(context, options));
}

async function showOnce(
  context: CommandContext,
  options: StatusOptions,
  connection: ProjectConnection<ReadOnlyCalls>,
): Promise<void> {
  if (options.gantt === true) return showGantt(context, options, connection);
  show(context, await renderStatus(context, options, connection));
}

/** Opens a new connection per view: a lock-free read is a copy that goes stale. */
async function renderFresh(context: CommandContext, options: StatusOptions): Promise<RenderedView> {
  let rendered: RenderedView = { json: null, text: '' };
  await withMethodology(context, 'read', async (connection) => {
    rendered = await renderStatus(context, options, connection);
  });
  return rendered;
}

async function renderStatus(
  context: CommandContext,
  { feature, health }: StatusOptions,
  { calls, plan, title }: ProjectConnection<ReadOnlyCalls>,
): Promise<RenderedView> {
  if (feature !== undefined) {
    const view: FeatureView = unwrapReply(await calls.feature(feature));
    const { featureText } = await import('../output/feature.js');
    return { json: view, text: featureText(view, context) };
  }
  if (health === true) {
    const found: HealthReport = unwrapReply(await calls.health());
    context.exit_code = found.healthy ? EXIT.done : EXIT.refused;
    const { healthText } = await import('../output/health.js');
    return { json: found, text: healthText(found, context) };
  }
  const current: MethodologyStatus = unwrapReply(await calls.status());
  const tasks = await plan();
  const text = methodologyStatusText(current, title, context);
  if (tasks === null) return { json: current, text };
  const { statusText } = await import('../output/overview.js');
  return { json: { ...current, plan: tasks }, text: `${text}\n\n${statusText(tasks, context)}` };
}

async function showGantt(
  context: CommandContext,
  { write }: StatusOptions,
  connection: ProjectConnection<ReadOnlyCalls>,
): Promise<void> {
  const reply = unwrapReply(await connection.calls.gantt());
  if (write !== true) return context.show(reply, ({ gantt }) => gantt);
  const { writeStatusPage } = await import('./status-page.js');
  const path = await writeStatusPage(connection.workspace, reply.gantt);
  context.show({ ...reply, path }, () => path);
}
