import type { ApiKey } from '../../coordinator/wire/index.js';
import type { CommandContext } from '../context.js';
import { CommandFailure, failureWithCode } from '../exit.js';
import { withStore } from '../open-store.js';

/** Binds and returns the store's keys that were created before keys were bound. `isDry`: only returns them. */
export async function bindKeys(
  context: CommandContext,
  url: string,
  isDry: boolean,
): Promise<readonly ApiKey[]> {
  const { Coordinator, isProblem } = await import('../../coordinator/index.js');
  const work = withStore(context, url, async ({ store }) => {
    const coordinator = await Coordinator.open({ store });
    try {
      if (isDry) return (await coordinator.keys.openKeyRing()).legacyUnboundKeys();
      const bound = await coordinator.keys.bind();
      if (isProblem(bound)) throw failureWithCode(bound.problem, bound.detail);
      return bound.keys;
    } finally {
      coordinator.close();
    }
  });
  return work.catch((error) => {
    // In an SQL engine, a user who may change the schema need not be allowed to use it.
    if (url.startsWith('file:') || !(error instanceof CommandFailure) || !isRefusedStore(error)) throw error;
    context.printNotice(`Its keys were not looked at: ${error.message}`);
    return [];
  });
}

const isRefusedStore = ({ body }: CommandFailure): boolean =>
  (body as { code?: unknown }).code === 'STORE_REFUSED';
