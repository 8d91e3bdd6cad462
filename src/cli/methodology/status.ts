import type { FeatureView } from '../../core/features/feature.js';
import type { Health } from '../../core/features/health.js';
import type { MethodologyStatus } from '../../core/features/status.js';
import type { Context } from '../context.js';
import { EXIT, wrongUsage } from '../exit.js';
import { methodologyStatusText } from '../output/methodology-status.js';
import { expected } from '../replies.js';
import { type Sight, show, watch } from '../watch.js';
import type { Reading } from './calls.js';
import { type Door, withMethodology } from './door.js';
import type { StatusOptions } from './status-options.js';

/** What a person wants to see of a project of the methodology: all of it, one feature, its health, its course. */
export async function methodologyStatus(context: Context, options: StatusOptions): Promise<void> {
  if (options.log !== undefined) {
    if (options.watch === true) throw wrongUsage('A log of another tool is read once: leave --watch out.');
    const { withForeignLog } = await import('./foreign-log.js');
    return withForeignLog(context, options.log, (door) => showOnce(context, options, door));
  }
  if (options.watch !== true)
    return withMethodology(context, 'read', (door) => showOnce(context, options, door));
  return watch(context, () => lookAnew(context, options));
}

async function showOnce(context: Context, options: StatusOptions, door: Door<Reading>): Promise<void> {
  if (options.gantt === true) return showGantt(context, options, door);
  show(context, await sightOf(context, options, door));
}

/** The door is opened for each look: what is read without a lock is a copy, and grows old. */
async function lookAnew(context: Context, options: StatusOptions): Promise<Sight> {
  let sight: Sight = { json: null, text: '' };
  await withMethodology(context, 'read', async (door) => {
    sight = await sightOf(context, options, door);
  });
  return sight;
}

async function sightOf(
  context: Context,
  { feature, health }: StatusOptions,
  { calls, plan, title }: Door<Reading>,
): Promise<Sight> {
  if (feature !== undefined) {
    const view: FeatureView = expected(await calls.feature(feature));
    const { featureText } = await import('../output/feature.js');
    return { json: view, text: featureText(view, context) };
  }
  if (health === true) {
    const found: Health = expected(await calls.health());
    context.exit_code = found.healthy ? EXIT.done : EXIT.refused;
    const { healthText } = await import('../output/health.js');
    return { json: found, text: healthText(found, context) };
  }
  const now: MethodologyStatus = expected(await calls.status());
  const tasks = await plan();
  const text = methodologyStatusText(now, title, context);
  if (tasks === null) return { json: now, text };
  const { statusText } = await import('../output/overview.js');
  return { json: { ...now, plan: tasks }, text: `${text}\n\n${statusText(tasks, context)}` };
}

async function showGantt(context: Context, { write }: StatusOptions, door: Door<Reading>): Promise<void> {
  const reply = expected(await door.calls.gantt());
  if (write !== true) return context.show(reply, ({ gantt }) => gantt);
  const { writeStatusPage } = await import('./status-page.js');
  const path = await writeStatusPage(door.workspace, reply.gantt);
  context.show({ ...reply, path }, () => path);
}
