import type { Genesis } from '../../client/index.js';

/** Interval of additional yields. The event stream reports new evidence only, not that a runner was revoked. */
const REREAD_MS = 10_000;

/**
 * Yields immediately, again when the event stream has connected, after new evidence in the project, and every `REREAD_MS`.
 * Several changes before the next read are yielded once.
 */
export async function* evidenceChanges(
  genesis: Pick<Genesis, 'follow'>,
  signal: AbortSignal,
): AsyncGenerator<void> {
  const endController = new AbortController();
  const stopSignal = AbortSignal.any([signal, endController.signal]);
  let isYieldDue = true;
  let wake = () => {};
  let failure: unknown = null;
  const requestYield = () => {
    isYieldDue = true;
    wake();
  };
  const follow = async () => {
    const filter = { type: 'EVIDENCE_RECORDED', after: 'now' };
    for await (const _ of genesis.follow(filter, { signal: stopSignal, on_connect: requestYield }))
      requestYield();
  };
  stopSignal.addEventListener('abort', requestYield, { once: true });
  const timer = setInterval(requestYield, REREAD_MS);
  const following = follow().catch((error: unknown) => {
    failure = error;
    requestYield();
  });
  try {
    while (!signal.aborted) {
      if (failure !== null) throw failure;
      isYieldDue = false;
      yield;
      if (!isYieldDue)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    clearInterval(timer);
    endController.abort();
    await following;
  }
}
