import { useMemo } from 'react';
import { useReply } from '../../api/use-reply.js';
import { useHashQuery } from '../../components/hash-location.js';
import { EventDetail } from './event-detail.js';
import { EventList } from './event-list.js';
import { ExportPanel } from './export-panel.js';
import { FilterForm } from './filter-form.js';
import { FILTER_NAMES, readFilter, readPosition } from './log-filter.js';
import { Scrubber } from './scrubber.js';
import { StateAtPosition } from './state-at-position.js';
import { VerifyPanel } from './verify-panel.js';
import './log.css';

/** Every event of the project, and the state at any of them. */
export default function LogView() {
  const [query, change] = useHashQuery();
  const filterText = FILTER_NAMES.map((name) => query.get(name) ?? '').join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same filter stays the same object
  const filter = useMemo(() => readFilter(query), [filterText]);
  const end = useReply('status').data?.position ?? null;
  const position = readPosition(query.get('at'));
  const isBeyondEnd = position !== null && end !== null && position > end;
  const at = isBeyondEnd ? null : position;
  const openedPosition = readPosition(query.get('event'));
  return (
    <>
      <h1>Log</h1>
      {isBeyondEnd ? (
        <p className="notice" role="alert">
          The log ends at position {end}. There is no position {position}. The newest events are shown.
        </p>
      ) : null}
      <FilterForm key={filterText} filter={filter} onChange={(values) => change({ ...values, event: '' })} />
      <Scrubber at={at} onChange={(position) => change({ at: position === null ? '' : String(position) })} />
      <div className="log-columns">
        {/* Another position or filter is another list, shown from its top. */}
        <EventList
          key={`${at} ${filterText}`}
          filter={filter}
          at={at}
          openedPosition={openedPosition}
          onOpen={(position) => change({ event: String(position) })}
        />
        <div className="log-side">
          {openedPosition === null ? null : (
            <EventDetail position={openedPosition} onClose={() => change({ event: '' })} />
          )}
          {at === null || end === null ? null : <StateAtPosition at={at} />}
          <div className="log-tools">
            <VerifyPanel />
            <ExportPanel filter={filter} />
          </div>
        </div>
      </div>
    </>
  );
}
