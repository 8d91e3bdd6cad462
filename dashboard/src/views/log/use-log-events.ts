import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { type RefObject, useEffect, useMemo } from 'react';
import { call } from '../../api/call.js';
import { useReply } from '../../api/use-reply.js';
import { filterQuery, type LogFilter } from './log-filter.js';
import { eventsOf, type LogPage, type NewEvents, newEvents, withNewest } from './log-pages.js';

const PAGE_EVENTS = 200;
/** The tab keeps at most this many pages. A filter or an earlier position finds the other events. */
const PAGES_MAX = 100;
/** How many events are kept while new events arrive. More are kept only as far as the reader has scrolled. */
const LIVE_EVENTS_MAX = 1000;

const NO_NEW_EVENTS: NewEvents = { count: 0, hasMore: false };

interface Reader {
  /** The index of the last row in view. */
  readonly lastShown: RefObject<number>;
  /** Whether the reader has scrolled down. New events then wait, because they would move the rows. */
  readonly isScrolled: boolean;
}

/** The events of a filter, newest first, up to a position. New events are added if there is no position and no time limit. */
export function useLogEvents(filter: LogFilter, at: number | null, { lastShown, isScrolled }: Reader) {
  const client = useQueryClient();
  const query = useMemo(() => ({ ...filterQuery(filter), limit: PAGE_EVENTS }), [filter]);
  const queryKey = useMemo(() => ['log', query, at], [query, at]);
  const logQuery = useInfiniteQuery({
    queryKey,
    // Events that were read do not change, so only newer events are read later.
    meta: { isFixed: true },
    initialPageParam: at === null ? undefined : at + 1,
    queryFn: ({ pageParam }): Promise<LogPage> =>
      call('recent_events', { query: { ...query, before: pageParam } }),
    getNextPageParam: ({ before }: LogPage, pages) => (pages.length >= PAGES_MAX ? null : before),
  });
  const isLive = at === null && filter.since === '' && filter.until === '';
  const newest = useReply('recent_events', { query }, isLive && logQuery.data !== undefined).data;
  useEffect(() => {
    const shown = client.getQueryData<InfiniteData<LogPage>>(queryKey);
    if (newest === undefined || shown === undefined || !isLive || isScrolled) return;
    const pages = withNewest(
      shown.pages,
      newest,
      Math.max(LIVE_EVENTS_MAX, lastShown.current + 2 * PAGE_EVENTS),
    );
    if (pages === null) void client.resetQueries({ queryKey });
    else if (pages !== shown.pages) {
      const pageParams = shown.pageParams.slice(0, pages.length);
      client.setQueryData(queryKey, { pageParams, pages: [...pages] });
    }
  }, [client, queryKey, newest, isLive, isScrolled, lastShown]);
  const waiting = useMemo(
    () =>
      isScrolled && newest !== undefined && logQuery.data !== undefined
        ? newEvents(logQuery.data.pages, newest)
        : NO_NEW_EVENTS,
    [isScrolled, newest, logQuery.data],
  );
  const events = useMemo(() => eventsOf(logQuery.data?.pages ?? []), [logQuery.data]);
  return { ...logQuery, events, waiting, isLive, isCut: (logQuery.data?.pages.length ?? 0) >= PAGES_MAX };
}
