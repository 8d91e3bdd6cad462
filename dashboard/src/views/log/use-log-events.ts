import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { type RefObject, useEffect, useMemo } from 'react';
import { call } from '../../api/call.js';
import { useReply } from '../../api/use-reply.js';
import { filterQuery, type LogFilter } from './log-filter.js';
import { eventsOf, type LogPage, type NewEvents, newEvents, withNewest } from './log-pages.js';

const PAGE_EVENTS = 200;
/** More are not kept in the tab: a filter or an earlier position finds the rest. */
const PAGES_MAX = 100;
/** Number of events kept while others arrive. More are kept only as far as the reader has scrolled. */
const LIVE_EVENTS_MAX = 1000;

const NO_NEW_EVENTS: NewEvents = { count: 0, isMore: false };

interface Reader {
  /** The index of the last row in view. */
  readonly lastShown: RefObject<number>;
  /** The reader has scrolled down: new events wait, because they would move the rows. */
  readonly isScrolled: boolean;
}

/** The events of a filter, newest first, up to a position. Without one, and without an end in time, new events are added. */
export function useLogEvents(filter: LogFilter, at: number | null, { lastShown, isScrolled }: Reader) {
  const client = useQueryClient();
  const query = useMemo(() => ({ ...filterQuery(filter), limit: PAGE_EVENTS }), [filter]);
  const queryKey = useMemo(() => ['log', query, at], [query, at]);
  const read = useInfiniteQuery({
    queryKey,
    // What was read does not change: only newer events are read when something has happened.
    meta: { isFixed: true },
    initialPageParam: at === null ? undefined : at + 1,
    queryFn: ({ pageParam }): Promise<LogPage> =>
      call('recent_events', { query: { ...query, before: pageParam } }),
    getNextPageParam: ({ before }: LogPage, pages) => (pages.length >= PAGES_MAX ? null : before),
  });
  const isLive = at === null && filter.since === '' && filter.until === '';
  const newest = useReply('recent_events', { query }, isLive && read.data !== undefined).data;
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
      isScrolled && newest !== undefined && read.data !== undefined
        ? newEvents(read.data.pages, newest)
        : NO_NEW_EVENTS,
    [isScrolled, newest, read.data],
  );
  const events = useMemo(() => eventsOf(read.data?.pages ?? []), [read.data]);
  return { ...read, events, waiting, isLive, isCut: (read.data?.pages.length ?? 0) >= PAGES_MAX };
}
