import type { OpenedStore } from '../server/store-url.js';
import type { Context } from './context.js';
import { CommandFailure } from './exit.js';
import { plainText } from './output/text.js';

/** Opens a store itself, without a server, for one piece of work. One that cannot be opened is a sentence. */
export async function withStore<T>(
  context: Context,
  url: string,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  // Loaded here alone: no other command has to wait for it.
  const { openStoreUrl } = await import('../server/store-url.js');
  const warn = (sentence: string) => context.remark(plainText(sentence));
  const opened = await openStoreUrl(url, warn, context.io.env.GENESIS_BLOBS).catch(refuse);
  try {
    return await work(opened).catch(refuse);
  } finally {
    await opened.store.close();
  }
}

const SPOKEN = new Set([
  'StoreRefused',
  'StoreUnavailable',
  'StoreUncertain',
  'StoreBroken',
  'WorkspaceRefused',
]);

/** What stores say is for people; anything else is a bug, and keeps its stack. */
export function refuse(error: Error): never {
  throw SPOKEN.has(error.name) ? new CommandFailure(error.message) : error;
}
