import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { call, type Reply } from '../../api/call.js';
import { useReply } from '../../api/use-reply.js';
import { useLive } from '../../live/live.js';
import { useClock } from '../../live/use-clock.js';
import { type InboxItem, inboxItems } from './inbox-items.js';

const HOUR_MS = 3600 * 1000;
const MINUTE_MS = 60_000;
const PAUSED_POLL_MS = 30_000;
/** The queries of the inbox. */
const INBOX_KEYS = [['status', {}], ['pending_reviews', {}], ['start', { body: {} }], ['refused claims']];
const REFUSED_CLAIM_TYPES = ['CLAIM_REJECTED', 'claim_rejected'] as const;

interface Inbox {
  readonly items: readonly InboxItem[];
  readonly error: unknown;
  /** False until the first replies with the status and the reviews have arrived. */
  readonly isLoaded: boolean;
}

/** Everything that waits for a person. */
export function useInbox(enabled = true): Inbox {
  const status = useReply('status', {}, enabled);
  const reviews = useReply('pending_reviews', {}, enabled);
  const advice = useReply('start', { body: {} }, enabled);
  const { events: liveEvents } = useLive();
  const pastRefusals = useQuery({
    queryKey: ['refused claims'],
    queryFn: readRefusedClaims,
    enabled,
    // Later refusals come with the live events.
    meta: { isFixed: true },
    staleTime: Number.POSITIVE_INFINITY,
  });
  // Events older than an hour are dropped once a minute.
  const minuteMs = Math.floor(useClock() / MINUTE_MS) * MINUTE_MS;
  const items = useMemo(
    () =>
      inboxItems(
        {
          status: status.data,
          reviews: reviews.data,
          escalations: advice.data?.escalations,
          events: [...(pastRefusals.data ?? []), ...liveEvents],
        },
        minuteMs,
      ),
    [status.data, reviews.data, advice.data, pastRefusals.data, liveEvents, minuteMs],
  );
  return {
    items,
    error: status.error ?? reviews.error ?? advice.error ?? pastRefusals.error,
    isLoaded: status.data !== undefined && reviews.data !== undefined,
  };
}

/** Reads the inbox at intervals while the stream is paused, so that the title of a hidden tab has the right count. */
export function usePausedInbox(): void {
  const client = useQueryClient();
  const isPaused = useLive().connection.state === 'paused';
  useEffect(() => {
    if (!isPaused) return;
    const timer = setInterval(() => {
      for (const queryKey of INBOX_KEYS) void client.invalidateQueries({ queryKey, exact: true });
    }, PAUSED_POLL_MS);
    return () => clearInterval(timer);
  }, [client, isPaused]);
}

async function readRefusedClaims(): Promise<Reply<'events'>['events']> {
  const since = new Date(Date.now() - HOUR_MS).toISOString();
  const pages = await Promise.all(
    REFUSED_CLAIM_TYPES.map((type) => call('events', { query: { type, since, limit: 1000 } })),
  );
  return pages.flatMap(({ events }) => events);
}
