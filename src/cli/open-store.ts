import type { OpenedStore } from '../server/store-url.js';
import type { Context } from './context.js';
import { plainText } from './output/text.js';
import { spoken } from './spoken.js';

/** Opens a store itself, without a server, for one piece of work. One that cannot be opened is a sentence. */
export async function withStore<T>(
  context: Context,
  url: string,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  // Loaded here alone: no other command has to wait for it.
  const { openStoreUrl } = await import('../server/store-url.js');
  const warn = (sentence: string) => context.remark(plainText(sentence));
  const opened = await openStoreUrl(url, warn, context.io.env.GENESIS_BLOBS).catch(spoken);
  try {
    return await work(opened).catch(spoken);
  } finally {
    await opened.store.close();
  }
}
