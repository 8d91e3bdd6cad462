import type { OpenedStore } from '../server/store-url.js';
import type { CommandContext } from './context.js';
import { singleLine } from './output/text.js';
import { throwUserError } from './user-errors.js';

/** Opens a store directly, without a server, for one piece of work. Failure to open it is a user-facing error. */
export async function withStore<T>(
  context: CommandContext,
  url: string,
  work: (opened: OpenedStore) => Promise<T>,
): Promise<T> {
  // Lazy import: other commands do not pay its load time.
  const { openStoreUrl } = await import('../server/store-url.js');
  const warn = (sentence: string) => context.printNotice(singleLine(sentence));
  const opened = await openStoreUrl(url, warn, context.io.env.GENESIS_BLOBS).catch(throwUserError);
  try {
    return await work(opened).catch(throwUserError);
  } finally {
    await opened.store.close();
  }
}
