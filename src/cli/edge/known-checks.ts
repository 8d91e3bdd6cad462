import type { Genesis } from '../../client/index.js';
import { closestName } from '../closest-name.js';
import { wrongUsage } from '../exit.js';
import { unwrapReply } from '../replies.js';
import type { CheckReport } from './evaluators.js';

/** Fails if a check given by hand does not exist on the edge: it would otherwise be ignored silently. */
export async function assertKnownChecks(
  genesis: Genesis,
  taskId: string,
  reports: readonly CheckReport[] = [],
): Promise<void> {
  if (reports.length === 0) return;
  const { checks = [] } = unwrapReply(await genesis.task(taskId));
  const known = checks.map(({ name }) => name);
  const unknown = known.length === 0 ? undefined : reports.find(({ name }) => !known.includes(name));
  if (unknown === undefined) return;
  const suggestion = closestName(unknown.name, known);
  throw wrongUsage(
    `${taskId} has no check ${unknown.name}.${suggestion === null ? '' : ` Did you mean ${suggestion}?`} ` +
      `Its checks: ${known.join(', ')}. Nothing was submitted.`,
  );
}
