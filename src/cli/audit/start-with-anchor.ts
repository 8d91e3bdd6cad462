import { UNVOUCHED_KEY } from '../../coordinator/audit/verify/log-remark.js';
import type { Store } from '../../stores/store.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';

/**
 * Refuses a log that does not match the anchors: a log that was restored to an older state would grant the same
 * generations again.
 */
export async function assertNotBehindAnchor(
  context: CommandContext,
  store: Store,
  anchor = context.io.env.GENESIS_AUDIT_ANCHOR,
): Promise<void> {
  if (anchor === undefined) return;
  const { readAnchors } = await import('../verify/read-anchors.js');
  const { compareWithAnchors, differencesOf, differenceText } = await import(
    '../verify/anchor-differences.js'
  );
  try {
    const logs = await compareWithAnchors(store, { anchors: await readAnchors(context, anchor) });
    const differences = logs.flatMap(differencesOf);
    // A new key alone is only a warning: another coordinator may have joined since the anchor was kept, and only the
    // owner of the anchor can confirm the key of that coordinator.
    const isKeyOnly = differences.every(({ rule }) => rule === UNVOUCHED_KEY);
    for (const difference of isKeyOnly ? differences : []) context.warn(differenceText(difference));
    if (isKeyOnly) return;
    throw new CommandFailure(
      [
        `The server was not started: the log does not match the anchors in ${anchor}. Nothing was changed.`,
        ...differences.slice(0, 20).map((difference) => `  ${differenceText(difference)}`),
        `Restore the log from a later backup, then check it: gen verify --anchor ${anchor}`,
        `If there is no such backup, stop every coordinator of this store and accept the loss: gen audit accept-loss --store URL --anchor ${anchor} --reason TEXT`,
      ].join('\n'),
    );
  } catch (error) {
    await store.close();
    throw error;
  }
}
