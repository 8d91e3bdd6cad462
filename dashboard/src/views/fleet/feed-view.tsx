import { Link } from 'wouter';
import { useHashQuery } from '../../components/hash-location.js';
import { TaskLink } from '../../components/links.js';
import { QueryResult } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { UntrustedText } from '../../components/untrusted-text.js';
import type { FeedEvent } from './feed-events.js';
import type { useActivity } from './use-activity.js';

/** The recent events in sentences, newest first: those that did not go as planned, or all. */
export function Feed({ activity }: { activity: ReturnType<typeof useActivity> }) {
  const [query] = useHashQuery();
  const isAll = query.get('feed') === 'all';
  return (
    <section className="card" aria-labelledby="feed">
      <div className="row feed-top">
        <h2 id="feed">What happened</h2>
        <nav className="tabs" aria-label="Events shown">
          <Link href={feedPath(query, '')} aria-current={isAll ? undefined : 'page'}>
            Notable
          </Link>
          <Link href={feedPath(query, 'all')} aria-current={isAll ? 'page' : undefined}>
            Everything
          </Link>
        </nav>
      </div>
      <QueryResult query={activity}>
        {({ activity: { feed, notable } }) => <FeedList events={isAll ? feed : notable} isAll={isAll} />}
      </QueryResult>
    </section>
  );
}

function FeedList({ events, isAll }: { events: readonly FeedEvent[]; isAll: boolean }) {
  if (events.length === 0)
    return (
      <p className="quiet">
        {isAll ? 'Nothing happened' : 'Nothing was taken over, refused or parked'} in the last hour.
      </p>
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <div className="feed" role="log" aria-labelledby="feed" tabIndex={0}>
      <ol>
        {events.map((event) => (
          <li key={event.position}>
            <TimeText at={event.timestamp} />
            <span className={`mark mark-${event.tone}`}>{event.label}</span>
            <span className="feed-text">
              <UntrustedText text={event.before} />
              {event.subject === '' ? null : <TaskLink id={event.subject} />}
              <UntrustedText text={event.after} />
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function feedPath(query: URLSearchParams, feed: string): string {
  const nextQuery = new URLSearchParams(query);
  if (feed === '') nextQuery.delete('feed');
  else nextQuery.set('feed', feed);
  return nextQuery.size === 0 ? '/' : `/?${nextQuery}`;
}
