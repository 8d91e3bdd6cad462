import { useQuery, useQueryClient } from '@tanstack/react-query';
import { CallFailure, call } from '../../api/call.js';
import { serverNowMs } from '../../live/server-clock.js';
import { type Activity, addEvents, NO_ACTIVITY } from './activity.js';

const PAGE_EVENTS = 1000;
/** The most pages per read. The next read continues where this read ends. */
const PAGES_MAX = 5;
const HOUR_MS = 3_600_000;
const CATCH_UP_MS = 250;

interface ReadActivity {
  readonly activity: Activity;
  readonly cursor: string;
  /** Whether there are more events to read. */
  readonly isBehind: boolean;
}

const QUERY_KEY = ['activity'];

/** Reads the events of the last hour once, and then only those that are new. */
export function useActivity() {
  const client = useQueryClient();
  return useQuery<ReadActivity>({
    queryKey: QUERY_KEY,
    queryFn: () => readNewer(client.getQueryData<ReadActivity>(QUERY_KEY)),
    // Structural sharing does not support maps.
    structuralSharing: false,
    refetchInterval: ({ state }) => (state.data?.isBehind ? CATCH_UP_MS : false),
  });
}

async function readNewer(last: ReadActivity | undefined): Promise<ReadActivity> {
  if (last === undefined) return readFrom(NO_ACTIVITY, undefined);
  try {
    return await readFrom(last.activity, last.cursor);
  } catch (error) {
    // The log was replaced by an older log, and the cursor is beyond its end.
    if (error instanceof CallFailure && error.code === 'CURSOR_AHEAD')
      return readFrom(NO_ACTIVITY, undefined);
    throw error;
  }
}

async function readFrom(start: Activity, from: string | undefined): Promise<ReadActivity> {
  const since = new Date(serverNowMs() - HOUR_MS).toISOString();
  let [activity, cursor] = [start, from];
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = { since, after: cursor, limit: PAGE_EVENTS };
    const { events, next } = await call('events', { query });
    activity = addEvents(activity, events, serverNowMs());
    cursor = next;
    // Only an empty page is the end: another page may be short because its events are large.
    if (events.length === 0) return { activity, cursor, isBehind: false };
  }
  return { activity, cursor: cursor ?? '', isBehind: true };
}
