import { isProblem } from '../../coordinator/wire/problem.js';
import type { ApiKey } from '../../core/contract/keys.js';
import type { CommandContext } from '../context.js';
import { failureWithCode } from '../exit.js';
import { withCoordinator } from '../open-store.js';

/** Adds the store's HMAC to API keys that were created without it, and returns them. With `isDryRun`, only returns them. */
export async function bindKeys(
  context: CommandContext,
  url: string,
  isDryRun: boolean,
): Promise<readonly ApiKey[]> {
  const work = withCoordinator(context, url, async ({ coordinator: { keys } }) => {
    if (isDryRun) return (await keys.openKeyRing()).legacyUnboundKeys();
    const bound = await keys.bind();
    if (isProblem(bound)) throw failureWithCode(bound.problem, bound.detail);
    return bound.keys;
  });
  return work.catch((error: Error) => {
    // In an SQL database, a user who may change the schema may lack the right to read its tables.
    if (url.startsWith('file:') || error.name !== 'StoreRefused') throw error;
    context.printNotice(`The store’s keys were not checked: ${error.message}`);
    return [];
  });
}
