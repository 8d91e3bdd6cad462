import type { Coordinator } from '../coordinator/coordinator.js';
import type { Limits } from '../core/claims/policy.js';
import type { OpenedStore } from '../server/store-url.js';
import type { CommandContext } from './context.js';

/** Opens a store directly, without a server, for one piece of work. */
export async function withStore<T>(
  context: CommandContext,
  url: string,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  // Lazy import: other commands do not pay its load time.
  const { openStoreUrl } = await import('../server/store-url.js');
  const opened = await openStoreUrl(url, context.warn, context.io.env.GENESIS_BLOBS);
  try {
    return await work(opened);
  } finally {
    await opened.store.close();
  }
}

export interface OpenedCoordinator extends OpenedStore {
  readonly coordinator: Coordinator;
}

/** Opens a store with a coordinator on it, runs the work and closes both. */
export async function withCoordinator<T>(
  context: CommandContext,
  url: string,
  work: (opened: OpenedCoordinator) => Promise<T>,
  limits: Partial<Limits> = {},
): Promise<T> {
  const { Coordinator } = await import('../coordinator/coordinator.js');
  return withStore(context, url, async (opened) => {
    const coordinator = await Coordinator.open({ ...opened, limits });
    try {
      return await work({ ...opened, coordinator });
    } finally {
      coordinator.close();
    }
  });
}
