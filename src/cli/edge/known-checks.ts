import type { Genesis } from '../../client/index.js';
import { wrongUsage } from '../exit.js';
import { nearest } from '../nearest.js';
import { expected } from '../replies.js';
import type { CheckReport } from './evaluators.js';

/** A check named by hand that the edge does not have is a slip: it would count for nothing, and nobody would know. */
export async function refuseUnknownChecks(
  genesis: Genesis,
  task_id: string,
  reports: readonly CheckReport[] = [],
): Promise<void> {
  if (reports.length === 0) return;
  const { checks = [] } = expected(await genesis.task(task_id));
  const known = checks.map(({ name }) => name);
  const unknown = known.length === 0 ? undefined : reports.find(({ name }) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown.name, known);
  throw wrongUsage(
    `${task_id} has no check ${unknown.name}.${meant === null ? '' : ` Did you mean ${meant}?`} ` +
      `Its checks: ${known.join(', ')}. Nothing was submitted.`,
  );
}
