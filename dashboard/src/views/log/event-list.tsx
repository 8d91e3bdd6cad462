import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { AgentName } from '../../components/agent-name.js';
import { Empty, Failure, Loading } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { visibleText } from '../../components/untrusted-text.js';
import type { LogFilter } from './log-filter.js';
import type { NewEvents } from './log-pages.js';
import { useLogEvents } from './use-log-events.js';

const ROW_PX = 46;
/** Older events are read when only this many rows remain below the visible ones. */
const ROWS_AHEAD = 30;

interface Props {
  readonly filter: LogFilter;
  readonly at: number | null;
  readonly openedPosition: number | null;
  readonly onOpen: (position: number) => void;
}

/** The events of a filter, newest first. Only the rows in view are in the document. */
export function EventList({ filter, at, openedPosition, onOpen }: Props) {
  const lastShown = useRef(0);
  const [isScrolled, setScrolled] = useState(false);
  const log = useLogEvents(filter, at, { lastShown, isScrolled });
  const { events, hasNextPage, isFetchingNextPage, fetchNextPage, error } = log;
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    getItemKey: (index) => events[index]?.position ?? index,
  });
  const shown = rows.getVirtualItems();
  const lastIndex = shown.at(-1)?.index ?? -1;
  // A page may be empty although older events match, so pages are read until one has events.
  const isNearEnd = events.length === 0 || (lastIndex >= 0 && lastIndex >= events.length - ROWS_AHEAD);
  useEffect(() => {
    lastShown.current = lastIndex;
  }, [lastIndex]);
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetchingNextPage && error === null) void fetchNextPage();
  }, [isNearEnd, hasNextPage, isFetchingNextPage, error, fetchNextPage]);
  return (
    <section className="card log-events" aria-label="Events">
      <p className="quiet" role="status">
        {summaryOf(log, at)}
      </p>
      {error === null ? null : <Failure error={error} />}
      {log.data === undefined && error === null ? <Loading /> : null}
      {log.waiting.count === 0 ? null : (
        <button type="button" className="log-new" onClick={() => box.current?.scrollTo({ top: 0 })}>
          {newEventsText(log.waiting)}
        </button>
      )}
      <div
        ref={box}
        className="log-scroll"
        hidden={events.length === 0}
        onScroll={({ currentTarget }) => setScrolled(currentTarget.scrollTop > 0)}
      >
        <ol className="log-rows" style={{ height: rows.getTotalSize() }}>
          {shown.map(({ index, key, start }) => {
            const event = events[index] as EventEnvelope;
            return (
              <li
                key={key}
                aria-posinset={index + 1}
                aria-setsize={hasNextPage ? -1 : events.length}
                style={{ transform: `translateY(${start}px)` }}
              >
                <EventRow event={event} isOpen={event.position === openedPosition} onOpen={onOpen} />
              </li>
            );
          })}
        </ol>
      </div>
      {events.length === 0 && log.data !== undefined && !hasNextPage ? (
        <Empty title="No event matches">
          <p>Clear the filter, or choose a later position.</p>
        </Empty>
      ) : null}
      {hasNextPage ? (
        <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {isFetchingNextPage ? 'Reading older events…' : 'Read older events'}
        </button>
      ) : null}
    </section>
  );
}

function EventRow({
  event,
  isOpen,
  onOpen,
}: {
  event: EventEnvelope;
  isOpen: boolean;
  onOpen: Props['onOpen'];
}) {
  const { position, event_type, timestamp, agent_id, subject, task_id, feature_id } = event;
  return (
    <button type="button" className="log-row" aria-pressed={isOpen} onClick={() => onOpen(position)}>
      <span className="number quiet">{position}</span>
      <span className="log-type">{visibleText(event_type)}</span>
      <span className="log-subject">{visibleText(subject ?? task_id ?? feature_id ?? '')}</span>
      <span className="log-agent quiet">
        <AgentName id={agent_id} />
      </span>
      <span className="log-time quiet">
        <TimeText at={timestamp} />
      </span>
    </button>
  );
}

const newEventsText = ({ count, hasMore }: NewEvents): string =>
  `${count}${hasMore ? ' or more' : ''} new ${count === 1 ? 'event' : 'events'}`;

function summaryOf(log: ReturnType<typeof useLogEvents>, at: number | null): string {
  const { events, hasNextPage, isCut, isLive } = log;
  const isOne = events.length === 1 && !hasNextPage;
  const count = isOne ? '1 event' : `${events.length}${hasNextPage ? ' or more' : ''} events`;
  if (isCut) return `${count}. Narrow the filter to find older events.`;
  if (at !== null) return `${count} up to position ${at}`;
  return isLive ? `${count}, new ones appear at the top` : count;
}
